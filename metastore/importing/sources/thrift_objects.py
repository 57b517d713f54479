"""Reads statistics, functions, constraints and indexes through Thrift, table by table. The cursor is the last table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.errors import NotFoundError
from metastore.importing.sources.objects import Batch, Selection, SourceConstraint, SourceStatistics
from metastore.importing.sources.thrift_calls import UnknownCallError, UnsupportedCallError, in_catalog
from metastore.importing.sources.thrift_listing import ThriftListing, cursor_of
from metastore.storage.mapping.descriptors import complete
from thrift_idl.gen.hive_metastore.ttypes import (
    CheckConstraintsRequest,
    ColumnStatistics,
    ColumnStatisticsObj,
    DefaultConstraintsRequest,
    ForeignKeysRequest,
    Function,
    NotNullConstraintsRequest,
    PartitionsStatsRequest,
    PrimaryKeysRequest,
    Table,
    TableStatsRequest,
    UniqueConstraintsRequest,
)

_PARTITIONS: Final = 500
_ENGINE: Final = "hive"
_FETCHED: Final = {"bitVectors": "metastore.stats.fetch.bitvector", "histogram": "metastore.stats.fetch.kll"}
"""Fields of column statistics, and the settings of Hive with which its server returns them."""


class ObjectReader:
    """Reads objects of databases and tables."""

    def __init__(self, listing: ThriftListing) -> None:
        self._listing = listing
        self._calls = listing.calls

    def table_statistics(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the column statistics of tables."""
        for at, tables, _ in self._listing.tables(after, selection):
            yield Batch([one for table in tables for one in self._of_table(table)], at)

    def partition_statistics(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the column statistics of partitions."""
        for _, tables, _ in self._listing.tables(after, selection):
            for table in tables:
                statistics = list(self._of_partitions(table)) if table.partitionKeys else []
                yield Batch(statistics, cursor_of(table))

    def statistics(
        self, table: Table, partitions: Sequence[str] | None = None, *, own: bool = True
    ) -> Iterator[SourceStatistics]:
        """Yields the statistics of these partitions of a table, or of all of its partitions if there are None.

        `own`: also those of the table. The statistics of all partitions lack the times of analysis.
        """
        if own:
            yield from self._of_table(table)
        if table.partitionKeys:
            yield from self._of_partitions(table, partitions, times=partitions is not None)

    def hidden_fields(self) -> Mapping[str, str]:
        """Returns the fields that servers of Hive 3 and later return only with a setting, and the setting."""
        return {
            field: setting
            for field, setting in _FETCHED.items()
            if self._calls.optional("get_config_value", setting, "") == "false"
        }

    def functions(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the functions."""
        batch = Batch([], "all")
        for function in self._functions(selection, batch):
            function.catName = function.catName or DEFAULT_CATALOG
            function.resourceUris = function.resourceUris or []
            if selection.has(DatabaseName(function.catName, function.dbName)):
                name = f"function {function.dbName}.{function.functionName}"
                batch.objects.append(self._calls.owned(name, function))
        yield batch

    def constraints(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the constraints. Servers of Hive 2 know only primary and foreign keys."""
        for at, tables, _ in self._listing.tables(after, selection):
            yield Batch([one for table in tables for one in self._constraints(table)], at)

    def indexes(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the indexes of Hive 2."""
        for at, tables, _ in self._listing.tables(after, selection):
            indexes = []
            for table in tables:
                database = in_catalog(table.catName, table.dbName)
                what = f"indexes of {_name(table)}"
                for index in self._calls.listed(what, "get_indexes", database, table.tableName, -1) or ():
                    index.dbName, index.sd = table.dbName, complete(index.sd)
                    indexes.append(index)
            yield Batch(indexes, at)

    def _functions(self, selection: Selection, batch: Batch) -> Iterator[Function]:
        """Yields the functions. A server that cannot return one of them rejects the call for all: then each is read
        alone."""
        try:
            yield from self._calls.of_reply(
                "function", "get_all_functions", items=attrgetter("functions"), key=_function_key
            )
            return
        except NotFoundError:
            return
        except UnsupportedCallError:
            pass
        for database in self._listing.databases(selection):
            where = in_catalog(database.catalog, database.name)
            names = self._calls.listed(f"functions of {database}", "get_functions", where, "*")
            batch.is_partial = batch.is_partial or names is None
            for name in names or ():
                if function := self._calls.one(f"function {database}.{name}", "get_function", where, name):
                    yield function

    def _of_table(self, table: Table) -> Iterator[SourceStatistics]:
        columns = [column.name for column in table.sd.cols]
        described = self._described(table, columns) if columns else []
        if described:
            database = in_catalog(table.catName, table.dbName)
            one = self._calls.quiet("get_table_column_statistics", database, table.tableName, described[0].colName)
            yield SourceStatistics(_name(table), None, _ENGINE, _analyzed(one), described)

    def _described(self, table: Table, columns: Sequence[str]) -> list[ColumnStatisticsObj]:
        """Returns the statistics of columns. If the server rejects the call, each column is read alone."""
        request = TableStatsRequest(
            dbName=table.dbName, tblName=table.tableName, colNames=list(columns), catName=table.catName, engine=_ENGINE
        )
        what = f"column statistics of {_name(table)}"
        try:
            return self._calls.of_reply(what, "get_table_statistics_req", request, items=attrgetter("tableStats"))
        except (NotFoundError, UnknownCallError):
            return []
        except UnsupportedCallError as error:
            if len(columns) > 1:
                return [one for column in columns for one in self._described(table, [column])]
            self._calls.leave_out(f"{what}.{columns[0]}", error)
            return []

    def _of_partitions(
        self, table: Table, names: Sequence[str] | None = None, *, times: bool = True
    ) -> Iterator[SourceStatistics]:
        columns = [column.name for column in table.sd.cols]
        database = in_catalog(table.catName, table.dbName)
        if names is None:
            names = self._calls.quiet("get_partition_names", database, table.tableName, -1) or []
        for start in range(0, len(names) if columns else 0, _PARTITIONS):
            some = names[start : start + _PARTITIONS]
            for partition, described in self._described_partitions(table, columns, some).items():
                arguments = (database, table.tableName, partition, described[0].colName)
                # Only this call returns the time, and only of one partition.
                one = self._calls.quiet("get_partition_column_statistics", *arguments) if times else None
                yield SourceStatistics(_name(table), partition, _ENGINE, _analyzed(one), described)

    def _described_partitions(
        self, table: Table, columns: Sequence[str], names: Sequence[str]
    ) -> dict[str, list[ColumnStatisticsObj]]:
        """Returns the statistics of partitions that have some. Those of one column that cannot be read are reported."""
        request = PartitionsStatsRequest(
            dbName=table.dbName,
            tblName=table.tableName,
            colNames=list(columns),
            partNames=list(names),
            catName=table.catName,
            engine=_ENGINE,
        )
        what = f"column statistics of {_name(table)}"
        try:
            found = self._calls.of_reply(
                what, "get_partitions_statistics_req", request, items=lambda reply: _flat(reply.partStats), key=_key
            )
        except (NotFoundError, UnknownCallError):
            return {}
        except UnsupportedCallError as error:
            parts: list[tuple[Sequence[str], Sequence[str]]] = []
            if half := len(names) // 2:
                parts = [(columns, names[:half]), (columns, names[half:])]
            elif len(columns) > 1:
                parts = [([column], names) for column in columns]
            else:
                self._calls.leave_out(f"{what}/{names[0]}.{columns[0]}", error)
            found = [
                (name, one)
                for some, partitions in parts
                for name, described in self._described_partitions(table, some, partitions).items()
                for one in described
            ]
        by_partition: dict[str, list[ColumnStatisticsObj]] = {}
        for name, one in found:
            by_partition.setdefault(name, []).append(one)
        return by_partition

    def _constraints(self, table: Table) -> Iterator[SourceConstraint]:
        names = (table.catName, table.dbName, table.tableName)
        of_others = (
            ("get_unique_constraints", UniqueConstraintsRequest(*names), "uniqueConstraints"),
            ("get_not_null_constraints", NotNullConstraintsRequest(*names), "notNullConstraints"),
            ("get_default_constraints", DefaultConstraintsRequest(*names), "defaultConstraints"),
            ("get_check_constraints", CheckConstraintsRequest(*names), "checkConstraints"),
        )
        primary = PrimaryKeysRequest(db_name=table.dbName, tbl_name=table.tableName, catName=table.catName)
        foreign = ForeignKeysRequest(
            foreign_db_name=table.dbName, foreign_tbl_name=table.tableName, catName=table.catName
        )
        calls: list[tuple[str, Any, str]] = [
            ("get_primary_keys", primary, "primaryKeys"),
            ("get_foreign_keys", foreign, "foreignKeys"),
            *of_others,
        ]
        for method, request, field in calls:
            what = f"{method.removeprefix('get_').replace('_', ' ')} of {_name(table)}"
            yield from self._numbered(table, self._calls.listed(what, method, request, items=attrgetter(field)) or ())

    def _numbered(self, table: Table, columns: Sequence[Any]) -> Iterator[SourceConstraint]:
        """Yields constraints with the positions of their columns."""
        name = _name(table)
        positions: dict[str, int] = {}
        for one in sorted(columns, key=lambda one: getattr(one, "key_seq", 0) or 0):
            one.catName = one.catName or table.catName
            constraint = next(str(getattr(one, field)) for field in CONSTRAINT_NAMES if getattr(one, field, None))
            position = positions[constraint] = positions.get(constraint, 0) + 1
            parent = None
            if hasattr(one, "pktable_name"):
                parent = TableName(table.catName, one.pktable_db, one.pktable_name)
            yield SourceConstraint(name, position, one, parent)


CONSTRAINT_NAMES: Final = ("fk_name", "pk_name", "uk_name", "nn_name", "dc_name")
"""Fields with the name of a constraint. A foreign key also has the name of the primary key, so its own comes first."""


def _analyzed(statistics: ColumnStatistics | None) -> int:
    return int(statistics.statsDesc.lastAnalyzed or 0) if statistics else 0


def _name(table: Table) -> TableName:
    return TableName(table.catName, table.dbName, table.tableName)


def _flat(of_partitions: Mapping[str, Sequence[ColumnStatisticsObj]] | None) -> list[tuple[str, ColumnStatisticsObj]]:
    return [(name, one) for name, some in (of_partitions or {}).items() for one in some or ()]


def _key(what: str, one: tuple[str, ColumnStatisticsObj]) -> str:
    """Returns the key of statistics of a column of a partition."""
    return f"{what}/{one[0]}.{one[1].colName}"


def _function_key(what: str, function: Function) -> str:
    return f"{what} {function.dbName}.{function.functionName}"
