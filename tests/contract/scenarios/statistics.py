"""Column statistics: of tables, of partitions, aggregated."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    BinaryColumnStatsData,
    BooleanColumnStatsData,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Date,
    DateColumnStatsData,
    Decimal,
    DecimalColumnStatsData,
    DoubleColumnStatsData,
    LongColumnStatsData,
    PartitionsStatsRequest,
    SetPartitionsStatsRequest,
    StringColumnStatsData,
    TableStatsRequest,
)

COLUMNS = columns(
    ("l", "bigint"),
    ("d", "double"),
    ("s", "string"),
    ("b", "boolean"),
    ("x", "binary"),
    ("m", "decimal(10,2)"),
    ("t", "date"),
)


def numbers(low: int | None, high: int | None, nulls: int = 1, distinct: int = 5) -> ColumnStatisticsObj:
    data = LongColumnStatsData(lowValue=low, highValue=high, numNulls=nulls, numDVs=distinct)
    return ColumnStatisticsObj("l", "bigint", ColumnStatisticsData(longStats=data))


def every_kind() -> list[ColumnStatisticsObj]:
    """Returns statistics of each type."""
    small, large = Decimal(unscaled=b"\x01", scale=2), Decimal(unscaled=b"\x7f\xff", scale=2)
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "d": ("double", {"doubleStats": DoubleColumnStatsData(lowValue=-1.5, highValue=2.5, numNulls=0, numDVs=3)}),
        "s": ("string", {"stringStats": StringColumnStatsData(maxColLen=9, avgColLen=2.5, numNulls=1, numDVs=4)}),
        "b": ("boolean", {"booleanStats": BooleanColumnStatsData(numTrues=1, numFalses=2, numNulls=3)}),
        "x": ("binary", {"binaryStats": BinaryColumnStatsData(maxColLen=9, avgColLen=2.5, numNulls=1)}),
        "m": ("decimal(10,2)", {"decimalStats": DecimalColumnStatsData(small, large, numNulls=0, numDVs=2)}),
        "t": ("date", {"dateStats": DateColumnStatsData(Date(1), Date(20_000), numNulls=0, numDVs=2)}),
    }
    made = [ColumnStatisticsObj(name, kind, ColumnStatisticsData(**data)) for name, (kind, data) in kinds.items()]
    return [numbers(1, 9), *made]


def statistics(
    db: str, objects: list[ColumnStatisticsObj], name: str = "t", part: str | None = None
) -> ColumnStatistics:
    return ColumnStatistics(ColumnStatisticsDesc(part is None, db, name, part), objects)


def by_column(result: Any) -> Any:
    """Returns the answer with its columns in a fixed order."""
    result.statsObj.sort(key=lambda each: each.colName)
    return result


@scenario
def statistics_of_tables(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", sd=descriptor(cols=COLUMNS)))
    hive.at("none").get_table_column_statistics(db, "t", "l")
    hive.at("none").get_table_statistics_req(TableStatsRequest(db, "t", ["l", "s"]))
    hive.update_table_column_statistics(statistics(db, every_kind()))
    for column in ("l", "d", "s", "b", "x", "m", "t", "L"):
        hive.at(column).get_table_column_statistics(db, "t", column)
    request = TableStatsRequest(db, "t", ["l", "s", "nope"])
    hive.at(
        "some", show=lambda actual: sorted(actual.tableStats, key=lambda each: each.colName)
    ).get_table_statistics_req(request)
    hive.get_table(db, "t")
    hive.at("again").update_table_column_statistics(statistics(db, [numbers(-5, 50)]))
    hive.at("again").get_table_column_statistics(db, "t", "l")
    hive.at("no bounds").update_table_column_statistics(statistics(db, [numbers(None, None)]))
    hive.at("no bounds").get_table_column_statistics(db, "t", "l")
    hive.at("unknown column").get_table_column_statistics(db, "t", "nope")
    hive.at("missing table").get_table_column_statistics(db, "nope", "l")
    hive.at("missing table").get_table_statistics_req(TableStatsRequest(db, "nope", ["l"]))
    hive.at("missing table").update_table_column_statistics(statistics(db, [numbers(1, 2)], "nope"))
    nope = ColumnStatisticsObj("nope", "bigint", numbers(1, 2).statsData)
    hive.at("unknown column").update_table_column_statistics(statistics(db, [nope]))
    hive.delete_table_column_statistics(db, "t", "l", None)
    hive.at("deleted").get_table_column_statistics(db, "t", "l")
    hive.at("again").delete_table_column_statistics(db, "t", "l", None)
    hive.at("all").delete_table_column_statistics(db, "t", None, None)
    hive.at("all").get_table_column_statistics(db, "t", "s")
    hive.at("missing table").delete_table_column_statistics(db, "nope", "l", None)


@scenario
def statistics_of_partitions(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", [("ds", "string")], sd=descriptor(cols=COLUMNS)))
    hive.add_partitions([partition(db, "t", [day], sd=descriptor(cols=COLUMNS)) for day in ("1", "2", "3")])
    hive.at("1").update_partition_column_statistics(statistics(db, every_kind(), part="ds=1"))
    hive.at("2").update_partition_column_statistics(statistics(db, [numbers(5, 50, 2, 7)], part="ds=2"))
    for part in ("ds=1", "ds=2", "ds=3"):
        hive.at(part).get_partition_column_statistics(db, "t", part, "l")
    request = PartitionsStatsRequest(db, "t", ["l", "nope"], ["ds=1", "ds=2", "ds=3", "ds=9"])
    hive.at("several").get_partitions_statistics_req(request)
    for names in (["ds=1"], ["ds=1", "ds=2"], ["ds=1", "ds=2", "ds=3"], ["ds=3"], []):
        hive.at(f"together {names}").get_aggr_stats_for(PartitionsStatsRequest(db, "t", ["l"], names))
    hive.get_partition(db, "t", ["1"])
    hive.at("missing partition").update_partition_column_statistics(statistics(db, [numbers(1, 2)], part="ds=9"))
    hive.at("missing partition").get_partition_column_statistics(db, "t", "ds=9", "l")
    hive.at("missing table").get_partition_column_statistics(db, "nope", "ds=1", "l")
    hive.at("missing table").get_partitions_statistics_req(PartitionsStatsRequest(db, "nope", ["l"], ["ds=1"]))
    hive.at("missing table").get_aggr_stats_for(PartitionsStatsRequest(db, "nope", ["l"], ["ds=1"]))
    both = [statistics(db, [numbers(1, 2)], part="ds=1"), statistics(db, [numbers(3, 4)], part="ds=3")]
    hive.set_aggr_stats_for(SetPartitionsStatsRequest(both))
    hive.at("set together").get_partitions_statistics_req(PartitionsStatsRequest(db, "t", ["l"], ["ds=1", "ds=3"]))
    merging = SetPartitionsStatsRequest([statistics(db, [numbers(0, 9)], part="ds=1")], needMerge=True)
    hive.at("merged").set_aggr_stats_for(merging)
    hive.at("merged").get_partition_column_statistics(db, "t", "ds=1", "l")
    hive.delete_partition_column_statistics(db, "t", "ds=1", "l", None)
    hive.at("deleted").get_partition_column_statistics(db, "t", "ds=1", "l")
    hive.at("again").delete_partition_column_statistics(db, "t", "ds=1", "l", None)
    hive.at("partition is dropped").drop_partition(db, "t", ["2"], True)
    hive.at("partition is dropped").get_partitions_statistics_req(
        PartitionsStatsRequest(db, "t", ["l"], ["ds=1", "ds=2", "ds=3"])
    )


@scenario
def statistics_follow_their_table(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", sd=descriptor(cols=COLUMNS)))
    hive.update_table_column_statistics(statistics(db, every_kind()))
    changed = hive.get_table(db, "t")
    changed.tableName = "u"
    hive.at("renamed").alter_table(db, "t", changed)
    hive.at("renamed").get_table_column_statistics(db, "u", "l")
    changed.sd.cols = [column for column in COLUMNS if column.name != "l"] + columns(("new", "int"))
    hive.at("column is gone").alter_table(db, "u", changed)
    hive.at("column is gone").get_table_column_statistics(db, "u", "s")
    hive.drop_table(db, "u", True)
    hive.create_table(table(db, "u", sd=descriptor(cols=COLUMNS)))
    hive.at("made anew").get_table_column_statistics(db, "u", "s")
