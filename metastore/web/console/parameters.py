"""The parameters of a page's address, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from metastore.domain.names import DatabaseName, TableName, fold
from metastore.errors import InvalidInputError

_LONGEST: Final = 1000  # characters of a parameter


class Parameters:
    """Parameters of the path and of the query. Methods raise InvalidInputError for values that the page cannot use."""

    def __init__(self, path: Mapping[str, str], query: Mapping[str, str]) -> None:
        self._path = path
        self._query = query

    def text(self, name: str, default: str = "") -> str:
        """Returns a text without surrounding blanks."""
        value = self._query.get(name, default).strip()
        if len(value) > _LONGEST or "\0" in value:
            raise InvalidInputError(f"{name} must have at most {_LONGEST} characters, and no NUL characters")
        return value

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        """Returns an integer between `low` and `high`."""
        text = self.text(name, str(default))
        if not (text.lstrip("-").isdecimal() and text.isascii() and low <= int(text) <= high):
            raise InvalidInputError(f"{name} must be a number from {low} to {high}, not {text[:40]!r}")
        return int(text)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Returns one of the choices; the first one is the default."""
        text = self.text(name) or choices[0]
        if text not in choices:
            raise InvalidInputError(f"{name} must be one of {', '.join(choices)}, not {text[:40]!r}")
        return text

    def prefixed(self, prefix: str) -> dict[str, str]:
        """Returns the parameters whose names begin with a prefix, by the rest of their names."""
        return {name.removeprefix(prefix): self.text(name) for name in self._query if name.startswith(prefix)}

    def database(self) -> DatabaseName:
        """Returns the database of the path."""
        return DatabaseName(self._name("catalog"), self._name("database"))

    def table(self) -> TableName:
        """Returns the table of the path."""
        return self.database().table(self._name("table"))

    def _name(self, part: str) -> str:
        name = self._path[part]
        if len(name) > _LONGEST or "\0" in name:
            raise InvalidInputError(f"The name of a {part} has at most {_LONGEST} characters, and no NUL characters")
        return fold(name)
