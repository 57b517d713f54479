"""Statistics of columns, and their marks, when columns change and when their table or partition is renamed."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.contract.scenarios.accuracy import (
    CONTEXTS,
    KEYS,
    SENT,
    altered,
    see,
    see_partition,
    stored_partition,
)
from tests.contract.scenarios.statistics import numbers
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    EnvironmentContext,
    PartitionsStatsRequest,
    SetPartitionsStatsRequest,
    TableStatsRequest,
)

COLUMNS = columns(("a", "bigint"), ("x", "bigint"), ("y", "bigint"))
CHANGES: dict[str, list[tuple[str, str]]] = {
    "last dropped": [("a", "bigint"), ("x", "bigint")],
    "first dropped": [("x", "bigint"), ("y", "bigint")],
    "renamed": [("a", "bigint"), ("z", "bigint"), ("y", "bigint")],
    "retyped": [("a", "bigint"), ("x", "double"), ("y", "bigint")],
    "reordered": [("y", "bigint"), ("a", "bigint"), ("x", "bigint")],
    "added": [("a", "bigint"), ("x", "bigint"), ("y", "bigint"), ("z", "bigint")],
    "added first": [("z", "bigint"), ("a", "bigint"), ("x", "bigint"), ("y", "bigint")],
    "replaced": [("p", "bigint"), ("q", "bigint")],
    "same": [("a", "bigint"), ("x", "bigint"), ("y", "bigint")],
}
TEXT = (
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)


def of_columns(names: str) -> list[ColumnStatisticsObj]:
    return [ColumnStatisticsObj(name, "bigint", numbers(1, 9).statsData) for name in names]


def names_of(answer: Any) -> Any:
    """Returns the columns of statistics, by owner."""
    held = answer.tableStats if hasattr(answer, "tableStats") else answer.partStats
    if isinstance(held, dict):
        return {part: sorted(one.colName for one in found) for part, found in held.items()}
    return sorted(one.colName for one in held)


def analyzed(hive: Recorder, db: str, name: str, keys: Any, sd: Any) -> None:
    """Creates a table with statistics of three columns, of itself or of a partition."""
    hive.call("create_table", (table(db, name, keys, sd=sd),))
    part = None
    if keys:
        hive.put(f"{db}.db/{name}/ds=1/file")
        own = descriptor(cols=COLUMNS, inputFormat=sd.inputFormat, serdeInfo=sd.serdeInfo)
        hive.call("add_partition", (partition(db, name, ["1"], sd=own, parameters=dict(SENT["marked"])),))
        part = "ds=1"
    new = ColumnStatistics(ColumnStatisticsDesc(part is None, db, name, part), of_columns("axy"))
    method = "update_partition_column_statistics" if keys else "update_table_column_statistics"
    hive.call(method, (new,))


def see_columns(hive: Recorder, label: str, db: str, name: str, keys: Any) -> None:
    every = ["a", "x", "y", "z", "p", "q"]
    see(hive, label, db, name)
    hive.at(label, show=names_of).get_table_statistics_req(TableStatsRequest(db, name, every))
    if keys:
        see_partition(hive, label, db, ["1"], name)
        request = PartitionsStatsRequest(db, name, every, ["ds=1"])
        hive.at(label, show=names_of).get_partitions_statistics_req(request)


@scenario
def accuracy_of_changed_columns(hive: Recorder, db: str) -> None:
    texts = descriptor(cols=COLUMNS, inputFormat=TEXT[0], outputFormat=TEXT[1])
    texts.serdeInfo.serializationLib = TEXT[2]
    formats = {"parquet": descriptor(cols=COLUMNS), "text": texts}
    quiet = {"DO_NOT_UPDATE_STATS": "true"}
    cases = [
        (form, change, label, keys)
        for form in formats
        for change in CHANGES
        for label, keys in (("table", ()), ("restrict", KEYS), ("cascade", KEYS))
    ]
    for form, change, label, keys in cases:
        name = f"{form}_{change}_{label}".replace(" ", "_")
        analyzed(hive, db, name, keys, formats[form])
        context = EnvironmentContext(quiet | ({"CASCADE": "true"} if label == "cascade" else {}))
        altered(hive, db, name, context, cols=columns(*CHANGES[change]))
        see_columns(hive, f"{form}, {change}, {label}", db, name, keys)
    for change in CHANGES:
        for method in ("alter_partition", "alter_partitions"):
            name = f"{method}_{change}".replace(" ", "_")
            analyzed(hive, db, name, KEYS, formats["parquet"])
            changed = stored_partition(hive, db, ["1"], name, cols=columns(*CHANGES[change]))
            new = changed if method == "alter_partition" else [changed]
            hive.call(f"{method}_with_environment_context", (db, name, new, EnvironmentContext(quiet)))
            see_columns(hive, f"{method}, {change}", db, name, KEYS)


@scenario
def accuracy_of_columns_of_renamed_objects(hive: Recorder, db: str) -> None:
    for keys in ((), KEYS):
        label = "partitioned" if keys else "table"
        analyzed(hive, db, label, keys, descriptor(cols=COLUMNS))
        altered(hive, db, label, None, tableName=f"{label}_renamed")
        see_columns(hive, f"renamed, {label}", db, f"{label}_renamed", keys)
    analyzed(hive, db, "r", KEYS, descriptor(cols=COLUMNS))
    changed = stored_partition(hive, db, ["1"], "r")
    changed.values = ["2"]
    hive.call("rename_partition", (db, "r", ["1"], changed))
    see_partition(hive, "partition renamed", db, ["2"], "r")
    request = PartitionsStatsRequest(db, "r", ["a", "x", "y"], ["ds=2"])
    hive.at("partition renamed", show=names_of).get_partitions_statistics_req(request)
    analyzed(hive, db, "source", KEYS, descriptor(cols=COLUMNS))
    hive.call("create_table", (table(db, "target", KEYS, sd=descriptor(cols=COLUMNS)),))
    hive.call("exchange_partition", ({"ds": "1"}, db, "source", db, "target"))
    see_columns(hive, "exchanged", db, "target", KEYS)


@scenario
def accuracy_after_a_merge(hive: Recorder, db: str) -> None:
    """Statistics of some rows, merged after a column was dropped, must not become those of all."""
    analyzed(hive, db, "t", KEYS, descriptor(cols=COLUMNS))
    altered(hive, db, "t", CONTEXTS["quiet"], cols=columns(*CHANGES["last dropped"]))
    one = ColumnStatisticsObj("a", "bigint", numbers(3, 4).statsData)
    new = ColumnStatistics(ColumnStatisticsDesc(False, db, "t", "ds=1"), [one])
    hive.call("set_aggr_stats_for", (SetPartitionsStatsRequest([new], needMerge=True),))
    hive.get_partition_column_statistics(db, "t", "ds=1", "a")
    see_partition(hive, "merged", db, ["1"])
