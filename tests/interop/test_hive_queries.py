"""Hive queries dependent tables, which are partitioned views whose text follows their dependencies; list bucketing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server
from tests.interop.hive.dependents import our_client
from tests.interop.hive.list_bucketing import list_bucketing
from tests.interop.hive.queries import VERSIONS, HiveSession, hive_session
from tests.interop.hive.statements import statements
from tests.interop.report import Report
from tests.wire.builders import unique
from tests.wire.dependencies.requests import add_to_dependent, create, depend


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", VERSIONS)
def test_hive(version: str, metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Hive {version}")
    with (
        hive_session(version, metastore_server, tmp_path, report) as hive,
        our_client(metastore_server.uri) as client,
    ):
        database = unique("hive")
        hive.do(f"CREATE DATABASE {database}", f"USE {database}")
        _make_bases(hive, tmp_path)
        _days(hive, client, database)
        _values(hive, client, database, tmp_path)
        list_bucketing(hive, client, database, tmp_path)
        _changes(hive, client, database)
        statements(hive, tmp_path)
    assert report.failures == []


def _make_bases(hive: HiveSession, folder: Path) -> None:
    """t with two hours of day 1 and one of day 2, t2 with a minute of day 11: `k` names hour and minute."""
    for name, keys, places in (
        ("t", ("ds", "hr"), (("1", "1"), ("1", "2"), ("2", "1"))),
        ("t2", ("ds", "hr", "min"), (("11", "1", "1"),)),
    ):
        columns = ", ".join(f"{key} STRING" for key in keys)
        hive.do(f"CREATE TABLE {name} (k STRING) PARTITIONED BY ({columns})")
        for location in places:
            _load(hive, folder, name, dict(zip(keys, location, strict=True)), "-".join(location))


def _load(hive: HiveSession, folder: Path, table: str, partition: dict[str, str], row: str) -> None:
    file = folder / "row"
    file.write_text(f"{row}\n")
    spec = ", ".join(f"{key}='{value}'" for key, value in partition.items())
    hive.do(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table} PARTITION ({spec})")


def _days(hive: HiveSession, client: Any, database: str) -> None:
    create(client, database, "tdep", "t")
    create(client, database, "second", "tdep")
    hive.ask("SHOW PARTITIONS tdep")
    hive.ask("SELECT * FROM tdep")
    hive.do("ALTER VIEW tdep ADD PARTITION (ds='1')")
    hive.ask("SHOW PARTITIONS tdep", "ds=1")
    hive.ask("SELECT * FROM tdep", "1-1\t1", "1-2\t1")
    hive.ask("SELECT count(1) FROM tdep WHERE ds = '1'", "2")
    depend(client, database, "tdep", "t2")
    add_to_dependent(client, database, "tdep", ["11"])
    add_to_dependent(client, database, "second", ["11"])
    hive.ask("SELECT * FROM tdep", "1-1\t1", "1-2\t1", "11-1-1\t11")
    hive.ask("SELECT k FROM tdep WHERE ds = '1' OR ds = '11'", "1-1", "1-2", "11-1-1")
    hive.ask("SELECT k FROM second", "11-1-1")
    with hive.report.attempt("queries", "EXPLAIN DEPENDENCY names the view and the base partitions"):
        (said,) = hive.run("EXPLAIN DEPENDENCY SELECT * FROM tdep WHERE ds = '11'")
        inputs = json.loads(said)
        assert {each["tablename"] for each in inputs["input_tables"]} >= {f"{database}@tdep", f"{database}@t2"}
        assert f"{database}@t2@ds=11/hr=1/min=1" in {each["partitionName"] for each in inputs["input_partitions"]}


def _values(hive: HiveSession, client: Any, database: str, folder: Path) -> None:
    """Other types, odd texts, and null."""
    hive.do("CREATE TABLE odd (k STRING) PARTITIONED BY (d DATE, n INT, s STRING)")
    rows = {
        "quote": {"d": "2024-01-31", "n": "-5", "s": "it\\'s"},
        "backslash": {"d": "2024-02-01", "n": "1", "s": "a\\\\b"},
        "default": {"d": "2024-02-01", "n": "1", "s": "__HIVE_DEFAULT_PARTITION__"},
    }
    for row, partition in rows.items():
        _load(hive, folder, "odd", partition, row)
    create(client, database, "odd_dep", "odd", "d", "n", "s")
    for name in client.get_partition_names(database, "odd", -1):
        add_to_dependent(client, database, "odd_dep", client.get_partition_by_name(database, "odd", name).values)
    hive.ask("SELECT k FROM odd_dep", *rows)
    hive.ask("SELECT k FROM odd_dep WHERE d = DATE '2024-01-31'", "quote")


def _changes(hive: HiveSession, client: Any, database: str) -> None:
    hive.do("ALTER TABLE t DROP PARTITION (ds='1', hr>'1')")
    hive.ask("SELECT k FROM tdep", "1-1", "11-1-1")
    hive.do("ALTER TABLE t2 RENAME TO t3")
    hive.ask("SELECT k FROM tdep", "1-1", "11-1-1")
    hive.refuse("DROP TABLE t3", "tdep depends on it")
    depend(client, database, "tdep", "t3", ["1"])
    hive.do("ALTER TABLE t3 ADD COLUMNS (extra INT)")
    hive.ask("SELECT * FROM tdep", "11-1-1\tNULL\t11")
    hive.do(f"DROP DATABASE {database} CASCADE")
