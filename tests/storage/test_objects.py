"""Statistics and constraints: the number of SQL statements does not depend on the number of objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from tests.fixtures.application import called, counted
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddNotNullConstraintRequest,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Database,
    DropPartitionsRequest,
    EnvironmentContext,
    LongColumnStatsData,
    PartitionsStatsRequest,
    RequestPartsSpec,
    SetPartitionsStatsRequest,
    SQLNotNullConstraint,
)

NAMES = [f"c{n}" for n in range(40)]


@pytest.fixture
def call(application: Application) -> Callable[..., Any]:
    """Returns a function that calls handlers; creates a table of forty columns and a hundred partitions."""
    call = partial(called, application)
    call("create_database", Database("db"))
    sd = descriptor(cols=columns(*((name, "int") for name in NAMES)))
    call("create_table", table("db", "t", [("ds", "string")], sd=sd))
    call("add_partitions", [partition("db", "t", [str(n)]) for n in range(100)])
    return call


def statistics(parts: range, names: list[str], *, merge: bool = False) -> SetPartitionsStatsRequest:
    data = ColumnStatisticsData(longStats=LongColumnStatsData(0, 1, 2, 3))
    actual = [ColumnStatisticsObj(name, "int", data) for name in names]
    described = [ColumnStatisticsDesc(False, "db", "t", f"ds={n}") for n in parts]
    return SetPartitionsStatsRequest([ColumnStatistics(desc, actual) for desc in described], merge)


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

    call("get_partitions", "db", "t", -1)  # caches what all partitions share
    few, many = counts(range(1), NAMES[:1]), counts(range(1, 100), NAMES)
    assert many == few
    reading = few[2]
    assert reading == 2, "one statement finds the table, one reads"


def test_a_drop_leaves_no_statistics(application: Application, call: Callable[..., Any]) -> None:
    call("set_aggr_stats_for", statistics(range(100), NAMES))

    def left() -> int:
        with application._store._engine.connect() as connection:
            actual: int = connection.execute(text("SELECT count(*) FROM column_statistics")).scalar_one()
            return actual

    assert left() == 100 * len(NAMES)
    some = RequestPartsSpec(names=[f"ds={n}" for n in range(60)])
    call("drop_partitions_req", DropPartitionsRequest("db", "t", some))
    assert left() == 40 * len(NAMES)
    purge = EnvironmentContext({"ifPurge": "true"})  # otherwise the drop keeps it for undrop
    call("drop_table_with_environment_context", "db", "t", True, purge)
    assert left() == 0


def test_statements_do_not_depend_on_constraints(application: Application, call: Callable[..., Any]) -> None:
    def request(names: list[str]) -> AddNotNullConstraintRequest:
        return AddNotNullConstraintRequest([SQLNotNullConstraint("hive", "db", "t", name) for name in names])

    few = count(application, call, "add_not_null_constraint", request(NAMES[:1]))
    assert count(application, call, "add_not_null_constraint", request(NAMES)) == few
