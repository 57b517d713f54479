"""Finds the statements inside an SQL script (BEGIN … END). Pure.

Grammar: Spark's SqlBaseParser.g4 (compoundBody). Each piece between two semicolons ends with a statement. Labels and
conditions may precede it, and end with one of a few words.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_client.statements.grammar.first_words import IN_SCRIPTS
from spark_client.statements.grammar.tokens import Token, tokens

# A statement begins after these. THEN and ELSE also occur in CASE expressions, where no first word of ours follows.
_OPENING = ("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", ";")


def is_script(text: str) -> bool:
    """Returns whether a text is a script."""
    first = next(iter(tokens(text)), None)
    return first is not None and first.matches("BEGIN")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of each statement that may belong to this library. Queries and INSERTs never do."""
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
