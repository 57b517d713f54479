"""What identifies a stored object: the values that services pass from one repository to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedStruct
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table


class Key(NamedTuple):
    """A partition column."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TableRef:
    """What identifies a table, and what its partitions are read with."""

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
        return replace(self, keys=tuple(Key(*key) for key in keys))

    @property
    def key_kinds(self) -> list[KeyKind]:
        return [kind_of(key.type) for key in self.keys]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table with its identity."""

    ref: TableRef
    encoded: EncodedStruct[Table]


class StoredPartition(NamedTuple):
    """A partition with its identity."""

    id: int
    name: str
    version: int
    partition: Partition


@dataclass(frozen=True, slots=True)
class ScanRow:
    """What a scan needs of one partition; of an unpartitioned table, the one row without values."""

    values: list[str]
    location: str
    skewed_locations: dict[tuple[str, ...], str]
    version: int
    descriptor_id: int | None


@dataclass(frozen=True, slots=True)
class VisibleWrites:
    """Which writes of a table are visible: numbers up to `highest`, but for the open ones, which are ascending."""

    highest: int
    open: list[int]
