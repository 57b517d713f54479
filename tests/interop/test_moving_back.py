"""Hive 2.3.10 on PostgreSQL and on MariaDB moves in from its database, is followed, switched and given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from metastore.cli.commands import run
from metastore.domain.names import DatabaseName
from metastore.importing.follower.loop import follow
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.takeover import switch
from metastore.importing.verifier import Difference
from metastore.importing.way_back.returner import Returner
from metastore.settings import safe_url
from tests.fixtures.real_hive import RealHive, why_not
from tests.fixtures.server import Server, connected, running
from tests.interop.following_writers import DATABASES, Writer
from tests.interop.report import Report
from tests.interop.sources import Databases, RealSource
from tests.wire.authorization.granting import bag, on_database
from tests.wire.builders import table
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType, Role

pytestmark = pytest.mark.timeout(1800)
CHANGES = 300
NAMES = [DatabaseName("hive", f"db{number}") for number in range(DATABASES)]
HIVE_SETS = ("createTime", "parameters.transient_lastDdlTime")
"""What Hive sets itself when objects go back (docs/how-to/migrate.md)."""
USER = PrincipalType.USER


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    if reason := why_not():
        pytest.skip(reason)
    with Databases() as databases:
        yield databases


def filled(client: Any) -> None:
    """Makes databases, tables, and roles with members and privileges, in texts of several alphabets."""
    for name in ("untouched", "dropped"):
        client.create_database(Database(name, "Umsätze"))
        client.create_table(table(name, "t", [("ds", "string")], parameters={"comment": "Größe"}))
    for one in NAMES:
        client.create_database(Database(one.name))
    for role in ("empty", "emptied", "gone", "kept"):
        client.create_role(Role(role, 0, "me"))
        if role != "empty":
            client.grant_role(role, "bob", USER, "me", USER, False)
    for user in ("bob", "carol"):
        client.grant_privileges(bag(on_database("untouched"), "SELECT", user))


def revoked(client: Any) -> None:
    client.revoke_role("emptied", "bob", USER)
    client.drop_role("gone")
    client.revoke_privileges(bag(on_database("untouched"), "SELECT", "bob"))
    client.drop_database("dropped", True, True)


def changed(side: RealHive | Server, seed: int) -> int:
    """Makes changes at random, and returns their number."""
    stopped = Event()
    writer = Writer(SimpleNamespace(host=side.host, port=side.port), seed, stopped)
    with connected(side, ThriftHiveMetastore) as client:
        while writer.counts.total() < CHANGES:
            writer._change(client)
    return writer.counts.total()


def given_back(source: RealSource, uri: str) -> list[Difference]:
    """Returns the differences of the databases that went back, except those that the documents list."""
    differences = [
        one for side in (source.database, source.hive.uri) for one in compare(side, uri, Selection(frozenset(NAMES)))
    ]
    return [one for one in differences if one.field not in HIVE_SETS and one.kind != "statistics"]


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_real_server_moves_in_and_back(
    kind: str,
    databases: Databases,
    make_database: Callable[[], str],
    new_report: Callable[[str], Report],
    tmp_path: Path,
) -> None:
    report, url = new_report(f"Hive 2.3.10 on {kind}, moved in and given back"), make_database()
    with databases.source(kind, "2.3", tmp_path) as source, opened(url) as store:
        with connected(source.hive, ThriftHiveMetastore) as client:
            filled(client)
            assert run(["import", "plan", source.database, "--database-url", url, "--warehouse", str(tmp_path)]) == 0
            copy(source.database, url)
            stopped = Event()
            follower = Thread(target=follow, args=(store, source.database, stopped, print))
            follower.start()
            try:
                report.add("changes at the source", str(changed(source.hive, 1)))
                revoked(client)
                switched = switch(store, source.database)
            finally:
                stopped.set()
                follower.join()
        assert set(NAMES) <= set(switched.databases)
        assert not switched.doubts
        assert DatabaseName("hive", "dropped") not in switched.databases
        (folder := tmp_path / "ours").mkdir()
        with running(url, folder) as server:
            for side in (source.database, source.hive.uri):
                assert compare(side, server.uri) == []
                assert run(["import", "verify", side, "--uri", server.uri]) == 0
            with connected(server) as client:
                assert [one.roleName for one in client.list_roles("bob", USER)] == ["kept", "public"]
            report.add("changes here", str(changed(server, 2)))
            with (
                closing(open_source(server.uri)) as ours,
                closing(open_source(source.hive.uri)) as theirs,
                closing(ThriftCalls(source.hive.uri)) as calls,
            ):
                returner = Returner(store, safe_url(source.database), ours, theirs, calls)
                with returner.lock():
                    returner.give_back()
            differences = given_back(source, server.uri)
            report.add("differences", str(len(differences)))
            assert differences == []
