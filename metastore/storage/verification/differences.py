"""What is found, and the comparison of one row with its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Select

from metastore.errors import MetastoreError

_SHOWN: Final = 200  # characters of a value


class Difference(NamedTuple):
    """One column of one object that its bytes contradict. `column` is empty where the bytes make no object."""

    object: str
    column: str
    stored: str
    encoded: str

    def __str__(self) -> str:
        if not self.column:
            return f"{self.object}: {self.encoded}"
        return f"{self.object}: the column {self.column} is {self.stored}, its bytes say {self.encoded}"


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows of one table that hold bytes.

    `query` gives them all, with what else belongs to them under labels; `title` names one to people; `expected` decodes
    its bytes and returns what its columns and labels must be. Raises ValueError, AttributeError, TypeError or
    MetastoreError where the bytes make no whole object.
    """

    name: str
    query: Select[Any]
    title: Callable[[Any], str]
    expected: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Verified:
    """How many rows of a kind there are, how many are wrong, and the first differences of the first wrong ones."""

    kind: str
    rows: int
    wrong: int
    differences: tuple[Difference, ...]


def differences(kind: Kind, row: Any) -> Iterator[Difference]:
    """Yields every column of a row that its bytes contradict."""
    title = f"{kind.name} {kind.title(row)}"
    try:
        expected = kind.expected(row)
    except (ValueError, AttributeError, TypeError, MetastoreError) as error:
        yield Difference(title, "", "", f"its bytes cannot be read ({' '.join(str(error).split())})")
        return
    stored = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    for column, value in expected.items():
        if stored[column] != value:
            yield Difference(title, column, _shown(stored[column]), _shown(value))


def _shown(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
