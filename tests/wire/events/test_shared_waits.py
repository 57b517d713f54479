"""Waits of Airflow's triggerer on a real server: one stream, the rights of its user, dependencies and freshness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from metastore.airflow.link import Link, until
from metastore.airflow.settings import Settings
from metastore.airflow.waits import Wait
from metastore.client import Credentials
from metastore.client.errors import AuthenticationError
from metastore.errors import InvalidInputError
from tests.wire.builders import new_database, new_table, partition, table
from tests.wire.console.conftest import ADMIN, LOW, PASSWORDS, Console
from tests.wire.dependencies.requests import add_to_dependent, create, depend
from tests.wire.events.conftest import PATIENCE
from thrift_idl.gen.hive_metastore.ttypes import (
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

KEYS = [("ds", "string")]


def link_to(server: Console, user: str | None = None, password: str | None = None) -> Link:
    credentials = Credentials(user=user, password=password or PASSWORDS[user]) if user else Credentials()
    return Link(Settings(server.server.uri, server.url, None, credentials))


def run(make: Callable[[], Link], test: Callable[[Link], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        link = make()
        try:
            await asyncio.wait_for(test(link), PATIENCE)
        finally:
            link.close()

    asyncio.run(bounded())


async def begun(link: Link) -> None:
    """Waits until the stream has its place in the log."""
    while not (link.hub and link.hub.position):
        await asyncio.sleep(0.01)


def start(link: Link, *waits: Wait) -> asyncio.Task[None]:
    return asyncio.ensure_future(until(link, waits, PATIENCE))


def test_one_stream_tells_all_waits(console: Console) -> None:
    async def test(link: Link) -> None:
        with console.client() as client:
            database, name = new_table(client, KEYS)
            waits = [start(link, Wait.of(f"{database}.{name}", f"ds={day}")) for day in range(20)]
            later = start(link, Wait.of(f"{database}.later", filter="ds >= '5'"))
            await begun(link)
            client.add_partitions([partition(database, name, [str(day)]) for day in range(20)])
            await asyncio.gather(*waits)
            client.create_table(table(database, "later", KEYS))
            client.add_partition(partition(database, "later", ["4"]))
            client.add_partition(partition(database, "later", ["6"]))
            await later
            assert link.hub
            assert link.hub.connections == 1

    run(lambda: link_to(console), test)


def test_without_a_stream_the_catalog_is_polled(console: Console) -> None:
    async def test(link: Link) -> None:
        with console.client() as client:
            database, name = new_table(client, KEYS)
            waiting = asyncio.ensure_future(until(link, [Wait.of(f"{database}.{name}", "ds=1")], 0.01))
            client.add_partition(partition(database, name, ["1"]))
            await waiting

    run(lambda: Link(Settings(console.server.uri, None, None, Credentials())), test)


def test_dependencies_and_freshness(console: Console) -> None:
    async def test(link: Link) -> None:
        with console.client() as client:
            database, name = new_table(client, [*KEYS, ("hr", "string")])
            create(client, database, "daily", name)
            add_to_dependent(client, database, "daily", ["1"])
            whole = start(link, Wait.of(f"{database}.daily", "ds=1", dependencies=True))
            await begun(link)
            client.add_partition(partition(database, name, ["1", "0"]))
            await whole
            client.add_partition(partition(database, name, ["1", "1"]))
            up_to_date = start(link, Wait.of(f"{database}.daily", "ds=1", fresh=True))
            await asyncio.sleep(0)
            depend(client, database, "daily", name, ["1"])
            await up_to_date

    run(lambda: link_to(console), test)


def test_hidden_tables_are_waited_for_and_tell_nothing(guarded: Console) -> None:
    async def test(link: Link) -> None:
        with guarded.client(ADMIN) as client:
            database = new_database(client)
            for name in ("open", "secret"):
                client.create_table(table(database, name, KEYS))
            granted = PrivilegeGrantInfo("SELECT", 0, ADMIN, PrincipalType.USER, False)
            shown = HiveObjectPrivilege(
                HiveObjectRef(HiveObjectType.TABLE, database, "open", [], None), LOW, PrincipalType.USER, granted, "SQL"
            )
            client.grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, PrivilegeBag([shown])))
            assert link.hub
            keys = [(database, "open"), (database, "secret")]
            with link.hub.subscribed(keys, lambda _: True) as told:
                await begun(link)
                secret = start(link, Wait.of(f"{database}.secret", "ds=1"))
                visible = start(link, Wait.of(f"{database}.open", "ds=1"))
                for name in ("secret", "open"):
                    client.add_partition(partition(database, name, ["1"]))
                await visible
                tables: set[str] = set()
                while not tables:  # the first events may only tell that the stream has begun
                    tables = {event["table"] for event in await told.next(PATIENCE) if "table" in event}
                assert (tables, secret.done()) == ({"open"}, False)
                secret.cancel()

    run(lambda: link_to(guarded, LOW), test)


def test_a_wrong_password_is_an_error(guarded: Console) -> None:
    async def test(link: Link) -> None:
        with pytest.raises(AuthenticationError):
            await start(link, Wait.of("d.t", "ds=1"))

    run(lambda: link_to(guarded, LOW, "wrong"), test)


def test_a_partition_that_the_table_cannot_have_is_an_error(console: Console) -> None:
    async def test(link: Link) -> None:
        with console.client() as client:
            database, name = new_table(client, KEYS)
        with pytest.raises(InvalidInputError, match="does not name the first partition columns"):
            await start(link, Wait.of(f"{database}.{name}", "hour=1"))

    run(lambda: link_to(console), test)
