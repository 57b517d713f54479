"""The number of SQL statements does not depend on the number of partitions, and redundant data agrees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.encoding.binary import decode
from metastore.errors import InvalidInputError, NotFoundError
from tests.fixtures.application import called, counted
from tests.wire.builders import columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    EnvironmentContext,
    Partition,
    Table,
)
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition, PublishRequest, ScanRequest, SkewedLocation

KEYS = [("ds", "string"), ("n", "int")]


@pytest.fixture
def call(application: Application) -> Callable[..., Any]:
    """Returns a function that calls a handler by the name of its wire method."""
    application.services.databases.create("hive", Database(name="db"))
    return partial(called, application)


def some(name: str, numbers: range) -> list[Partition]:
    """Partitions with skew and locations, so that every database table gets rows."""
    made = []
    for number in numbers:
        sd = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
        sd.skewedInfo.skewedColValueLocationMaps = {("1",): f"file:/w/{number}/a=1"}
        made.append(partition("db", name, ["x", str(number)], sd=sd, parameters={"n": str(number)}))
    return made


def steps(call: Callable[..., Any], name: str, size: int) -> dict[str, Callable[[], Any]]:
    """Yields the calls to count, in an order in which each has the objects that it needs."""
    names = [f"ds=x/n={number}" for number in range(size)]
    entries = [
        PublishPartition(
            ["x", str(number)],
            PublishMode.OVERWRITE if number % 2 else PublishMode.APPEND,
            f"file:/w/{name}/{number}",
            [SkewedLocation(["1"], f"file:/w/{name}/{number}/a=1")],
        )
        for number in range(size, 2 * size)
    ]

    def cascade() -> None:
        wider = call("get_table", "db", name).decode()
        wider.sd.cols.append(columns(("new", "int"))[0])
        call("alter_table_with_environment_context", "db", name, wider, EnvironmentContext({"CASCADE": "true"}))

    return {
        "create_table": lambda: call("create_table", table("db", name, KEYS)),
        "add_partitions": lambda: call("add_partitions", some(name, range(size))),
        "get_partitions": lambda: call("get_partitions", "db", name, -1),
        "get_partition_names": lambda: call("get_partition_names", "db", name, -1),
        "get_partitions_by_names": lambda: call("get_partitions_by_names", "db", name, names),
        "get_partitions_by_filter": lambda: call("get_partitions_by_filter", "db", name, "n >= 0", -1),
        "alter_partitions": lambda: call("alter_partitions", "db", name, some(name, range(size))),
        "plan_scan": lambda: call("plan_scan", ScanRequest("db", name)),
        "publish": lambda: call("publish", PublishRequest("db", name, "q", entries)),
        "cascade": cascade,
        "drop": lambda: call("drop_table", "db", name, True),
    }


def test_statements_are_constant(application: Application, call: Callable[..., Any]) -> None:
    counts: dict[int, dict[str, int]] = {}
    for size in (3, 4, 40):  # the first run stores the descriptors that all share
        counts[size] = {}
        for step, run in steps(call, f"t{size}", size).items():
            with counted(application) as statements:
                run()
            counts[size][step] = len(statements)
    assert counts[4] == counts[40]
    assert max(counts[3].values()) <= 30


def test_columns_and_encoded_bytes_agree(application: Application, call: Callable[..., Any]) -> None:
    for run in list(steps(call, "t", 7).values())[:-1]:
        run()
    call("rename_partition", "db", "t", ["x", "1"], partition("db", "t", ["y", "99"]))
    renamed = call("get_table", "db", "t").decode()
    renamed.tableName = "u"
    call("alter_table", "db", "t", renamed)
    with application._store._engine.connect() as connection:
        rows = connection.execute(
            text('SELECT id, "values", location, parameters, create_time, encoded FROM partitions')
        )
        places = connection.execute(text("SELECT partition_id, value, location FROM skewed_locations")).all()
        actual = rows.all()
        stored = connection.execute(text("SELECT name, location, parameters, encoded FROM tables")).one()
    assert len(actual) == 14
    for row in actual:
        bytes_say = decode(Partition, bytes(row.encoded) + b"\0\0\0")
        assert (bytes_say.values, bytes_say.sd.location) == (row.values, row.location)
        assert (bytes_say.parameters, bytes_say.createTime) == (row.parameters, row.create_time)
        assert bytes_say.sd.skewedInfo.skewedColValueLocationMaps == {
            tuple(path.value): path.location for path in places if path.partition_id == row.id
        }
    bytes_say = decode(Table, bytes(stored.encoded) + b"\0\0\0")
    assert (bytes_say.tableName, bytes_say.sd.location) == (stored.name, stored.location)
    assert bytes_say.parameters == stored.parameters
    assert stored.name == "u"


def test_partitions_of_one_shape_share_it(application: Application, call: Callable[..., Any]) -> None:
    call("create_table", table("db", "t", KEYS))
    call("add_partitions", some("t", range(50)))
    with application._store._engine.connect() as connection:
        shapes = connection.execute(text("SELECT DISTINCT descriptor_id FROM partitions")).all()
        lists = connection.execute(text("SELECT count(*) FROM column_lists")).scalar_one()
    assert len(shapes) == 1
    assert lists == 1


def test_an_administrator_reads_skew_with_sql(application: Application, call: Callable[..., Any]) -> None:
    call("create_table", table("db", "t", KEYS))
    call("add_partitions", some("t", range(2)))
    query = text("""
        SELECT t.name, p.name, s.column_names, v.value, l.location
        FROM partitions p
        JOIN tables t ON t.id = p.table_id
        JOIN storage_descriptors d ON d.id = p.descriptor_id
        JOIN skew_specifications s ON s.id = d.skew_id
        JOIN skew_values v ON v.skew_id = s.id
        LEFT JOIN skewed_locations l ON l.partition_id = p.id AND l.value = v.value
        ORDER BY p.name
    """)
    with application._store._engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    assert rows == [("t", f"ds=x/n={number}", ["a"], ["1"], f"file:/w/{number}/a=1") for number in range(2)]


def test_a_repeated_filter_is_one_statement_until_the_table_changes(
    application: Application, call: Callable[..., Any]
) -> None:
    read = partial(call, "get_partitions_by_filter", "db")
    call("create_table", table("db", "filtered", [("ds", "string")]))
    call("add_partitions", [partition("db", "filtered", ["1"]), partition("db", "filtered", ["02"])])
    assert len(read("filtered", "ds = '1'", -1)) == 1
    with counted(application) as statements:
        assert len(read("filtered", "ds = '1'", -1)) == 1
    assert len(statements) == 1
    with counted(application) as statements:
        assert len(read("filtered", "ds = '3'", -1)) == 0
    assert len(statements) == 2, "nothing matches, or the table has changed"

    # Each change is made after the table was read: the name, the partition columns, and the table itself.
    assert len(read("filtered", "ds > '1'", -1)) == 0
    changed = call("get_table", "db", "filtered").decode()
    changed.partitionKeys[0].type = "int"
    call("alter_table", "db", "filtered", changed)
    assert len(read("filtered", "ds > 1", -1)) == 1
    changed.tableName = "renamed"
    call("alter_table", "db", "filtered", changed)
    with pytest.raises(NotFoundError):
        read("filtered", "ds > 1", -1)
    call("create_table", table("db", "filtered", [("n", "int")]))
    call("add_partitions", [partition("db", "filtered", ["7"])])
    assert len(read("filtered", "n = 7", -1)) == 1
    assert len(read("renamed", "ds > 1", -1)) == 1
    with pytest.raises(InvalidInputError):
        read("filtered", "ds = '1'", -1)
    call("drop_table", "db", "filtered", False)
    with pytest.raises(NotFoundError):
        read("filtered", "n = 7", -1)
