"""The commands about files with mistyped arguments: one line of output, and no change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import DroppedRequest

NAMES = (
    "",
    " ",
    ".",
    "db.",
    ".t",
    "db..t",
    "db.t.x",
    "no",
    "no.t",
    "db.no",
    "%",
    "*",
    "'; DROP TABLE drops; --",
    "x" * 9999,
)
UNDROPS = (
    *([name] for name in (*NAMES, "db", "db.t@", "db.t@ds", "db.t@ds=9", "db.t@no=2", "db.t@ds=2/hr=1", "@ds=2")),
    *(
        [name]
        for name in ("db@ds=2", "no.t@ds=1", "db.gone@ds=1", "db.gone@", "db.t@ds=2@", "lost.no", "db.\u202egone")
    ),
    *(["db.gone", "--as", name] for name in ("", "t", "a b", "a.b.c", "lost.x", "no.x", "x" * 9999, "../x", "a\nb")),
    ["db.t@ds=2", "--as", "ds=3"],
    ["db.t@ds=2", "--as", "x"],
    ["lost", "--as", "found"],
    ["db.gone", "--number", "0"],
    ["db.gone", "--number", "-1"],
    ["db.gone", "--number", "9223372036854775808"],
    ["db.gone", "--number", "one"],
    ["db.gone", "more"],
    ["lost.t"],
)
CASES = [
    *(["undrop", *arguments] for arguments in UNDROPS),
    ["undrop"],
    *([command, name] for command in ("protect", "unprotect", "history") for name in NAMES),
    *(["check", name] for name in NAMES if name.strip()),
    *(["history", "db.t", "--at", moment] for moment in ("", "now", "2026-13-01", "9" * 99, "0001-01-01")),
    *(["check", "--rows", name] for name in ("", "db", "db.t", "no.t")),
    ["dropped", "db", "more"],
    ["dropped", "db.t.x"],
]


@pytest.fixture(scope="module")
def server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A table, and a dropped table, partition and database."""
    from tests.fixtures.server import running

    with running(make_database(), tmp_path_factory.mktemp("commands")) as one, connected(one) as client:
        for name in ("db", "lost"):
            client.create_database(Database(name))
        client.create_table(table("db", "t", [("ds", "string")]))
        client.add_partitions([partition("db", "t", [day]) for day in "12"])
        client.drop_partition("db", "t", ["2"], True)
        for name in ("db", "lost"):
            client.create_table(table(name, "gone"))
        client.drop_table("db", "gone", True)
        client.drop_database("lost", True, True)
        yield one


def state(server: Server) -> Any:
    with connected(server) as client:
        dropped = client.dropped(DroppedRequest())
        tables = [client.get_table("db", name) for name in client.get_all_tables("db")]
        return client.get_all_databases(), tables, client.get_partitions("db", "t", -1), dropped


@pytest.mark.parametrize("arguments", CASES, ids=lambda given: " ".join(given)[:40].encode("unicode_escape").decode())
def test_one_line_and_nothing_changed(arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    before = state(server)
    assert run([*arguments, "--uri", server.uri]) != 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("metastore: ")
    assert told.err.count("\n") == 1
    assert len(told.err) < 700
    assert "Traceback" not in told.err
    assert state(server) == before


def test_tables_that_were_dropped_before_their_database_are_named(
    metastore_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark's CASCADE drops each table, and then the empty database."""
    with connected(metastore_server) as client:
        client.create_database(Database("one_by_one"))
        for name in ("b", "a"):
            client.create_table(table("one_by_one", name))
            client.drop_table("one_by_one", name, True)
        client.drop_database("one_by_one", True, False)
    assert run(["undrop", "one_by_one", "--uri", metastore_server.uri]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Restored one_by_one. 2 of its tables were dropped before it")
    assert "metastore undrop one_by_one.a " in told
