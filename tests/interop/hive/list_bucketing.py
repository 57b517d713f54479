"""List bucketing by Hive itself: it creates, fills, changes and reads such tables, and reads those of our library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients import list_bucketed
from tests.interop.hive.queries import HiveSession
from thrift_idl.gen.metastore.ttypes import PredicateNode, PredicateOperator, ScanRequest

# docs/explanation/list-bucketing.md names these settings.
SETTINGS = {
    "hive.mapred.supports.subdirectories": "true",
    "mapreduce.input.fileinputformat.input.dir.recursive": "true",
}


def list_bucketing(hive: HiveSession, client: Any, database: str, folder: Path) -> None:
    """Runs in the session's database."""
    for key, value in SETTINGS.items():
        hive.set(key, value)
    _fill(hive, folder)
    _check(hive, client, database)
    _change(hive, client, database)
    _read_ours(hive, client, database, folder / "ours")


def _fill(hive: HiveSession, folder: Path) -> None:
    rows = folder / "rows"
    rows.write_text("1\ta\n1\tb\n2\tc\n7\td\n")
    hive.do(
        "CREATE TABLE lb_source (x INT, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\\t'",
        f"LOAD DATA LOCAL INPATH '{rows}' INTO TABLE lb_source",
        "CREATE TABLE lb (x INT, s STRING) PARTITIONED BY (ds STRING) "
        "SKEWED BY (x) ON (1, 02, 3) STORED AS DIRECTORIES",
        "INSERT OVERWRITE TABLE lb PARTITION (ds = '1') SELECT * FROM lb_source",
    )


def _check(hive: HiveSession, client: Any, database: str) -> None:
    hive.ask("SELECT * FROM lb", "1\ta\t1", "1\tb\t1", "2\tc\t1", "7\td\t1")
    hive.ask("SELECT s FROM lb WHERE x = 1 AND ds = '1'", "a", "b")
    with hive.report.attempt("list bucketing", "skewed values and their locations"):
        assert client.get_table(database, "lb").sd.skewedInfo.skewedColValues == [["1"], ["2"], ["3"]]
        partition = client.get_partition(database, "lb", ["1"])
        path = partition.sd.location
        places = {(value,): f"{path}/x={value}" for value in ("1", "2")}
        assert partition.sd.skewedInfo.skewedColValueLocationMaps == places
        assert partition.sd.storedAsSubDirectories
    with hive.report.attempt("list bucketing", "a scan of one value is one directory"):
        one = PredicateNode(PredicateOperator.EQUAL, "x", ["1"])
        (scanned,) = client.plan_scan(ScanRequest(database, "lb", [one])).partitions
        assert [directory.location for directory in scanned.directories] == [f"{path}/x=1"]


def _change(hive: HiveSession, client: Any, database: str) -> None:
    def skew(table: str = "lb") -> tuple[list[str], list[list[str]], bool]:
        sd = client.get_table(database, table).sd
        return sd.skewedInfo.skewedColNames, sd.skewedInfo.skewedColValues, sd.storedAsSubDirectories

    hive.refuse("ALTER TABLE lb CHANGE COLUMN x y INT", "x is a skewed column")
    hive.refuse(
        "CREATE TABLE both_ways (x INT) CLUSTERED BY (x) INTO 2 BUCKETS SKEWED BY (x) ON (1) STORED AS DIRECTORIES",
        "both_ways (skewed by x) is CLUSTERED BY x",
    )
    hive.do("CREATE TABLE lb_like LIKE lb")
    for statement, expected in (
        ("ALTER TABLE lb NOT STORED AS DIRECTORIES", (["x"], [["1"], ["2"], ["3"]], False)),
        (
            "ALTER TABLE lb SKEWED BY (s, x) ON (('a', 01), ('b', 2)) STORED AS DIRECTORIES",
            (["s", "x"], [["a", "1"], ["b", "2"]], True),
        ),
    ):
        hive.do(statement)
        with hive.report.attempt("list bucketing", f"what is kept after {statement}"):
            assert skew() == expected
    if hive.version < "4":
        # For the metastore it looks like any statement of Spark, which must not make a table lose its skew.
        hive.report.left_out.append("ALTER TABLE … NOT SKEWED: Hive 2.3 does not say that this is meant")
    else:
        hive.do("ALTER TABLE lb NOT SKEWED")
        with hive.report.attempt("list bucketing", "nothing is skewed after NOT SKEWED"):
            assert skew() == ([], [], False)
    hive.do("ALTER TABLE lb PARTITION (ds = '1') SET SKEWED LOCATION (2 = 'file:/tmp/of_two')")
    with hive.report.attempt("list bucketing", "the partition keeps its skew, with the location that was set"):
        kept = client.get_partition(database, "lb", ["1"]).sd.skewedInfo
        assert kept.skewedColValues == [["1"], ["2"], ["3"]]
        assert kept.skewedColValueLocationMaps["2",] == "file:/tmp/of_two"
        assert skew("lb_like") == (["x"], [["1"], ["2"], ["3"]], True)


def _read_ours(hive: HiveSession, client: Any, database: str, folder: Path) -> None:
    list_bucketed.create(client, database, folder)
    everything = ["\t".join(map(str, row)) for row in list_bucketed.ALL]
    for name in [f"{layout}_{form}" for layout in ("directories", "flat") for form in list_bucketed.FORMATS]:
        hive.ask(f"SELECT * FROM {name}", *everything)
        hive.ask(f"SELECT count(*) FROM {name} WHERE x = 1", "3")
