"""The objects of a source, as all sources return them: Hive's Thrift structs with the names that identify them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from metastore.domain.names import DatabaseName, TableName
from metastore.storage.importing.imports import Finding
from metastore.storage.mapping.descriptors import Descriptor, shared_part
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj, Partition, StorageDescriptor


class Stage(Enum):
    """The kinds of objects, in the order in which they are copied: a kind can refer to the earlier ones."""

    CATALOGS = "catalogs"
    DATABASES = "databases"
    TABLES = "tables"
    PARTITIONS = "partitions"
    TABLE_STATISTICS = "statistics of tables"
    PARTITION_STATISTICS = "statistics of partitions"
    FUNCTIONS = "functions"
    CONSTRAINTS = "constraints"
    INDEXES = "indexes"
    ROLES = "roles"
    ROLE_GRANTS = "grants of roles"
    PRIVILEGES = "privileges"
    MASTER_KEYS = "master keys"
    TOKENS = "delegation tokens"
    TRANSACTIONS = "transactions"
    EVENTS = "events"


BESIDE_TABLES: Final = (
    Stage.FUNCTIONS,
    Stage.CONSTRAINTS,
    Stage.INDEXES,
    Stage.ROLES,
    Stage.ROLE_GRANTS,
    Stage.PRIVILEGES,
)
"""Stages that are compared as a whole, not table by table."""


class Shape:
    """The part of a storage descriptor that many partitions share. The descriptor is complete and never changed.

    `problem`: why it cannot be imported, if its rows are broken.
    """

    def __init__(self, sd: StorageDescriptor, problem: str = "") -> None:
        self.sd = sd
        self.problem = problem

    @cached_property
    def descriptor(self) -> Descriptor:
        """The descriptor as it is stored."""
        return shared_part(self.sd)


class SourcePartition(NamedTuple):
    """A partition. Its `sd` has only its locations; the rest is in `shape`. `name`: as the source stores it.

    `parameters`: the parameters of the struct as a JSON object, if the source has returned them in this form.
    """

    table: TableName
    name: str
    partition: Partition
    shape: Shape
    parameters: str | None = None


class SourceStatistics(NamedTuple):
    """Column statistics of a table, or of one partition. `analyzed_at`: seconds since 1970."""

    table: TableName
    partition: str | None
    engine: str
    analyzed_at: int
    columns: list[ColumnStatisticsObj]


class SourceConstraint(NamedTuple):
    """One column of a constraint: a struct such as SQLPrimaryKey. `position`: from 1."""

    table: TableName
    position: int
    constraint: Any
    parent: TableName | None = None


class MasterKey(NamedTuple):
    """A key that signs delegation tokens."""

    id: int
    key: str


class Token(NamedTuple):
    """A delegation token in Hive's own storage format."""

    identifier: str
    token: str


class OpenTransaction(NamedTuple):
    """A transaction of the source that is open or aborted. `state`: as in `domain.transactions`."""

    id: int
    state: str
    type: int
    user: str
    host: str
    write_ids: Sequence[tuple[TableName, int]]


@dataclass(frozen=True)
class TransactionState:
    """The high-water marks of a source.

    `last`: the last transaction id. `write_ids`: the last write id of each transactional table.
    """

    last: int
    write_ids: dict[TableName, int]
    unfinished: Sequence[OpenTransaction] = ()


Object: TypeAlias = Any
"""A Catalog, Database, Table, Function, Index, Role, RolePrincipalGrant, HiveObjectPrivilege or NotificationEvent of
Thrift, or one of the classes of this module."""


@dataclass
class Batch:
    """Objects of one stage. `cursor`: where a later run continues, after this batch is stored.

    `is_partial`: the source has rejected a call, so that it may have more objects.
    """

    objects: list[Object]
    cursor: str
    findings: list[Finding] = field(default_factory=list)
    is_partial: bool = False


@dataclass(frozen=True)
class Selection:
    """The databases to read; None for all."""

    databases: frozenset[DatabaseName] | None = None

    def has(self, database: DatabaseName) -> bool:
        return self.databases is None or database in self.databases


def type_of(parameters: Mapping[str, str], view_text: str | None) -> str:
    """Returns the type of a table that old versions stored without one (Hive's ObjectStore)."""
    if view_text is not None:
        return "VIRTUAL_VIEW"
    return "EXTERNAL_TABLE" if parameters.get("EXTERNAL", "").upper() == "TRUE" else "MANAGED_TABLE"
