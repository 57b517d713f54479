"""Values that identify stored objects: services pass them from one repository to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedStruct
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table

TABLE_ITSELF: Final = 0
"""Stands for the table itself where an id of a partition is expected."""

SCAN_PAGE: Final = 1_000
"""Partitions of a plan that are in memory at once, if the client reads pages."""


class Key(NamedTuple):
    """A partition column."""

    name: str
    type: str


class TableRef(NamedTuple):
    """The identity of a table, with the fields that reading its partitions needs.

    `version` rises with each change of the table; `write_token` is the prefix of its query ids.
    """

    id: int
    database_id: int
    name: TableName
    type: str
    location: str | None
    keys: tuple[Key, ...]
    version: int
    write_token: str

    @property
    def key_names(self) -> list[str]:
        return [key.name for key in self.keys]

    def with_keys(self, keys: Iterable[tuple[str, str]]) -> TableRef:
        """Returns the same table with partition columns of these names and types."""
        return self._replace(keys=tuple(Key(*key) for key in keys))

    @property
    def key_kinds(self) -> list[KeyKind]:
        return [kind_of(key.type) for key in self.keys]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table and its identity."""

    ref: TableRef
    encoded: EncodedStruct[Table]


class StoredPartition(NamedTuple):
    """A partition and its identity."""

    id: int
    name: str
    version: int
    partition: Partition


@dataclass(frozen=True, slots=True)
class ScanRow:
    """The fields of one partition that a scan needs; for an unpartitioned table, one row without values."""

    values: list[str]
    location: str
    skewed_locations: dict[tuple[str, ...], str]
    version: int
    descriptor_id: int | None
    parameters: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class VisibleWrites:
    """The visible writes of a table: numbers up to `highest`, except the `open` ones (ascending)."""

    highest: int
    open: list[int]
