"""Statistics and constraints: the number of SQL statements does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from metastore.app import Application, make_application
from metastore.settings import Settings
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddNotNullConstraintRequest,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Database,
    DropPartitionsRequest,
    LongColumnStatsData,
    PartitionsStatsRequest,
    RequestPartsSpec,
    SetPartitionsStatsRequest,
    SQLNotNullConstraint,
)

NAMES = [f"c{n}" for n in range(40)]


@pytest.fixture
def application(database_url: str, tmp_path: Path) -> Iterator[Application]:
    settings = Settings(warehouse=str(tmp_path / "warehouse"), database_url=database_url)
    application = make_application(settings, database_url)
    yield application
    application.close()


@pytest.fixture
def call(application: Application) -> Callable[..., Any]:
    """Calls a handler by the wire's name; there is a table of forty columns and a hundred partitions."""
    calls = application._dispatcher._calls

    def called(name: str, *arguments: Any) -> Any:
        return calls[name]._function(*arguments)

    called("create_database", Database("db"))
    sd = descriptor(cols=columns(*((name, "int") for name in NAMES)))
    called("create_table", table("db", "t", [("ds", "string")], sd=sd))
    called("add_partitions", [partition("db", "t", [str(n)]) for n in range(100)])
    return called


@contextmanager
def counted(application: Application) -> Iterator[list[str]]:
    """Collects the statements that run inside."""
    statements: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(application._store._engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(application._store._engine, "before_cursor_execute", note)


def statistics(parts: range, names: list[str], *, merge: bool = False) -> SetPartitionsStatsRequest:
    data = ColumnStatisticsData(longStats=LongColumnStatsData(0, 1, 2, 3))
    found = [ColumnStatisticsObj(name, "int", data) for name in names]
    described = [ColumnStatisticsDesc(False, "db", "t", f"ds={n}") for n in parts]
    return SetPartitionsStatsRequest([ColumnStatistics(each, found) for each in described], merge)


def wanted(parts: range, names: list[str]) -> PartitionsStatsRequest:
    return PartitionsStatsRequest("db", "t", names, [f"ds={n}" for n in parts])


def count(application: Application, call: Callable[..., Any], name: str, request: Any) -> int:
    with counted(application) as statements:
        call(name, request)
    return len(statements)


def test_statements_do_not_depend_on_partitions_and_columns(application: Application, call: Callable[..., Any]) -> None:
    def counts(parts: range, names: list[str]) -> list[int]:
        return [
            count(application, call, "set_aggr_stats_for", statistics(parts, names)),
            count(application, call, "set_aggr_stats_for", statistics(parts, names, merge=True)),
            count(application, call, "get_partitions_statistics_req", wanted(parts, names)),
            count(application, call, "get_aggr_stats_for", wanted(parts, names)),
        ]

    call("get_partitions", "db", "t", -1)  # what all of them share is cached from now on
    few, many = counts(range(1), NAMES[:1]), counts(range(1, 100), NAMES)
    assert many == few
    reading = few[2]
    assert reading == 2, "one statement finds the table, one reads"


def test_a_drop_leaves_no_statistics(application: Application, call: Callable[..., Any]) -> None:
    call("set_aggr_stats_for", statistics(range(100), NAMES))

    def left() -> int:
        with application._store._engine.connect() as connection:
            found: int = connection.execute(text("SELECT count(*) FROM column_statistics")).scalar_one()
            return found

    assert left() == 100 * len(NAMES)
    some = RequestPartsSpec(names=[f"ds={n}" for n in range(60)])
    call("drop_partitions_req", DropPartitionsRequest("db", "t", some))
    assert left() == 40 * len(NAMES)
    call("drop_table", "db", "t", True)
    assert left() == 0


def test_statements_do_not_depend_on_constraints(application: Application, call: Callable[..., Any]) -> None:
    def request(names: list[str]) -> AddNotNullConstraintRequest:
        return AddNotNullConstraintRequest([SQLNotNullConstraint("hive", "db", "t", name) for name in names])

    few = count(application, call, "add_not_null_constraint", request(NAMES[:1]))
    assert count(application, call, "add_not_null_constraint", request(NAMES)) == few
