"""What the source removes is removed here, too: databases, roles, their members and privileges. What an administrator
of this server has added stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metastore.domain.names import DatabaseName
from metastore.errors import NotFoundError
from metastore.importing import takeover
from metastore.importing.sources.thrift_calls import ThriftCalls, UnsupportedCallError
from metastore.importing.takeover import switch
from metastore.storage.importing.imports import BORROWED, SWITCHED
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import Server, connected, running
from tests.wire.authorization.granting import bag, everywhere, on_column, on_table
from tests.wire.builders import table
from tests.wire.importing.followers import caught_up, follower
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    GrantRevokePrivilegeRequest,
    GrantRevokeRoleRequest,
    GrantRevokeType,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    Role,
)

USER = PrincipalType.USER
GONE, KEPT = DatabaseName("hive", "gone"), DatabaseName("hive", "kept")


def fill(client: Any) -> None:
    for name in ("gone", "kept"):
        client.create_database(Database(name))
        client.create_table(table(name, "t"))
    for role in ("emptied", "dropped", "changed"):
        client.create_role(Role(role, 0, "me"))
        client.grant_role(role, "bob", USER, "me", USER, False)
    client.grant_role("changed", "carol", USER, "me", USER, False)
    client.grant_privileges(bag(everywhere(), "SELECT", "bob"))
    client.grant_privileges(bag(everywhere(), "SELECT", "carol"))


def revoke(client: Any) -> None:
    for role in ("emptied", "changed"):
        client.revoke_role(role, "bob", USER)
    client.drop_role("dropped")
    client.revoke_privileges(bag(everywhere(), "SELECT", "bob"))


@pytest.fixture
def source(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(make_database(), tmp_path_factory.mktemp("source")) as server:
        with connected(server) as client:
            fill(client)
        yield server


@pytest.fixture
def target(
    source: Server, make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    url = make_database()
    copy(source.uri, url)
    with running(url, tmp_path_factory.mktemp("target")) as server:
        yield server


def members(client: Any) -> dict[str, list[str]]:
    """Returns the roles of users."""
    return {
        user: sorted(role.roleName for role in client.list_roles(user, USER) if role.roleName != "public")
        for user in ("bob", "carol", "local")
    }


def on_everything(client: Any) -> set[str]:
    """Returns the principals with SELECT on everything."""
    found = client.list_privileges(None, None, everywhere())
    return {one.principalName for one in found if one.grantInfo.privilege == "SELECT"}


def states(server: Server) -> dict[DatabaseName, str]:
    with opened(server.database_url) as store, store.read() as work:
        return work.imports.databases()


@pytest.mark.parametrize("by", ["follow", "run", "switch"])
def test_what_the_source_revokes_is_revoked_here(by: str, source: Server, target: Server) -> None:
    with connected(source) as theirs, connected(target) as ours:
        assert members(ours)["bob"] == ["changed", "dropped", "emptied"]
        revoke(theirs)
        if by == "switch":
            with opened(target.database_url) as store:
                assert switch(store, source.uri, force=True).databases
        elif by == "run":
            copy(source.uri, target.database_url)
            with follower(source.uri, target.database_url) as one:
                one.catch_up(whole=True)
        else:
            caught_up(source, target)
        assert members(ours) == {"bob": [], "carol": ["changed"], "local": []}
        assert on_everything(ours) == {"carol"}
        assert sorted(ours.get_role_names()) == sorted(theirs.get_role_names())


def test_what_this_server_has_granted_stays(source: Server, target: Server) -> None:
    with connected(source) as theirs, connected(target) as ours:
        ours.create_role(Role("own", 0, "me"))
        for role in ("own", "emptied", "dropped", "changed"):
            ours.grant_role(role, "local", USER, "me", USER, False)
        ours.grant_privileges(bag(everywhere(), "SELECT", "local"))
        ours.revoke_role("emptied", "bob", USER)
        ours.grant_role("emptied", "bob", USER, "another", USER, False)
        revoke(theirs)
        caught_up(source, target)
        assert members(ours) == {
            "bob": ["emptied"],
            "carol": ["changed"],
            "local": ["changed", "dropped", "emptied", "own"],
        }
        assert on_everything(ours) == {"carol", "local"}


def test_a_changed_member_arrives(source: Server, target: Server) -> None:
    with connected(source) as theirs:
        theirs.revoke_role("changed", "bob", USER)
        theirs.grant_role("changed", "bob", USER, "another", USER, True)
        caught_up(source, target)
        assert compare(source.uri, target.uri) == []


def test_rights_on_a_switched_database_belong_to_this_server(source: Server, target: Server) -> None:
    with connected(source) as theirs, connected(target) as ours:
        caught_up(source, target)
        with opened(target.database_url) as store:
            assert list(switch(store, source.uri, [KEPT]).databases) == [KEPT]
        revoke(theirs)
        caught_up(source, target)
        assert on_everything(ours) == {"bob", "carol"}
        assert members(ours)["bob"] == []  # these roles have no rights on the switched database


def test_a_source_that_does_not_list_its_roles_revokes_nothing(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ThriftCalls.call

    def rejecting(self: ThriftCalls, method: str, *arguments: Any) -> Any:
        if method in ("get_role_names", "get_principals_in_role", "list_privileges"):
            raise UnsupportedCallError("not allowed")
        return call(self, method, *arguments)

    monkeypatch.setattr(ThriftCalls, "call", rejecting)
    with connected(target) as ours:
        before = members(ours), on_everything(ours)
        caught_up(source, target)
        assert (members(ours), on_everything(ours)) == before


def test_a_database_that_the_source_drops_is_gone_here(source: Server, target: Server) -> None:
    assert states(target) == {DatabaseName("hive", "default"): BORROWED, GONE: BORROWED, KEPT: BORROWED}
    with connected(source) as client:
        client.drop_database("gone", True, True)
    caught_up(source, target)
    assert GONE not in states(target)
    with opened(target.database_url) as store:
        assert GONE not in switch(store, source.uri).databases
        assert set(states(target).values()) == {SWITCHED}
    with connected(target) as ours:
        ours.create_database(Database("gone"))
        ours.create_table(table("gone", "t"))


def test_a_chosen_database_that_is_created_again_is_followed_again(
    source: Server, database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy(source.uri, database_url, "gone")
    with connected(source) as client, running(database_url, tmp_path_factory.mktemp("chosen")) as server:
        client.drop_database("gone", True, True)
        caught_up(source, server)
        assert states(server) == {}
        client.create_database(Database("gone"))
        client.create_table(table("gone", "again"))
        client.create_database(Database("unwanted"))
        caught_up(source, server)
        assert states(server) == {GONE: BORROWED}
        with connected(server) as ours:
            assert ours.get_all_tables("gone") == ["again"]


def test_the_source_drops_a_database_while_the_switch_waits_for_its_follower(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive, dropped = takeover.arrive, list[DatabaseName]()

    def dropping(*arguments: Any, **options: Any) -> float:
        if not dropped:
            with connected(source) as client:
                client.drop_database("gone", True, True)
            dropped.append(GONE)
            caught_up(source, target)
        return arrive(*arguments, **options)

    monkeypatch.setattr(takeover, "arrive", dropping)
    with opened(target.database_url) as store:
        assert KEPT in switch(store, source.uri).databases
        assert GONE not in states(target)


def test_a_named_database_that_the_source_drops_is_not_switched(
    source: Server, target: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive = takeover.arrive

    def dropping(*arguments: Any, **options: Any) -> float:
        if GONE in states(target):
            with connected(source) as client:
                client.drop_database("gone", True, True)
            caught_up(source, target)
        return arrive(*arguments, **options)

    monkeypatch.setattr(takeover, "arrive", dropping)
    with opened(target.database_url) as store, pytest.raises(NotFoundError, match=r"has dropped gone\. Nothing was"):
        switch(store, source.uri, [GONE, KEPT])
    assert states(target)[KEPT] == BORROWED


def test_grants_of_every_kind_are_revoked(source: Server, target: Server) -> None:
    """Members that are roles and groups, options to grant, and rights on columns and tables."""
    whole, part = on_table("kept", "t"), on_column("kept", "t", "a")
    with connected(source) as theirs, connected(target) as ours:
        theirs.grant_role("changed", "dropped", PrincipalType.ROLE, "me", USER, False)
        theirs.grant_role("changed", "staff", PrincipalType.GROUP, "me", USER, True)
        for kind in (USER, PrincipalType.GROUP, PrincipalType.ROLE):
            for place in (whole, part):
                theirs.grant_privileges(bag(place, "SELECT", "changed", kind, option=True))
        caught_up(source, target)
        assert compare(source.uri, target.uri) == []
        theirs.revoke_role("changed", "dropped", PrincipalType.ROLE)
        option = GrantRevokeRoleRequest(
            GrantRevokeType.REVOKE, "changed", "staff", PrincipalType.GROUP, "me", USER, grantOption=True
        )
        theirs.grant_revoke_role(option)
        for kind in (USER, PrincipalType.GROUP):
            theirs.revoke_privileges(bag(part, "SELECT", "changed", kind, option=True))
        only_option = GrantRevokePrivilegeRequest(
            GrantRevokeType.REVOKE, bag(whole, "SELECT", "changed", option=True), True
        )
        theirs.grant_revoke_privileges(only_option)
        caught_up(source, target)
        assert compare(source.uri, target.uri) == []
        left = {(one.principalName, one.principalType) for one in ours.list_privileges(None, None, part)}
        assert left == {("changed", PrincipalType.ROLE)}
        (table_right,) = ours.list_privileges("changed", USER, whole)
        assert not table_right.grantInfo.grantOption


def test_the_right_of_the_administrators_is_not_there_twice(
    hive: HiveDatabase, database_url: str, tmp_path: Path
) -> None:
    """Every server gives it to its role admin when it is created."""
    grant = {"USER_PRIV": "All", "PRINCIPAL_NAME": "admin", "PRINCIPAL_TYPE": "ROLE", "GRANT_OPTION": 1}
    by = {"GRANTOR": "admin", "GRANTOR_TYPE": "ROLE", "CREATE_TIME": 1}
    hive.insert("GLOBAL_PRIVS", USER_GRANT_ID=70, **grant, **by)
    copy(hive.url, database_url)
    with running(database_url, tmp_path) as server, connected(server) as client:
        everything = HiveObjectRef(HiveObjectType.GLOBAL)
        assert len(client.list_privileges("admin", PrincipalType.ROLE, everything)) == 1
        hive.execute('DELETE FROM "GLOBAL_PRIVS" WHERE "USER_GRANT_ID" = 70')
        with follower(hive.url, database_url) as one:
            one.sweep()
        assert len(client.list_privileges("admin", PrincipalType.ROLE, everything)) == 1
        assert compare(hive.url, server.uri) == []
