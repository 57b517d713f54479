"""The comparison of a row with its encoded column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Select

from metastore.errors import MetastoreError

_SHOWN: Final = 200  # characters of a value


class Difference(NamedTuple):
    """A column that contradicts the encoded bytes. `column` is empty if the bytes cannot be decoded."""

    object: str
    column: str
    stored: str
    encoded: str

    def __str__(self) -> str:
        if not self.column:
            return f"{self.object}: {self.encoded}"
        return f"{self.object}: the column {self.column} is {self.stored}, but the encoded value is {self.encoded}"


@dataclass(frozen=True, slots=True)
class Kind:
    """The rows of one table with an encoded column.

    Attributes:
        query: reads the rows, with labels for values of other tables.
        title: names a row in messages.
        expected: decodes the bytes to the expected values of columns and labels. Raises ValueError, AttributeError,
            TypeError or MetastoreError for bytes that cannot be decoded.
    """

    name: str
    query: Select[Any]
    title: Callable[[Any], str]
    expected: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for one kind: the number of rows, of wrong rows, and the first differences."""

    kind: str
    rows: int
    wrong: int
    differences: tuple[Difference, ...]


def differences(kind: Kind, row: Any) -> Iterator[Difference]:
    """Yields every column of a row that contradicts its bytes."""
    title = f"{kind.name} {kind.title(row)}"
    try:
        expected = kind.expected(row)
    except (ValueError, AttributeError, TypeError, MetastoreError) as error:
        yield Difference(title, "", "", f"the encoded column cannot be decoded ({' '.join(str(error).split())})")
        return
    stored = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    for column, value in expected.items():
        if stored[column] != value:
            yield Difference(title, column, _shown(stored[column]), _shown(value))


def _shown(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
