"""SQL scripts, BEGIN … END: where the statements of one begin and end. Pure.

Grammar: Spark's SqlBaseParser.g4 (compoundBody). Whatever stands between two semicolons ends with a statement; what is
before it (labels, conditions) ends with one of a few words.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_client.statements.grammar.first_words import IN_SCRIPTS
from spark_client.statements.grammar.tokens import Token, tokens

# Behind these, a statement begins; CASE … WHEN … THEN of an expression has none of ours behind it.
_OPENING = ("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", ";")


def is_script(text: str) -> bool:
    """Tells whether a text begins as a script."""
    first = next(iter(tokens(text)), None)
    return first is not None and first.matches("BEGIN")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Yields where the statements begin and end that may be ours; no query or INSERT is among them."""
    start: int | None = None
    before: Token | None = None
    end = 0
    for token in tokens(text):
        if start is None and before is not None and before.matches(*_OPENING) and token.matches(*IN_SCRIPTS):
            start = token.start
        if start is not None and token.matches(";") and not token.depth:
            yield start, end
            start = None
        before, end = token, token.end
