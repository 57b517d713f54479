"""Dependent tables (Hive's proposal "Dependent Tables"): creating and changing them, and reading dependencies."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from metastore.domain import events
from metastore.domain.dependencies import (
    BASES,
    DEPENDENT,
    FRESH,
    check_columns,
    check_no_cycle,
    inherit_keys,
    state_of,
)
from metastore.domain.keys import sort_key
from metastore.domain.names import TableName
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidOperationError
from metastore.services.cascade.dependencies import columns_of, rewrite, schema_of
from metastore.services.cascade.freshness import edges_below
from metastore.services.cascade.views import read_texts, views_above, views_below
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.services.rules.lookup import get_home, get_table
from metastore.services.rules.partitions import PartitionRules
from metastore.services.rules.tables import VIEW, is_dependent, prepare
from metastore.services.service import ClockedService
from metastore.storage.references import StoredPartition, StoredTable, TableRef
from metastore.storage.repositories.dependencies import PartitionEdge, Spec, TableEdge
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.repositories.view_bases import ViewEdge
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, SerDeInfo, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import Dependencies, PartitionDependency, TableDependency, ViewDependency

# The formats that Hive gives to views.
_FORMATS = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
ANYBODY = "anonymous"
"""Hive's name for users without a name."""


class DependencyService(ClockedService):
    """Rules of dependencies. Names are in lower case. Base and dependent are in the same catalog."""

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
        """Creates a table with the columns of its base, partitioned by the first partition columns of the base.

        Raises:
            NotFoundError: the base does not exist.
            InvalidObjectError: the partition columns are no prefix of the base's, or the database does not exist.
            AlreadyExistsError: a table of that name exists, and not `if_not_exists`.
        """
        try:
            with self._store.transaction() as work:
                if if_not_exists and work.tables.reference(dependent) is not None:
                    return
                base_table = get_table(work, base, lock="share")
                struct = _dependent(dependent, base_table, keys, parameters, owner)
                struct = prepare(struct, dependent.parent, self._clock())
                table_id = work.tables.insert(get_home(work, dependent.parent).id, struct)
                work.record(events.create_table(table_text(struct)))
                work.dependencies.set_base(table_id, base_table.ref.id)
                rewrite(work, [table_id])
        except AlreadyExistsError:
            if not if_not_exists:
                raise AlreadyExistsError(f"Table {dependent} already exists") from None

    def set_base(self, dependent: TableName, base: TableName, partitions: Sequence[Sequence[str]] | None) -> None:
        """Changes the base of new partitions (`partitions` is None), or of `partitions`, which become fresh.

        Raises:
            NotFoundError: a table does not exist.
            InvalidOperationError: the table is not a dependent table, or a partition does not exist.
            InvalidObjectError: the base has other columns or partition columns, or depends on the dependent itself.
        """
        with self._store.transaction() as work:
            work.dependencies.serialise()
            base_table = get_table(work, base, lock="share")
            stored = get_table(work, dependent)
            work.dependencies.lock([stored.ref.id])
            stored = get_table(work, dependent)
            table = stored.encoded.decode()
            if not is_dependent(table):
                raise InvalidOperationError(f"{dependent} is not a dependent table")
            _check_base(work, stored, table, base_table)
            if partitions is None:
                work.dependencies.set_base(stored.ref.id, base_table.ref.id)
            else:
                work.dependencies.add_base(stored.ref.id, base_table.ref.id, current=False)
                self._republish(work, stored, table, base_table.ref, partitions)
            rewrite(work, [stored.ref.id])

    def _republish(
        self, work: UnitOfWork, stored: StoredTable, table: Table, base: TableRef, partitions: Sequence[Sequence[str]]
    ) -> None:
        rules = PartitionRules(table)
        names = [rules.name(values) for values in partitions]
        existing = work.partitions.select_stored(stored.ref, named(names), lock=True)
        if missing := sorted(set(names) - {partition.name for partition in existing}):
            raise InvalidOperationError(f"{stored.ref.name} has no partition {missing[0]}: add it first")
        bases = work.dependencies.bases_of([partition.id for partition in existing])
        known = {one.ref.id: str(one.ref.name) for one in work.tables.find_ids(sorted(set(bases.values())))}
        before = befores([one._replace(partition=_with_base(one, known[bases[one.id]])) for one in existing])
        work.partitions_write.update(stored.ref, as_changed(existing))
        work.dependencies.publish(stored.ref, base.id, [partition.id for partition in existing])
        after = [one._replace(partition=_with_base(one, str(base.name))) for one in existing]
        work.record(*alter_partitions(table_text(table), before, as_changed(after)))
        work.partitions_write.announce()

    def upwards(
        self, table: TableName, values: Sequence[str] | None, *, transitive: bool, base_partitions: bool
    ) -> Dependencies:
        """Returns the bases of a dependent table and, with `values`, of its partitions that begin with them.

        Raises NotFoundError, InvalidInputError for too many values.
        """
        read_texts(self._store)
        with self._store.read() as work:
            stored = get_table(work, table)
            tables = work.dependencies.upwards([stored.ref.id], transitive=transitive)
            edges: dict[int, PartitionEdge] = {}
            level = work.dependencies.edges_above([_spec(stored.ref, values or ())])
            while level:
                edges |= {edge.partition_id: edge for edge in level}
                below = {number for edge in level for number in edge.base_partition_ids} - edges.keys()
                level = work.dependencies.edges(sorted(below)) if transitive and below else []
            views = views_above(work, stored.ref.id, transitive=transitive)
            if views and transitive:
                tables = work.dependencies.upwards([edge.base_id for edge in views], transitive=True)
        return _answer(tables, list(edges.values()), views, base_partitions=base_partitions)

    def downwards(
        self, table: TableName, values: Sequence[str] | None, *, transitive: bool, base_partitions: bool
    ) -> Dependencies:
        """Returns the dependents of a table or, with `values`, of its partitions that begin with them.

        Raises NotFoundError, InvalidInputError for too many values.
        """
        read_texts(self._store)
        with self._store.read() as work:
            stored = get_table(work, table)
            tables = work.dependencies.downwards([stored.ref.id], transitive=transitive)
            specs = [_spec(stored.ref, values or ())]
            edges = edges_below(work, specs, transitive=transitive, named=base_partitions)
            below = [stored.ref.id, *(edge.dependent_id for edge in tables if transitive)]
            views = views_below(work, below, transitive=transitive)
            unknown = work.view_bases.unknown(stored.ref.id)
        return _answer(tables, edges, views, unknown, base_partitions=base_partitions)


def _dependent(
    name: TableName, base: StoredTable, keys: Sequence[FieldSchema], parameters: Mapping[str, str], owner: str | None
) -> Table:
    struct = base.encoded.decode()
    own_keys = inherit_keys(
        str(name), [(key.name, key.type) for key in keys], str(base.ref.name), columns_of(struct.partitionKeys)
    )
    comments = {key.name: key.comment for key in struct.partitionKeys} | {k.name: k.comment for k in keys if k.comment}
    dependent = Table(
        dbName=name.parent.name,
        tableName=name.name,
        tableType=VIEW,
        owner=owner or struct.owner or ANYBODY,  # Trino reads a view with its owner's rights, and needs one
        parameters={**parameters, DEPENDENT: "true", BASES: str(base.ref.name)},
        partitionKeys=[FieldSchema(key.name, key.type, comments.get(key.name)) for key in own_keys],
        sd=StorageDescriptor(
            cols=struct.sd.cols, inputFormat=_FORMATS[0], outputFormat=_FORMATS[1], serdeInfo=SerDeInfo(), numBuckets=-1
        ),
    )
    dependent.parameters = schema_of(dependent, [struct]) | dependent.parameters
    return dependent


def _with_base(stored: StoredPartition, base: str) -> Partition:
    """Returns a copy of the partition with the parameter that names its base. Events show partitions in this form."""
    partition = copy.copy(stored.partition)
    partition.parameters = {**(partition.parameters or {}), BASES: base}
    return partition


def _check_base(work: UnitOfWork, dependent: StoredTable, table: Table, base: StoredTable) -> None:
    name, base_name, struct = str(dependent.ref.name), str(base.ref.name), base.encoded.decode()
    upstream = work.dependencies.upwards([base.ref.id], transitive=True)
    check_no_cycle(name, base_name, [f"{edge.base_database}.{edge.base_table}" for edge in upstream])
    keys = [(key.name, key.type) for key in table.partitionKeys]
    inherit_keys(name, keys, base_name, columns_of(struct.partitionKeys))
    check_columns(name, columns_of(table.sd.cols), base_name, columns_of(struct.sd.cols))


def _spec(table: TableRef, values: Sequence[str]) -> Spec:
    if len(values) > len(table.keys):
        raise InvalidInputError(
            f"{table.name} has {len(table.keys)} partition columns, but {len(values)} values are given"
        )
    if any(value is None for value in values):
        raise InvalidInputError("Partition value cannot be null.")
    keys = [sort_key(kind, value) for kind, value in zip(table.key_kinds, values, strict=False)]
    return Spec(table.id, values, keys)


def _answer(
    tables: Sequence[TableEdge],
    edges: Sequence[PartitionEdge],
    views: Sequence[ViewEdge],
    unknown: Sequence[str] = (),
    *,
    base_partitions: bool,
) -> Dependencies:
    return Dependencies(
        tables=[
            TableDependency(
                edge.database, edge.table, edge.base_database, edge.base_table, edge.current, edge.partitions
            )
            for edge in tables
        ],
        partitions=[_partition_dependency(edge, base_partitions=base_partitions) for edge in edges],
        views=[
            ViewDependency(edge.database, edge.view, edge.base_database, edge.base_table, edge.materialized)
            for edge in views
        ],
        unknownViews=list(unknown),
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
        fresh=state_of(edge.total, unchanged=edge.unchanged) == FRESH,
        version=edge.version,
    )
