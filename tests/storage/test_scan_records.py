"""The record of scans: sums, bounds, several workers, tables that are renamed and dropped, retention."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.context import Caller, caller
from metastore.domain.client_kinds import OURS
from metastore.domain.names import TableName
from metastore.errors import InvalidOperationError, MetastoreError, UnavailableError
from metastore.services import scan_recording
from metastore.services.scan_recording import ScanRecorder
from metastore.storage.repositories.scan_records import MOST_ROWS, ScanEntry
from tests.fixtures.application import called, counted
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext
from thrift_idl.gen.metastore.ttypes import (
    PredicateNode,
    PredicateOperator,
    ScanRecord,
    ScanRecordsRequest,
    ScanRequest,
)

FIGURES = {"numRows": "10", "totalSize": "1000", "numFiles": "2"}


@pytest.fixture
def filled(application: Application) -> Application:
    called(application, "create_database", Database(name="db"))
    called(application, "create_table", table("db", "t", [("ds", "string")]))
    called(application, "add_partitions", [partition("db", "t", [value], parameters=FIGURES) for value in "abcd"])
    called(application, "create_table", table("db", "flat", parameters=FIGURES))
    return application


def equal(column: str, value: str) -> PredicateNode:
    return PredicateNode(PredicateOperator.EQUAL, column, [value])


def scan(application: Application, name: str, *nodes: PredicateNode, **fields: Any) -> None:
    called(application, "plan_scan", ScanRequest("db", name, list(nodes), **fields))


def flushed(application: Application, name: str = "t") -> list[ScanRecord]:
    application.services.scan_recorder.flush()
    return list(called(application, "get_scans", ScanRecordsRequest("db", name)).records)


def execute(application: Application, statement: str) -> Any:
    with application._store._engine.begin() as connection:
        result = connection.execute(text(statement))
        return result.all() if result.returns_rows else None


def test_scans_with_the_same_filters_are_summed(filled: Application) -> None:
    execute(filled, "INSERT INTO table_sizes SELECT id, now(), 4, 40, 4000, 8, 0 FROM tables WHERE name = 't'")
    both = PredicateNode(PredicateOperator.AND, operands=2)
    for value in "ab":
        scan(filled, "t", equal("ds", value), equal("a", "7"), both)
    (record,) = flushed(filled)
    assert [(one.column, one.op, one.valueCount, one.values) for one in record.filters] == [
        ("a", "=", 1, []),
        ("ds", "=", 1, []),
    ]
    assert (record.kind, record.scans, record.keptPartitions, record.partitions) == ("scan", 2, 2, 8)
    assert (record.sized, record.keptFiles, record.keptBytes, record.files, record.bytes) == (2, 4, 2000, 16, 8000)
    scan(filled, "t", equal("ds", "a"), equal("a", "8"), both)
    (record,) = flushed(filled)
    assert (record.scans, record.keptBytes, record.partitions) == (3, 3000, 12)
    since = called(filled, "get_scans", ScanRecordsRequest("db", "t")).since
    assert since == record.day


def test_sizes_of_many_partitions_are_extrapolated(filled: Application) -> None:
    added = [partition("db", "t", [f"{number}"], parameters=FIGURES) for number in range(100)]
    called(filled, "add_partitions", added)
    scan(filled, "t")
    (record,) = flushed(filled)
    assert (record.keptPartitions, record.keptFiles, record.keptBytes) == (104, 208, 104_000)
    assert record.partitions is None, "the table is not measured yet"


def test_a_table_without_partitions_and_unknown_sizes(filled: Application) -> None:
    scan(filled, "flat", equal("a", "1"))
    (record,) = flushed(filled, "flat")
    assert (record.keptPartitions, record.sized, record.keptFiles, record.keptBytes) == (0, 1, 2, 1000)
    called(filled, "create_table", table("db", "odd", parameters={"numFiles": "9" * 30, "totalSize": "x"}))
    scan(filled, "odd")
    (record,) = flushed(filled, "odd")
    assert (record.scans, record.sized, record.keptBytes) == (1, 0, 0)


def test_checks_and_writes_are_not_recorded(filled: Application) -> None:
    scan(filled, "t", PredicateNode(PredicateOperator.FALSE))
    scan(filled, "t", unrecorded=True)
    assert flushed(filled) == []


def test_columns_that_the_table_lacks_are_left_out(filled: Application) -> None:
    scan(filled, "t", equal("forged", "1"))
    (record,) = flushed(filled)
    assert record.filters == []


def test_many_scans_are_sampled_and_add_up(filled: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter([*range(16)] * 2)
    monkeypatch.setattr(scan_recording, "getrandbits", lambda _: next(draws))
    for _ in range(scan_recording._WHOLE + 32):
        scan(filled, "t", equal("ds", "a"))
    (record,) = flushed(filled)
    assert record.scans == scan_recording._WHOLE + 32


def test_shapes_are_bounded_and_counted(filled: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_recording, "_WHOLE", 10**6)
    monkeypatch.setattr(scan_recording, "_MOST_SHAPES", 4)  # in an interval
    for number in range(1, 8):
        values = [str(value) for value in range(number)]
        scan(filled, "t", PredicateNode(PredicateOperator.IN, "a", values))
    records = flushed(filled)
    assert sum(record.scans for record in records) == 7
    assert len([record for record in records if record.kind == "scan"]) == 4
    assert [record.scans for record in records if record.kind == "other"] == [3]


def test_values_are_recorded_only_if_allowed_and_are_given_up_first(
    filled: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = filled.services.scan_recorder
    monkeypatch.setattr(recorder, "_literals", True)
    monkeypatch.setattr(scan_recording, "_MOST_SHAPES", 2)
    monkeypatch.setattr(scan_recording, "_WHOLE", 10**6)
    for value in ("x", "y", "z", "z"):
        scan(filled, "t", equal("a", value))
    found = {tuple(record.filters[0].values): record.scans for record in flushed(filled)}
    assert found == {("x",): 1, ("y",): 1, (): 2}


def test_rows_of_a_day_are_bounded(filled: Application) -> None:
    (number,) = execute(filled, "SELECT id FROM tables WHERE name = 't'")[0]
    entries = [ScanEntry(number, None, "[]", f'[["c{n}","=",1]]', f"u{n}", 1, 1, 1, 1, 1, 1, 1) for n in range(700)]
    for _ in range(2):
        with filled._store.transaction(audited=False) as work:
            work.scan_records.add(entries)
    rows = execute(filled, "SELECT count(*), sum(scans) FROM scan_records")
    assert rows[0][0] <= 2 * MOST_ROWS + 1
    assert rows[0][1] == 1400


@pytest.fixture
def two_workers(filled: Application) -> list[ScanRecorder]:
    return [ScanRecorder(filled._store, 86_400.0) for _ in range(2)]


def test_workers_add_up_without_deadlocks(filled: Application, two_workers: list[ScanRecorder]) -> None:
    for number in range(40):
        called(filled, "create_table", table("db", f"t{number}"))
    names = [TableName("hive", "db", f"t{number}") for number in range(40)]
    errors: list[MetastoreError] = []

    def flush(recorder: ScanRecorder, order: list[TableName]) -> None:
        try:
            for _ in range(20):
                for name in order:
                    recorder.opened(name)
                recorder.flush()
        except MetastoreError as error:
            errors.append(error)

    threads = [
        threading.Thread(target=flush, args=(recorder, order))
        for recorder, order in zip(two_workers, (names, names[::-1]), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    counts = execute(filled, "SELECT DISTINCT scans FROM scan_records")
    assert counts == [(40,)]


def test_one_statement_flushes_and_a_failed_flush_loses_figures_only(
    filled: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = filled.services.scan_recorder
    scan(filled, "t")
    recorder.flush()  # the first one also deletes old days
    scan(filled, "t", equal("ds", "a"))
    with counted(filled) as statements:
        recorder.flush()
    assert [one for one in statements if "scan_records" in one] == [one for one in statements if "INSERT" in one]
    assert len([one for one in statements if "INSERT" in one]) == 1

    def fail(**_: Any) -> None:
        raise UnavailableError("no database")

    scan(filled, "t", equal("ds", "b"))
    with monkeypatch.context() as patched:
        patched.setattr(filled._store, "transaction", fail)
        with pytest.raises(UnavailableError, match="the last scans are not recorded: no database"):
            recorder.flush()
    assert sum(record.scans for record in flushed(filled)) == 2


def test_a_renamed_table_keeps_its_record_and_a_dropped_one_loses_it(filled: Application) -> None:
    scan(filled, "t")
    before = flushed(filled)
    renamed = called(filled, "get_table", "db", "t")
    renamed = renamed.decode() if hasattr(renamed, "decode") else renamed
    renamed.tableName = "u"
    called(filled, "alter_table", "db", "t", renamed)
    assert [one.scans for one in flushed(filled, "u") if one.kind == "scan"] == [one.scans for one in before]
    purge = EnvironmentContext({"ifPurge": "TRUE"})
    called(filled, "drop_table_with_environment_context", "db", "u", True, purge)
    called(filled, "create_table", table("db", "u", [("ds", "string")]))
    assert flushed(filled, "u") == []
    scan(filled, "u")
    called(filled, "drop_table_with_environment_context", "db", "u", True, purge)
    filled.services.scan_recorder.flush()  # a table that is dropped in between
    filled.services.undrop.purge()
    assert execute(filled, "SELECT count(*) FROM scan_records") == [(0,)]


def test_old_days_are_deleted_and_a_gap_ends_the_record(filled: Application) -> None:
    scan(filled, "t")
    flushed(filled)
    execute(filled, "UPDATE scan_records SET day = day - 100")
    today = "(now() AT TIME ZONE 'UTC')::date"
    execute(filled, f"INSERT INTO scan_recording_days SELECT {today} - n FROM unnest(ARRAY[1, 2, 4, 100]) AS n")
    since = called(filled, "get_scans", ScanRecordsRequest("db", "t")).since
    assert execute(filled, f"SELECT ({today} - 2)::text") == [(since,)]
    with filled._store.transaction(audited=False) as work:
        work.scan_records.delete_older(90)
    assert execute(filled, "SELECT (SELECT count(*) FROM scan_records), count(*) FROM scan_recording_days") == [(0, 4)]


def test_users_are_told_apart(filled: Application) -> None:
    for user in ("ada", "ada", "b\0o\udc80b" + "x" * 200, None):
        token = caller.set(Caller("peer", user=user))
        try:
            scan(filled, "t")
        finally:
            caller.reset(token)
    assert {record.user: record.scans for record in flushed(filled)} == {"ada": 2, "bo?b" + "x" * 124: 1, "": 1}


def test_a_view_has_no_scans(filled: Application) -> None:
    called(filled, "create_table", table("db", "v", tableType="VIRTUAL_VIEW", viewExpandedText="SELECT 1"))
    with pytest.raises(InvalidOperationError, match=r"db\.v is a view: scans are recorded for the tables"):
        called(filled, "get_scans", ScanRecordsRequest("db", "v"))


def test_clients_that_plan_no_scans_are_recorded_as_opening_a_table(filled: Application) -> None:
    for client in ("java", "java", OURS):
        token = caller.set(Caller("peer", user="ada", client=client))
        try:
            called(filled, "get_table", "db", "t")
        finally:
            caller.reset(token)
    (record,) = flushed(filled)
    assert (record.kind, record.user, record.scans, record.filters) == ("opened", "ada", 2, [])
