"""Expressions for the words of tables and columns, which searches and their indexes share.

The indexes are on expressions of stored columns, so that writers of earlier versions keep them up to date.
"""

from __future__ import annotations

from typing import Final

# A tsvector holds one megabyte: longer texts are cut. Punctuation becomes blanks, because PostgreSQL's parser takes
# texts such as a.b and a-b for host names and compounds. The text search configuration `simple` changes no words. The
# parentheses are as in PostgreSQL's own output: a test compares both.
_WORDS: Final = "to_tsvector('simple'::regconfig, translate(left({text}, 100000), './-:@\\', '      '))"
_VALUES: Final = "jsonb_path_query_array({column}, '$[*].*'::jsonpath)::text"

TABLE_WORDS: Final = _WORDS.format(
    text="(((name || ' ') || coalesce(parameters ->> 'comment', '')) || ' ') || "
    + _VALUES.format(column="partition_keys")
)
"""The words of a row of `tables`: its name, its comment and its partition keys."""
COLUMN_WORDS: Final = _WORDS.format(text=_VALUES.format(column="columns"))
"""The words of a row of `column_lists`: names, types and comments."""
