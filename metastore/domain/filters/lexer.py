"""The words of a filter: names, constants and signs, each with its place in the text."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from metastore.errors import InvalidInputError


class Kind(enum.Enum):
    """What a token is. Keywords and whole numbers are words: the parser tells them apart."""

    WORD = "word"
    NAME = "name"  # in backticks; the text is without them
    STRING = "string"  # the text has its quotes
    DATE = "date"
    TIMESTAMP = "timestamp"
    SIGN = "sign"
    END = "end"


class Token(NamedTuple):
    """One word of a filter. `position` counts characters from 1."""

    kind: Kind
    text: str
    position: int

    @property
    def keyword(self) -> str:
        """Returns the text in lower case if it may be a keyword, else nothing."""
        return self.text.lower() if self.kind is Kind.WORD else ""


# Hive's own names are ASCII; Spark sends others bare as well, and parameters of tables have dots.
_TOKEN = re.compile(
    r"(?P<timestamp>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)"
    r"|(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"|(?P<word>\w+(?:\.\w+)*)"
    r"|`(?P<name>[^`]*(?:``[^`]*)*)`"
    r"|(?P<string>'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")"
    r"|(?P<sign><=>|==|<>|!=|<=|>=|[=<>(),-])",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_SHOWN = 20
MAX_TOKENS: Final = 2**16
"""Of a filter: 16,000 comparisons, or an IN of 32,000. Each takes memory, and PostgreSQL's time."""


def syntax_error(problem: str, token: Token) -> InvalidInputError:
    """Returns the answer to a filter that cannot be read, in Hive's words and with the place."""
    found = f"'{_shortened(token.text)}' at character {token.position}" if token.text else "the end of the filter"
    return InvalidInputError(f"Error parsing partition filter: {problem}, found {found}")


def tokens_of(text: str) -> Iterator[Token]:
    """Yields the tokens of a filter, closed by one of kind END. Raises InvalidInputError where none starts, and where
    there are more than MAX_TOKENS.

    Strings keep their backslashes: `\'` does not end one, but stays two characters (Hive's PartitionFilter.g4).
    """
    if "\0" in text:
        raise syntax_error("a NUL character is not allowed", Token(Kind.SIGN, "\\0", text.index("\0") + 1))
    count, position = 0, _after_space(text, 0)
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            problem = "unclosed quote" if text[position] in "'\"`" else "unexpected character"
            raise syntax_error(problem, Token(Kind.SIGN, text[position:], position + 1))
        kind = Kind(found.lastgroup)
        value = found[found.lastgroup]
        token = Token(kind, value.replace("``", "`") if kind is Kind.NAME else value, position + 1)
        if count == MAX_TOKENS:
            raise syntax_error(f"a filter has at most {MAX_TOKENS} words and signs", token)
        yield token
        count, position = count + 1, _after_space(text, found.end())
    yield Token(Kind.END, "", len(text) + 1)


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
