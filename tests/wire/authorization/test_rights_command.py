"""`metastore rights`: grants on objects that SQL cannot name, such as locations. The role `admin` cannot be granted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import USER
from tests.wire.builders import descriptor, new_database, table, unique
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NoSuchObjectException, Role


@pytest.fixture
def rights(
    guarded_server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs the command as the administrator or another user, and returns its output."""

    def run_rights(*arguments: str, user: str = ADMIN) -> str:
        monkeypatch.setenv("LOGNAME", user)
        run(["rights", *arguments, "--uri", guarded_server.uri])
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run_rights


def test_location_is_granted_and_revoked(client_of: Callable[..., Any], rights: Callable[..., str]) -> None:
    database = new_database(client_of(ADMIN))
    location = f"file:/places/{database}"
    rights("grant", "CREATE", database, "alice")
    alice = client_of("alice")

    def register(name: str) -> None:
        sd = descriptor(f"{location}/{name}")
        alice.create_table(table(database, name, sd=sd, tableType="EXTERNAL_TABLE", parameters={"EXTERNAL": "TRUE"}))

    with pytest.raises(MetaException, match=r"does not have \[LOCATION\]"):
        register("before")
    assert rights("grant", "location", location, "alice") == f"LOCATION on {location} granted to alice.\n"
    register("between")
    assert rights("list", location) == f"alice\tLOCATION\t{location}\t\t{ADMIN}\n"
    rights("revoke", "LOCATION", location, "alice")
    with pytest.raises(MetaException, match=r"does not have \[LOCATION\]"):
        register("after")


def test_a_revoke_names_the_grants_of_others(client_of: Callable[..., Any], rights: Callable[..., str]) -> None:
    database = new_database(client_of(ADMIN))
    rights("grant", "SELECT", database, "alice", "--grant-option")
    for grantor in (ADMIN, "alice"):
        rights("grant", "SELECT", database, "bob", user=grantor)
    told = f"SELECT on {database} revoked from bob."
    assert rights("revoke", "SELECT", database, "bob") == f"{told} bob still has it: alice granted it, too.\n"
    assert rights("revoke", "SELECT", database, "bob", user="alice") == f"{told}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("SELCT", "default", "bob"), "'SELCT' is not a privilege. Use one of ALL, ALTER, "),
        (("CREATE", "catalog:nope", "bob"), "nope"),
        (("SELECT", "default", "b\nob"), "is not a principal"),
    ],
)
def test_unknown_privileges_objects_and_principals_are_errors(
    rights: Callable[..., str], arguments: tuple[str, ...], told: str
) -> None:
    printed = rights("grant", *arguments)
    assert told in printed
    assert printed.startswith("metastore: ")
    assert printed.count("\n") == 1


def test_groups_roles_and_the_grant_option(client_of: Callable[..., Any], rights: Callable[..., str]) -> None:
    root = client_of(ADMIN)
    database = new_database(root)
    root.create_table(table(database, "t"))
    name = f"{database}.t"
    with pytest.raises(NoSuchObjectException):
        client_of("bob", ["analysts"]).get_table(database, "t")
    rights("grant", "SELECT", name, "@analysts", "--grant-option")
    assert client_of("bob", ["analysts"]).get_table(database, "t").tableName == "t"
    assert rights("list", name, "--of", "@analysts") == f"@analysts\tSELECT\t{name}\tyes\t{ADMIN}\n"
    assert "Permission denied: user [carol]" in rights("grant", "SELECT", "*", "carol", user="carol")
    assert "is not a principal" in rights("grant", "SELECT", name, "role:")
    assert "Write DATABASE[.TABLE]" in rights("grant", "SELECT", "a b", "alice")


def test_only_the_settings_grant_the_role_admin(client_of: Callable[..., Any]) -> None:
    root, bob = client_of(ADMIN), client_of("bob")
    with pytest.raises(MetaException, match="Permission denied"):
        bob.grant_role("admin", "bob", USER, "bob", USER, True)
    with pytest.raises(MetaException, match="Permission denied"):
        bob.create_role(Role(unique("r")))
    root.grant_role("admin", "mallory", USER, ADMIN, USER, True)
    mallory = client_of("mallory")
    with pytest.raises(MetaException, match="Permission denied"):
        mallory.create_role(Role(unique("r")))
    assert [role.roleName for role in mallory.list_roles("mallory", USER)] == ["public"]
    assert "admin" in [role.roleName for role in root.list_roles(ADMIN, USER)]
    assert client_of("someone", ["wheel"]).create_role(Role(unique("r")))
