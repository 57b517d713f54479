"""Imports through Thrift, from another server of ours, and comparisons that find every class of difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text

from metastore.cli.commands import run
from metastore.domain.names import DatabaseName
from metastore.importing.plan import access, make_plan
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.warehouse.roots import Roots
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import Server, connected, running
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext, FieldSchema

KEEP = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})


@pytest.fixture
def first(hive: HiveDatabase, make_database: Callable[[], str], tmp_path: Path) -> Iterator[Server]:
    """A server with everything of the filled source."""
    url = make_database()
    copy(hive.url, url)
    folder = tmp_path / "first"
    folder.mkdir()
    with running(url, folder) as server:
        yield server


@pytest.fixture
def second(first: Server, database_url: str, tmp_path: Path) -> Iterator[Server]:
    """A server that imported from the first one through Thrift."""
    state = copy(first.uri, database_url)
    with opened(database_url) as store, store.transaction() as work:
        work.imports.switch(state.id, work.imports.databases())  # so that clients can change the copy
    folder = tmp_path / "second"
    folder.mkdir()
    with running(database_url, folder) as server:
        yield server


# Statements that damage the database of the second server, and the difference that the comparison must show.
STATEMENTS = [
    ("privileges", "missing on this server", "DELETE FROM privileges WHERE principal = 'bob' AND privilege = 'INSERT'"),
    ("privileges", "createTime", "UPDATE privileges SET create_time = 1 WHERE privilege = 'SELECT'"),
    ("grants of roles", "grantTime", "UPDATE role_grants SET grant_time = 1"),
    ("grants of roles", "missing on this server", "DELETE FROM role_grants"),
    ("roles", "missing on this server", "DELETE FROM roles WHERE name = 'analysts'"),
    ("partition", "missing on this server", "DELETE FROM partitions WHERE name = 'ds=1/hr=7'"),
    ("table", "missing on this server", "DELETE FROM tables WHERE name = 'far'"),
    ("functions", "missing on this server", "DELETE FROM functions"),
    ("statistics", "missing on this server", "DELETE FROM column_statistics WHERE partition_id > 0"),
    ("constraints", "missing on this server", "DELETE FROM table_constraints WHERE name = 'pk'"),
]


def altered(name: str, change: Callable[[Any], object]) -> Callable[[Any], None]:
    """Returns the alteration of a table."""

    def alter(client: Any) -> None:
        table = client.get_table("sales", name)
        change(table)
        client.alter_table_with_environment_context("sales", name, table, KEEP)

    return alter


def altered_partition(change: Callable[[Any], object]) -> Callable[[Any], None]:
    """Returns the alteration of a partition."""

    def alter(client: Any) -> None:
        partition = client.get_partition("sales", "logs", ["1", "9"])
        change(partition)
        client.alter_partition_with_environment_context("sales", "logs", partition, KEEP)

    return alter


def committed(location: str, previous: str) -> dict[str, str]:
    """Returns the parameters that a commit to an Iceberg table changes."""
    return {"metadata_location": location, "previous_metadata_location": previous}


# Changes by a client on the second server.
ALTERATIONS: list[tuple[str, str, Callable[[Any], None]]] = [
    ("table", "parameters.x", altered("plain", lambda table: table.parameters.update(x="other"))),
    ("table", "parameters.numFiles", altered("plain", lambda table: table.parameters.update(numFiles="0"))),
    ("table", "owner", altered("plain", lambda table: setattr(table, "owner", "other"))),
    ("table", "viewOriginalText", altered("v", lambda view: setattr(view, "viewOriginalText", "SELECT 2"))),
    (
        "table",
        "parameters.metadata_location",
        altered("ice", lambda table: table.parameters.update(committed("8", table.parameters["metadata_location"]))),
    ),
    ("table", "cols", altered("spark", lambda table: table.sd.cols.append(FieldSchema("new", "int")))),
    ("table", "serdeParameters.x", altered("spark", lambda table: table.sd.serdeInfo.parameters.update(x="\t"))),
    ("table", "numBuckets", altered("spark", lambda table: setattr(table.sd, "numBuckets", 8))),
    (
        "database",
        "parameters.k",
        lambda client: client.alter_database("sales", Database("sales", parameters={"k": "w"})),
    ),
    ("partition", "location", altered_partition(lambda one: setattr(one.sd, "location", "file:/w/elsewhere"))),
    ("partition", "parameters.new", altered_partition(lambda one: one.parameters.update(new="1"))),
]


def test_a_comparison_finds_every_class_of_difference(first: Server, second: Server) -> None:
    def found() -> set[tuple[str, str]]:
        return {(each.kind, each.field) for each in compare(first.uri, second.uri)}

    assert found() == set()
    with connected(second) as client:
        for _, _, alter in ALTERATIONS:
            alter(client)
    assert {(kind, field) for kind, field, _ in ALTERATIONS} - found() == set()
    engine = create_engine(second.database_url, poolclass=NullPool)
    for statements in (STATEMENTS[:3], STATEMENTS[3:]):  # the second ones delete what the first ones change
        for _, _, statement in statements:
            with engine.begin() as connection:
                assert connection.execute(text(statement)).rowcount > 0
        assert {(kind, field) for kind, field, _ in statements} - found() == set()


def test_the_plan_names_problems_of_an_import(hive: HiveDatabase, first: Server, database_url: str) -> None:
    roots = Roots("file:/nowhere")
    with (
        opened(database_url) as store,
        store.read() as work,
        closing(open_source(hive.url)) as of_database,
        closing(open_source(first.uri)) as of_server,
    ):
        plan = make_plan(of_database, work, roots, Selection())
        through_thrift = make_plan(of_server, work, roots, Selection())
    assert plan.version == "3.1"
    assert plan.survey.counts["partitions"] == 37
    access = {root.partition(":")[0]: text for root, _, text in plan.roots}
    assert access["wasbs"] == "only registered: this server has no library for the scheme"
    assert "METASTORE_ALLOWED_LOCATIONS" in access["file"]
    assert plan.log.startswith("on, at event 42, back to event 40")
    kinds = {finding.kind for finding in plan.survey.findings}
    assert kinds == {
        "orphan",
        "names that differ in case only",
        "creation time 0",
        "name that this server rejects",
        "object that this server's rules reject",
        "skew",
        "transactions",
    }
    assert plan.collisions == []
    assert through_thrift.survey.counts == {"databases": 2, "tables": 8, "partitions": 35}
    assert "locations of partitions" in {finding.kind for finding in through_thrift.survey.findings}
    assert through_thrift.survey.left_out == {"master keys and delegation tokens (use the source's database)": 1}


def test_nul_characters_are_replaced_and_reported(
    first: Server, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers on MySQL and Derby can return them. PostgreSQL cannot store them, so the first server has none."""
    call = ThriftCalls.call

    def with_nul(calls: ThriftCalls, method: str, *arguments: Any) -> Any:
        reply = call(calls, method, *arguments)
        objects = {"get_table_objects_by_name_req": lambda: reply.tables, "get_partitions_by_names": lambda: reply}
        if calls.address == first.uri and method in objects:
            for one in objects[method]():
                locations = one.sd.skewedInfo.skewedColValueLocationMaps if one.sd.skewedInfo else None
                if locations and method == "get_partitions_by_names":  # it has no other text with NUL
                    locations["s\0",] = "file:/w/s\0"
                else:
                    one.parameters["nul\0"] = "a\0b"
        return reply

    monkeypatch.setattr(ThriftCalls, "call", with_nul)
    with closing(open_source(first.uri)) as source:
        plan = make_plan(source, None, Roots("file:/nowhere"), Selection())
    assert "NUL character" in {finding.kind for finding in plan.survey.findings}
    state = copy(first.uri, database_url)
    with opened(database_url) as store, store.read() as work:
        found = [finding.object for finding in work.imports.findings(state.id) if finding.kind == "NUL character"]
    assert set(found) == {"a\u2400b", "nul\u2400", "s\u2400", "file:/w/s\u2400"}
    with running(database_url, tmp_path) as server:
        assert compare(first.uri, server.uri) == []
        with connected(server) as client:
            assert client.get_table("sales", "plain").parameters["nul\u2400"] == "a\u2400b"
            assert client.get_partition("sales", "logs", ["1", "0"]).parameters["nul\u2400"] == "a\u2400b"
            skew = client.get_partition("sales", "logs", ["3", "1"]).sd.skewedInfo
            assert skew.skewedColValueLocationMaps["s\u2400",] == "file:/w/s\u2400"


def test_a_plan_needs_no_database_of_this_server(
    hive: HiveDatabase, make_database: Callable[..., str], data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", "plan", hive.url, "--data-dir", str(data_dir)]) == 0
    assert f"no database in {data_dir}" in capsys.readouterr().err
    assert not data_dir.exists()
    for url, reason in (
        (make_database(empty=True), "has no schema yet"),
        ("postgresql://nobody@127.0.0.1:1/none", "refused"),
    ):
        assert run(["import", "plan", hive.url, "--database-url", url]) == 0
        captured = capsys.readouterr()
        assert "sales" not in captured.err
        assert reason in captured.err
        assert "partitions\t37" in captured.out


def test_the_plan_does_not_advise_to_allow_the_whole_disk(tmp_path: Path) -> None:
    ours = Roots(str(tmp_path))
    assert "METASTORE_ALLOWED_LOCATIONS=" not in access("file://", ours)
    assert access("relative", ours) == "only registered: it is not an absolute location"
    assert "METASTORE_ALLOWED_LOCATIONS with their directory" in access("file://", ours)


def test_the_plan_names_databases_that_exist_here(hive: HiveDatabase, first: Server) -> None:
    with opened(first.database_url) as store:
        with store.transaction() as work:
            work.imports.forget(work.imports.all()[0].id)
        with store.read() as work, closing(open_source(hive.url)) as source:
            plan = make_plan(source, work, Roots("file:/nowhere"), Selection())
    assert DatabaseName("hive", "sales") in plan.collisions
