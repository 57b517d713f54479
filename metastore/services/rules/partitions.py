"""Completes and checks partitions before they are stored (Hive's HMSHandler)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from metastore.domain.names import fold, split_database
from metastore.domain.partition_names import checked_name
from metastore.domain.skew import check_count
from metastore.domain.skew_directories import DEFAULT_DIRECTORY
from metastore.errors import ConflictError, InvalidInputError, InvalidObjectError
from metastore.services.rules.tables import DDL_TIME, check_descriptor, check_names, is_view
from metastore.storage.mapping.descriptors import (
    Descriptor,
    column_texts,
    complete,
    format_and_skew,
    shared_part,
    with_locations,
    without_locations,
)
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, StorageDescriptor, Table


class PartitionRules:
    """The rules for the partitions of one table in one request."""

    def __init__(self, table: Table) -> None:
        """Raises InvalidInputError if the table has no partition columns."""
        if not table.partitionKeys:
            raise InvalidInputError(f"{table.dbName}.{table.tableName} is not a partitioned table")
        self.table = table
        self.keys = [key.name for key in table.partitionKeys]
        self._of_view = is_view(table)
        # Most partitions of a request have the same shape, and share the list of columns (`protocol.messages`). Each
        # shape is completed, checked and digested once.
        self._shapes: dict[Hashable, tuple[StorageDescriptor, Descriptor]] = {}
        self._last: tuple[list[FieldSchema] | None, bytes, tuple[StorageDescriptor, Descriptor]] | None = None

    def name(self, values: Sequence[str]) -> str:
        """Returns the name of the partition with these values. Raises InvalidInputError, InvalidObjectError."""
        return checked_name(self.keys, values)

    def prepare(self, partition: Partition, now: int) -> NamedPartition:
        """Completes a copy of the new partition's descriptor and parameters. `now`: seconds since 1970.

        Raises InvalidInputError (bad values, another table, no descriptor), InvalidObjectError (shape, location).
        """
        self.check_owner(partition)
        if not self._of_view:
            check_descriptor_given(partition)
        partition.createTime, partition.parameters = now, dict(partition.parameters or {})
        named = self.complete(partition)
        partition.parameters.setdefault(DDL_TIME, str(now))
        if self._of_view:
            check_no_location(partition)
        elif partition.sd.location:
            partition.sd.location = paths.require_not_root(partition.sd.location)
        else:
            partition.sd.location = paths.join(self.table.sd.location, named.name)
        return named

    def complete(
        self, partition: Partition, partition_id: int | None = None, name: str | None = None
    ) -> NamedPartition:
        """Takes missing fields from the table, and checks. `name`: if it is known already.

        Raises InvalidInputError, InvalidObjectError.
        """
        table = self.table
        name = self.name(partition.values) if name is None else name
        partition.catName, partition.dbName, partition.tableName = table.catName, table.dbName, table.tableName
        if partition.sd is None:
            partition.sd = inherited_descriptor(table)
        shape, descriptor = self._shape(partition.sd, name)
        partition.sd = with_locations(shape, partition.sd)
        partition.parameters = partition.parameters or {}
        partition.lastAccessTime = partition.lastAccessTime or 0
        if partition.sd.storedAsSubDirectories:
            check_no_default_directory(table, partition.values)
        return NamedPartition(name, partition, partition_id, descriptor)

    def _shape(self, sd: StorageDescriptor, name: str) -> tuple[StorageDescriptor, Descriptor]:
        """Returns the completed descriptor that partitions of this shape share. `name`: for error messages."""
        columns, rest = sd.cols, format_and_skew(sd)
        if self._last is None or columns is not self._last[0] or rest != self._last[1]:
            key = column_texts(sd), rest
            if key not in self._shapes:
                self._shapes[key] = self._checked(without_locations(sd), name)
            self._last = columns, rest, self._shapes[key]
        return self._last[2]

    def _checked(self, shape: StorageDescriptor, name: str) -> tuple[StorageDescriptor, Descriptor]:
        """Completes and checks a shape. As in Hive, without columns of its own it has the table's."""
        own = shape.cols
        shape = complete(shape)
        shape.cols = self.table.sd.cols if own is None else own
        if any(
            column.name is None or column.type is None for column in shape.cols
        ):  # as in Hive, types are not checked
            raise InvalidInputError("A column of a partition has no name or no type")
        check_names(shape.cols)
        owner = f"{self.table.dbName}.{self.table.tableName} partition {name}"
        check_descriptor(shape, self.keys, owner)
        if (values := shape.skewedInfo.skewedColValues) != self.table.sd.skewedInfo.skewedColValues:
            check_count(len(values), self.table.parameters or {}, owner)
        shape.cols = own
        return shape, shared_part(shape)

    def check_owner(self, partition: Partition) -> None:
        """Raises InvalidInputError if the partition names no table, or another one."""
        if not partition.dbName or not partition.tableName:
            raise InvalidInputError("The database and table name must be set in the partition.")
        check_belongs(self.table, partition)


def check_belongs(table: Table, partition: Partition) -> None:
    """Raises InvalidInputError if the partition names another table or database. Missing names are accepted."""
    if (partition.dbName, partition.tableName) == (table.dbName, table.tableName):
        return  # the usual case, without parsing
    database = split_database(partition.dbName)[1] or table.dbName
    name = fold(partition.tableName) or table.tableName
    if (database, name) != (table.dbName, table.tableName):
        raise InvalidInputError(
            f"Partition does not belong to target table {table.dbName}.{table.tableName}: it is {database}.{name}'s"
        )


def check_descriptor_given(partition: Partition) -> None:
    """Raises InvalidInputError, as Hive does, for a partition without a storage descriptor or serde."""
    if partition.sd is None or partition.sd.serdeInfo is None:
        raise InvalidInputError(
            f"Partition {partition.values} of {partition.tableName} was sent without "
            f"{'sd' if partition.sd is None else 'sd.serdeInfo'}"
        )


def check_no_location(partition: Partition) -> None:
    """Raises InvalidInputError, in Hive's words, for a view's partition with a location."""
    if partition.sd.location:
        raise InvalidInputError("LOCATION clause illegal for view partition")


def check_no_default_directory(table: Table, values: Sequence[str]) -> None:
    """Raises InvalidObjectError for a value that is the name of the default directory of list bucketing."""
    for key, value in zip(table.partitionKeys, values, strict=True):
        if value == DEFAULT_DIRECTORY:
            raise InvalidObjectError(
                f"{table.dbName}.{table.tableName}: the partition value {key.name}={value} is the name of the default "
                "directory of list bucketing; choose another"
            )


def inherited_descriptor(table: Table) -> StorageDescriptor:
    """Returns the descriptor of a new partition: the table's, with its skew but without locations."""
    return with_locations(without_locations(table.sd), StorageDescriptor())


def check_distinct(named: Sequence[NamedPartition]) -> None:
    """Raises InvalidInputError if two partitions of a call have the same name."""
    seen: set[str] = set()
    for partition in named:
        if partition.name in seen:
            raise InvalidInputError(f"Duplicate partitions in the list: {partition.name}")
        seen.add(partition.name)


def check_version(label: str, version: int, context: Mapping[str, str]) -> None:
    """Raises ConflictError if the client's context has an `expected_version` that is not the present one."""
    expected = context.get("expected_version")
    if expected is not None and expected != str(version):
        raise ConflictError(
            f"{label} has version {version}, but the client expects {expected}: another client has changed it"
        )
