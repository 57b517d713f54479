"""Dependent tables (Hive's proposal "Dependent Tables"): made, pointed elsewhere, and asked what depends on what."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from metastore.domain import table_events
from metastore.domain.dependencies import BASES, DEPENDENT, check_columns, check_no_cycle, inherit_keys
from metastore.domain.keys import sort_key
from metastore.domain.names import TableName
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidOperationError
from metastore.services.cascade.dependencies import columns_of, is_dependent, rewrite
from metastore.services.cascade.freshness import edges_below
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.services.rules.lookup import get_home, get_table
from metastore.services.rules.partitions import PartitionRules
from metastore.services.rules.tables import VIEW, prepare
from metastore.services.service import ClockedService
from metastore.storage.references import StoredPartition, StoredTable, TableRef
from metastore.storage.repositories.dependencies import PartitionEdge, Spec, TableEdge
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, SerDeInfo, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import Dependencies, PartitionDependency, TableDependency

# What Hive gives to a view.
_FORMATS = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
ANYBODY = "anonymous"
"""Hive's name of users who have not said theirs."""


class DependencyService(ClockedService):
    """Rules of dependencies. Names come folded, the base's catalog is the dependent's."""

    def create(
        self,
        dependent: TableName,
        base: TableName,
        keys: Sequence[FieldSchema],
        *,
        parameters: Mapping[str, str],
        owner: str | None,
        if_not_exists: bool,
    ) -> None:
        """Makes a table with the columns of its base, partitioned by the first of its partition columns.

        Raises:
            NotFoundError: the base is missing.
            InvalidObjectError: the partition columns are no prefix of the base's, or the database is missing.
            AlreadyExistsError: a table of that name is there, and not `if_not_exists`.
        """
        try:
            with self._store.transaction() as work:
                if if_not_exists and work.tables.reference(dependent) is not None:
                    return
                of = get_table(work, base, lock="share")
                struct = _dependent(dependent, of, keys, parameters, owner)
                struct = prepare(struct, dependent.parent, self._clock())
                table_id = work.tables.insert(get_home(work, dependent.parent).id, struct)
                work.record(table_events.create_table(table_text(struct)))
                work.dependencies.set_base(table_id, of.ref.id)
                rewrite(work, [table_id])
        except AlreadyExistsError:
            if not if_not_exists:
                raise AlreadyExistsError(f"Table {dependent} already exists") from None

    def set_base(self, dependent: TableName, base: TableName, partitions: Sequence[Sequence[str]] | None) -> None:
        """Lets new partitions, or these, depend on that table from now on; of these all are fresh then.

        Raises:
            NotFoundError: a table is missing.
            InvalidOperationError: the table is no dependent one, or a partition is missing.
            InvalidObjectError: the base has other columns or partition columns, or depends on the dependent itself.
        """
        with self._store.transaction() as work:
            work.dependencies.serialise()
            of = get_table(work, base, lock="share")
            stored = get_table(work, dependent)
            work.dependencies.lock([stored.ref.id])
            stored = get_table(work, dependent)
            table = stored.encoded.decode()
            if not is_dependent(table):
                raise InvalidOperationError(f"{dependent} is not a dependent table")
            _check_base(work, stored, table, of)
            if partitions is None:
                work.dependencies.set_base(stored.ref.id, of.ref.id)
            else:
                work.dependencies.add_base(stored.ref.id, of.ref.id, current=False)
                self._republish(work, stored, table, of.ref, partitions)
            rewrite(work, [stored.ref.id])

    def _republish(
        self, work: UnitOfWork, stored: StoredTable, table: Table, base: TableRef, partitions: Sequence[Sequence[str]]
    ) -> None:
        rules = PartitionRules(table)
        names = [rules.name(values) for values in partitions]
        there = work.partitions.select_stored(stored.ref, named(names), lock=True)
        if missing := sorted(set(names) - {partition.name for partition in there}):
            raise InvalidOperationError(f"{stored.ref.name} has no partition {missing[0]}: add it first")
        bases = work.dependencies.bases_of([partition.id for partition in there])
        known = {of.ref.id: str(of.ref.name) for of in work.tables.find_ids(sorted(set(bases.values())))}
        before = befores([one._replace(partition=_reading(one, known[bases[one.id]])) for one in there])
        work.partitions_write.update(stored.ref, as_changed(there))
        work.dependencies.publish(stored.ref, base.id, [partition.id for partition in there])
        read = [one._replace(partition=_reading(one, str(base.name))) for one in there]
        work.record(*alter_partitions(table_text(table), before, as_changed(read)))
        work.partitions_write.announce()

    def upwards(
        self, table: TableName, values: Sequence[str] | None, *, transitive: bool, base_partitions: bool
    ) -> Dependencies:
        """Returns what a dependent table depends on; with `values`, those of its partitions that begin with them, too.

        Raises NotFoundError, InvalidInputError for too many values.
        """
        with self._store.read() as work:
            stored = get_table(work, table)
            tables = work.dependencies.upwards([stored.ref.id], transitive=transitive)
            edges: dict[int, PartitionEdge] = {}
            level = work.dependencies.edges_above([_spec(stored.ref, values or ())], named=True)
            while level:
                edges |= {edge.partition_id: edge for edge in level}
                below = {number for edge in level for number in edge.base_partition_ids} - edges.keys()
                level = work.dependencies.edges(sorted(below), named=True) if transitive and below else []
        return _answer(tables, list(edges.values()), base_partitions=base_partitions)

    def downwards(
        self, table: TableName, values: Sequence[str] | None, *, transitive: bool, base_partitions: bool
    ) -> Dependencies:
        """Returns what depends on a table; with `values`, only on partitions that begin with them.

        Raises NotFoundError, InvalidInputError for too many values.
        """
        with self._store.read() as work:
            stored = get_table(work, table)
            tables = work.dependencies.downwards([stored.ref.id], transitive=transitive)
            specs = [_spec(stored.ref, values or ())]
            edges = edges_below(work, specs, transitive=transitive, named=base_partitions)
        return _answer(tables, edges, base_partitions=base_partitions)


def _dependent(
    name: TableName, base: StoredTable, keys: Sequence[FieldSchema], parameters: Mapping[str, str], owner: str | None
) -> Table:
    struct = base.encoded.decode()
    own_keys = inherit_keys(
        str(name), [(key.name, key.type) for key in keys], str(base.ref.name), columns_of(struct.partitionKeys)
    )
    comments = {key.name: key.comment for key in struct.partitionKeys} | {k.name: k.comment for k in keys if k.comment}
    return Table(
        dbName=name.parent.name,
        tableName=name.name,
        tableType=VIEW,
        owner=owner or struct.owner or ANYBODY,  # Trino reads a view as its owner, and none without
        parameters={**parameters, DEPENDENT: "true", BASES: str(base.ref.name)},
        partitionKeys=[FieldSchema(key.name, key.type, comments.get(key.name)) for key in own_keys],
        sd=StorageDescriptor(
            cols=struct.sd.cols, inputFormat=_FORMATS[0], outputFormat=_FORMATS[1], serdeInfo=SerDeInfo(), numBuckets=-1
        ),
    )


def _reading(stored: StoredPartition, base: str) -> Partition:
    """Returns a partition as events show it: its parameters say what it depends on, like those of its table."""
    partition = copy.copy(stored.partition)
    partition.parameters = {**(partition.parameters or {}), BASES: base}
    return partition


def _check_base(work: UnitOfWork, dependent: StoredTable, table: Table, base: StoredTable) -> None:
    name, of, struct = str(dependent.ref.name), str(base.ref.name), base.encoded.decode()
    upstream = work.dependencies.upwards([base.ref.id], transitive=True)
    check_no_cycle(name, of, [f"{edge.base_database}.{edge.base_table}" for edge in upstream])
    keys = [(key.name, key.type) for key in table.partitionKeys]
    inherit_keys(name, keys, of, columns_of(struct.partitionKeys))
    check_columns(name, columns_of(table.sd.cols), of, columns_of(struct.sd.cols))


def _spec(table: TableRef, values: Sequence[str]) -> Spec:
    if len(values) > len(table.keys):
        raise InvalidInputError(
            f"{table.name} has {len(table.keys)} partition columns, but {len(values)} values are given"
        )
    if any(value is None for value in values):
        raise InvalidInputError("Partition value cannot be null.")
    keys = [sort_key(kind, value) for kind, value in zip(table.key_kinds, values, strict=False)]
    return Spec(table.id, values, keys)


def _answer(tables: Sequence[TableEdge], edges: Sequence[PartitionEdge], *, base_partitions: bool) -> Dependencies:
    return Dependencies(
        tables=[
            TableDependency(
                edge.database, edge.table, edge.base_database, edge.base_table, edge.current, edge.partitions
            )
            for edge in tables
        ],
        partitions=[_partition_dependency(edge, base_partitions=base_partitions) for edge in edges],
    )


def _partition_dependency(edge: PartitionEdge, *, base_partitions: bool) -> PartitionDependency:
    return PartitionDependency(
        dbName=edge.database,
        tableName=edge.table,
        partitionName=edge.name,
        values=edge.values,
        baseDbName=edge.base_database,
        baseTableName=edge.base_table,
        baseSpec=edge.name,  # the names of both tables' first partition columns are the same
        basePartitionsTotal=edge.total,
        basePartitions=(edge.base_names or []) if base_partitions else None,
        fresh=edge.fresh,
        version=edge.version,
    )
