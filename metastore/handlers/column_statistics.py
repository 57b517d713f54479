"""Handlers of column statistics."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.names import TableName
from metastore.domain.privileges import Right
from metastore.encoding.binary import EncodedMap
from metastore.errors import InvalidInputError
from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import any_of, change, from_fields, operation
from metastore.operations.requirements.partitions import column_statistics, column_statistics_list
from metastore.services.column_statistics_read import ColumnStatisticsReadService
from metastore.services.column_statistics_write import ColumnStatisticsWriteService, CountedColumns
from thrift_idl.gen.hive_metastore.ttypes import (
    AggrStats,
    ColumnStatistics,
    ColumnStatisticsDesc,
    CompactionInfoStruct,
    DeleteColumnStatisticsRequest,
    PartitionsStatsRequest,
    PartitionsStatsResult,
    SetPartitionsStatsRequest,
    SetPartitionsStatsResponse,
    TableStatsRequest,
    TableStatsResult,
    UpdateTransactionalStatsRequest,
)
from thrift_idl.gen.metastore.ttypes import RefreshColumnStatisticsRequest

_ENGINE = "hive"

_STATS_OBJ_TABLE = TableFields(
    "stats_obj.statsDesc.dbName", "stats_obj.statsDesc.tableName", "stats_obj.statsDesc.catName"
)
_REQUESTED_TABLE = TableFields(
    "req.colStats.0.statsDesc.dbName", "req.colStats.0.statsDesc.tableName", "req.colStats.0.statsDesc.catName"
)
_TABLE = TableFields("db_name", "tbl_name")
_REFRESHED_TABLE = TableFields("request.dbName", "request.tableName", "request.catName")
_REQUEST_TABLE = TableFields("request.dbName", "request.tblName", "request.catName")


class ColumnStatisticsHandlers:
    """`*_column_statistics*` (`refresh_column_statistics` is our own), `*_statistics_req`, `*_aggr_stats_for`."""

    def __init__(self, read: ColumnStatisticsReadService, write: ColumnStatisticsWriteService) -> None:
        self._read = read
        self._write = write

    @change(_STATS_OBJ_TABLE, from_fields(column_statistics, "stats_obj"))
    def update_table_column_statistics(self, statistics: ColumnStatistics) -> bool:
        self._store([statistics], of_table=True)
        return True

    @change(_STATS_OBJ_TABLE, from_fields(column_statistics, "stats_obj"))
    def update_partition_column_statistics(self, statistics: ColumnStatistics) -> bool:
        self._store([statistics], of_table=False)
        return True

    @change(_REQUESTED_TABLE, from_fields(column_statistics_list, "req.colStats"))
    def update_table_column_statistics_req(self, request: SetPartitionsStatsRequest) -> SetPartitionsStatsResponse:
        self._store(request.colStats or [], of_table=True, engine=request.engine, merge=bool(request.needMerge))
        return SetPartitionsStatsResponse(result=True)

    @change(_REQUESTED_TABLE, from_fields(column_statistics_list, "req.colStats"))
    def update_partition_column_statistics_req(self, request: SetPartitionsStatsRequest) -> SetPartitionsStatsResponse:
        self._store(request.colStats or [], of_table=False, engine=request.engine, merge=bool(request.needMerge))
        return SetPartitionsStatsResponse(result=True)

    @change(
        TableFields(
            "request.colStats.0.statsDesc.dbName",
            "request.colStats.0.statsDesc.tableName",
            "request.colStats.0.statsDesc.catName",
        ),
        from_fields(column_statistics_list, "request.colStats"),
    )
    def set_aggr_stats_for(self, request: SetPartitionsStatsRequest) -> bool:
        statistics = request.colStats or []
        levels = {bool(_described(column_statistics).isTblLevel) for column_statistics in statistics}
        if len(levels) > 1:
            raise InvalidInputError("Column statistics of a table and of partitions must not be mixed")
        of_table = levels == {True}
        self._store(statistics, of_table=of_table, engine=request.engine, merge=bool(request.needMerge))
        return True

    @change(_REFRESHED_TABLE, any_of(Right.INSERT, Right.ALTER), entries="request.partitions")
    def refresh_column_statistics(self, request: RefreshColumnStatisticsRequest) -> list[str]:
        name = table_name(request.dbName, request.tableName, request.catName)
        counted = [CountedColumns(one.name, one.version, one.columns or []) for one in request.partitions or []]
        return self._write.refresh(name, counted)

    @operation(_TABLE, any_of(Right.SELECT))
    def get_table_column_statistics(self, database: str, table: str, column: str) -> ColumnStatistics:
        return self._of_column(table_name(database, table), None, column)

    @operation(_TABLE, any_of(Right.SELECT))
    def get_partition_column_statistics(
        self, database: str, table: str, partition: str, column: str
    ) -> ColumnStatistics:
        return self._of_column(table_name(database, table), partition or "", column)

    @operation(_REQUEST_TABLE, any_of(Right.SELECT))
    def get_table_statistics_req(self, request: TableStatsRequest) -> TableStatsResult:
        name = table_name(request.dbName, request.tblName, request.catName)
        statistics = self._read.of_table(name, request.colNames, request.engine or _ENGINE)
        return TableStatsResult(tableStats=statistics.columns if statistics else [])

    @operation(_REQUEST_TABLE, any_of(Right.SELECT), entries="request.partNames")
    def get_partitions_statistics_req(self, request: PartitionsStatsRequest) -> PartitionsStatsResult:
        name = table_name(request.dbName, request.tblName, request.catName)
        engine = request.engine or _ENGINE
        by_name = self._read.of_partitions(name, request.partNames or [], request.colNames, engine)
        return PartitionsStatsResult(partStats=EncodedMap({key: analyzed.columns for key, analyzed in by_name.items()}))

    @operation(_REQUEST_TABLE, any_of(Right.SELECT), entries="request.partNames")
    def get_aggr_stats_for(self, request: PartitionsStatsRequest) -> AggrStats:
        name = table_name(request.dbName, request.tblName, request.catName)
        engine = request.engine or _ENGINE
        return self._read.aggregate(name, request.partNames or [], request.colNames or [], engine)

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def delete_table_column_statistics(self, database: str, table: str, column: str | None, engine: str | None) -> bool:
        self._write.delete(table_name(database, table), _one_or_all(column), engine, of_table=True)
        return True

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def delete_partition_column_statistics(
        self, database: str, table: str, partition: str, column: str | None, engine: str | None
    ) -> bool:
        self._write.delete(table_name(database, table), _one_or_all(column), engine, partitions=[partition])
        return True

    @change(
        TableFields("req.db_name", "req.tbl_name", "req.cat_name"),
        any_of(Right.INSERT, Right.ALTER),
        entries="req.part_names",
    )
    def delete_column_statistics_req(self, request: DeleteColumnStatisticsRequest) -> bool:
        name = table_name(request.db_name, request.tbl_name, request.cat_name)
        columns, partitions = request.col_names or None, request.part_names or None
        of_table = bool(request.tableLevel)
        self._write.delete(name, columns, request.engine, partitions=partitions, of_table=of_table)
        return True

    @operation(TableFields("cr.dbname", "cr.tablename"), any_of(Right.SELECT))
    def find_columns_with_stats(self, compaction: CompactionInfoStruct) -> list[str]:
        name = table_name(compaction.dbname, compaction.tablename)
        return self._read.columns(name, compaction.partitionname, _ENGINE)

    @operation(None)
    def update_transaction_statistics(self, _: UpdateTransactionalStatsRequest) -> None:
        """Does nothing: Hive counts changed rows to rebuild materialized views incrementally, which we do not."""

    def _store(
        self,
        statistics: Sequence[ColumnStatistics],
        *,
        of_table: bool,
        engine: str | None = None,
        merge: bool = False,
    ) -> None:
        if not statistics:
            return
        owner = _owner(statistics)
        engine = (
            next((column_statistics.engine for column_statistics in statistics if column_statistics.engine), engine)
            or _ENGINE
        )
        if of_table:
            columns = [column for column_statistics in statistics for column in column_statistics.statsObj or []]
            self._write.store_of_table(owner, columns, engine=engine, merge=merge)
        else:
            by_name = [
                (column_statistics.statsDesc.partName, column_statistics.statsObj or [])
                for column_statistics in statistics
            ]
            self._write.store_of_partitions(owner, by_name, engine=engine, merge=merge)

    def _of_column(self, name: TableName, partition: str | None, column: str) -> ColumnStatistics:
        statistics = self._read.of_column(name, partition, column, _ENGINE)
        described = ColumnStatisticsDesc(
            isTblLevel=partition is None,
            dbName=name.database,
            tableName=name.name,
            partName=partition,
            lastAnalyzed=statistics.analyzed_at,
            catName=name.catalog,
        )
        return ColumnStatistics(statsDesc=described, statsObj=statistics.columns, engine=_ENGINE)


def _one_or_all(column: str | None) -> list[str] | None:
    return None if column is None else [column]


def _described(statistics: ColumnStatistics) -> ColumnStatisticsDesc:
    if statistics is None or statistics.statsDesc is None:
        raise InvalidInputError("Column statistics must name their table")
    return statistics.statsDesc


def _owner(statistics: Sequence[ColumnStatistics]) -> TableName:
    described = [_described(column_statistics) for column_statistics in statistics]
    names = {table_name(desc.dbName, desc.tableName, desc.catName) for desc in described}
    if len(names) != 1:
        raise InvalidInputError(f"The column statistics belong to {len(names)} tables: send one call for each table")
    return names.pop()
