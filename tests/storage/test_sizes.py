"""Measuring tables in batches: sums, history, growth, cells, hostile parameters, visibility."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.console.sizes import SizeOverview
from metastore.domain.names import DatabaseName, TableName
from metastore.services import sizes
from metastore.services.authorization.everyone import Everyone
from metastore.services.sizes import SizeService
from metastore.storage.pages import sizes as repository
from metastore.storage.queries.parameter_figures import SUMMED
from metastore.storage.queries.visibility import EVERYTHING
from tests.fixtures.application import called, counted
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

FIGURES = {"numRows": "10", "totalSize": "2048", "numFiles": "2"}


@pytest.fixture
def service(application: Application, monkeypatch: pytest.MonkeyPatch) -> SizeService:
    """Tables with figures. Measuring them makes no pauses."""
    monkeypatch.setattr(sizes, "_SHARE", 0)
    called(application, "create_database", Database(name="db"))
    for number in range(5):
        called(application, "create_table", table("db", f"t{number}", [("ds", "string")]))
    for name, parameters in (("t1", FIGURES), ("t2", {"numRows": "-1", "totalSize": "9" * 18, "numFiles": "x"})):
        added = [partition("db", name, [value], parameters=parameters) for value in "abc"]
        called(application, "add_partitions", added)
    called(application, "create_table", table("db", "flat", parameters={"numRows": "7", "totalSize": "70"}))
    return SizeService(application._store)


def execute(application: Application, statement: str) -> Any:
    with application._store._engine.connect() as connection:
        result = connection.execute(text(statement))
        return result.all() if result.returns_rows else None


def overview(service: SizeService) -> SizeOverview:
    return SizeOverview(service._store, Everyone(service._store))


def measured(application: Application, service: SizeService) -> dict[str, tuple[Any, ...]]:
    """Runs a whole pass. Returns the figures by table."""
    execute(application, "DELETE FROM metastore_properties WHERE name = 'sizes'")
    while not execute(application, "SELECT FROM metastore_properties WHERE name = 'sizes' AND value LIKE '[0, %'"):
        service.measure()
    rows = execute(
        application,
        "SELECT t.name, partitions, rows, bytes, files, small_files, growth "
        "FROM table_sizes JOIN tables AS t ON t.id = table_id",
    )
    return {row[0]: tuple(row[1:]) for row in rows}


def test_a_pass_measures_every_table(
    application: Application, service: SizeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "_BATCH", 2)
    actual_measured = measured(application, service)
    assert actual_measured == {
        "t0": (0, None, None, None, None, None),
        "t1": (3, 30, 6144, 6, 6, 6144),
        "t2": (3, None, 3 * (10**18 - 1), None, 0, 3 * (10**18 - 1)),
        "t3": (0, None, None, None, None, None),
        "t4": (0, None, None, None, None, None),
        "flat": (0, 7, 70, None, 0, 70),
    }
    assert [state["tables"] for state in overview(service).of_catalog()] == [6]
    service.measure()  # nothing is due for an hour
    assert len(overview(service).of_catalog()) == 1


def test_one_table_with_hostile_numbers_does_not_stop_the_measurement(
    application: Application, service: SizeService
) -> None:
    """Each number is a bigint. Their products and sums are not."""
    hostile = {"numRows": "9" * 18, "totalSize": "9" * 18, "numFiles": "9" * 18}
    added = [partition("db", "t3", [str(value)], parameters=hostile) for value in range(12)]
    called(application, "add_partitions", added)
    assert measured(application, service)["t3"][:-1] == (12, *[9 * 10**18] * 4)


def test_a_database_without_figures_has_no_size(application: Application, service: SizeService) -> None:
    called(application, "create_database", Database(name="unknown"))
    called(application, "create_table", table("unknown", "t"))
    measured(application, service)
    names = [DatabaseName("hive", name) for name in ("db", "unknown")]
    with application._store.read() as work:
        found = {each["database"]: each for each in work.attention.figures(names, EVERYTHING)}
    assert (found["db"]["bytes"], found["db"]["files"]) == (3 * (10**18 - 1) + 6144 + 70, 6)
    assert (found["unknown"]["bytes"], found["unknown"]["files"]) == (None, None)


@pytest.mark.parametrize("gone", ["t0", "t2", "%"])
def test_a_table_that_is_deleted_meanwhile_is_left_out(
    application: Application, service: SizeService, gone: str
) -> None:
    deleted = text("DELETE FROM tables WHERE name LIKE :gone RETURNING id")
    execute(application, "DELETE FROM partitions")
    with application._store._engine.connect().execution_options(isolation_level="READ COMMITTED") as other:
        other.execute(deleted, {"gone": gone})
        service.measure()
        rows = execute(application, "SELECT t.name FROM table_sizes JOIN tables AS t ON t.id = table_id")
        other.rollback()
    every = {"t0", "t1", "t2", "t3", "t4", "flat"}
    assert {row[0] for row in rows} == (every - {gone} if gone != "%" else set())
    assert set(measured(application, service)) == every, "the next pass has it"


def test_growth_is_the_change_of_a_day(application: Application, service: SizeService) -> None:
    measured(application, service)
    execute(application, "UPDATE tables SET create_time = create_time - 3 * 86400")
    assert measured(application, service)["t1"][-1] == 2048, "since its creation"
    execute(application, "UPDATE tables SET create_time = 1")
    assert measured(application, service)["t1"][-1] is None, "nobody knows its size of yesterday"
    execute(application, "UPDATE table_size_history SET day = day - 3, bytes = 144")
    assert measured(application, service)["t1"][-1] == 2000
    history = overview(service).of_table(TableName("hive", "db", "t1"))
    assert [state["bytes"] for state in history] == [144, 6144]
    assert [each["table"] for each in overview(service).top("growth", 2)[0]] == ["t2", "t1"]
    execute(application, "UPDATE table_size_history SET day = day - 100")
    assert measured(application, service)["t1"][-1] == 0


def test_large_tables_have_sums_by_their_keys(
    application: Application, service: SizeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "_BATCH", text(str(repository._BATCH).replace(str(SUMMED), "2")))
    measured(application, service)
    query = "SELECT first, second, partitions, rows FROM partition_sums ORDER BY table_id, first"
    assert execute(application, query) == [
        *((value, "", 1, 10) for value in "abc"),  # of t1
        *((value, "", 1, None) for value in "abc"),  # of t2
    ]
    monkeypatch.setattr(repository, "_SUMS_BY_TWO", text(str(repository._SUMS_BY_TWO).replace("40000", "2")))
    measured(application, service)
    assert [row[:2] for row in execute(application, query)][:3] == [("a", None), ("b", None), ("c", None)]


def test_a_table_that_has_shrunk_has_no_sums(
    application: Application, service: SizeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "_BATCH", text(str(repository._BATCH).replace(str(SUMMED), "2")))
    measured(application, service)
    for name in ("t1", "t2"):
        called(application, "drop_partition", "db", name, ["a"], False)
    measured(application, service)
    assert execute(application, "SELECT first FROM partition_sums") == []


def test_one_batch_is_as_many_statements_for_any_number_of_partitions(
    application: Application, service: SizeService
) -> None:
    called(application, "add_partitions", [partition("db", "t3", [f"{n}"], parameters=FIGURES) for n in range(300)])
    execute(application, "DELETE FROM metastore_properties WHERE name = 'sizes'")
    with counted(application) as statements:
        service.measure()
    assert len(statements) <= 10, statements


def test_dropped_tables_leave_the_lists(application: Application, service: SizeService) -> None:
    measured(application, service)
    called(application, "drop_table", "db", "t1", False)
    assert [each["table"] for each in overview(service).top("files", 5)[0]] == []
