"""The tokens of a filter."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from metastore.errors import InvalidInputError


class Kind(enum.Enum):
    """Kinds of tokens. Keywords and whole numbers are words; the parser distinguishes them."""

    WORD = "word"
    NAME = "name"  # in backticks; `text` is without them
    STRING = "string"  # `text` includes the quotes
    DATE = "date"
    TIMESTAMP = "timestamp"
    SIGN = "sign"
    END = "end"


class Token(NamedTuple):
    """One token. `position` is that of its first character, from 1."""

    kind: Kind
    text: str
    position: int

    @property
    def keyword(self) -> str:
        """The lower-case text if the token may be a keyword, else ""."""
        return self.text.lower() if self.kind is Kind.WORD else ""


# Hive's own names are ASCII, but Spark sends other names without backticks. Names of table parameters have dots.
_TOKEN = re.compile(
    r"(?P<timestamp>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)"
    r"|(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"|(?P<word>\w+(?:\.\w+)*)"
    r"|`(?P<name>[^`]*(?:``[^`]*)*)`"
    r"|(?P<string>'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")"
    r"|(?P<sign><=>|==|<>|!=|<=|>=|[=<>(),-])",
    re.DOTALL,
)
_WORD = re.compile(r"\w+(?:\.\w+)*")
_SPACE = re.compile(r"\s*")
_SHOWN = 20
MAX_TOKENS: Final = 2**16
"""Maximum number of tokens: 16,000 comparisons, or an IN list of 32,000 values. Limits memory and SQL time."""


def syntax_error(problem: str, token: Token) -> InvalidInputError:
    """Returns the error for an invalid filter, with Hive's prefix and the position."""
    actual = f"'{_shortened(token.text)}' at character {token.position}" if token.text else "the end of the filter"
    return InvalidInputError(f"Error parsing partition filter: {problem}, found {actual}")


def tokens_of(text: str, keys: Iterable[str] = ()) -> Iterator[Token]:
    """Yields the tokens of a filter, then one of kind END.

    `keys`: names that may be in the filter without backticks. Spark writes all names so, such as a-b.

    Raises InvalidInputError at a position without a valid token, and after MAX_TOKENS.

    Strings keep their backslashes: `\'` does not end a string and stays two characters (Hive's PartitionFilter.g4).
    """
    if "\0" in text:
        raise syntax_error("a NUL character is not allowed", Token(Kind.SIGN, "\\0", text.index("\0") + 1))
    bare_name = _bare_names(keys)
    count, position = 0, _after_space(text, 0)
    while position < len(text):
        match = (bare_name and bare_name.match(text, position)) or _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            problem = "unclosed quote" if text[position] in "'\"`" else "unexpected character"
            raise syntax_error(problem, Token(Kind.SIGN, text[position:], position + 1))
        kind = Kind(match.lastgroup)
        value = match[match.lastgroup]
        token = Token(kind, value.replace("``", "`") if kind is Kind.NAME else value, position + 1)
        if count == MAX_TOKENS:
            raise syntax_error(f"a filter has at most {MAX_TOKENS} tokens", token)
        yield token
        count, position = count + 1, _after_space(text, match.end())
    yield Token(Kind.END, "", len(text) + 1)


def is_word(name: str) -> bool:
    """Returns whether a name is one token without backticks."""
    return _WORD.fullmatch(name) is not None


def _bare_names(keys: Iterable[str]) -> re.Pattern[str] | None:
    """Returns a pattern for those keys that are not words; None if there are none."""
    special = sorted((key for key in keys if not is_word(key)), key=len, reverse=True)
    if not special:
        return None
    return re.compile(f"(?P<name>{'|'.join(map(re.escape, special))})(?!\\w)", re.IGNORECASE)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
