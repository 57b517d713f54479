"""Denies, wildcards and the separate duties of administrators, over the wire and by the command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.acid import SR, SW, component
from tests.wire.authorization.conftest import ADMIN, OFFICER, STEWARD
from tests.wire.authorization.granting import GROUP, ROLE, everywhere, grant, on_column, on_database, on_table, revoke
from tests.wire.builders import descriptor, new_database, table, unique
from tests.wire.writing import clean, write_file
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    CheckLockRequest,
    Database,
    DataOperationType,
    HeartbeatRequest,
    HeartbeatTxnRangeRequest,
    HeartbeatTxnRangeResponse,
    HiveObjectRef,
    HiveObjectType,
    LockComponent,
    LockRequest,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    OpenTxnRequest,
    PrincipalPrivilegeSet,
    PrivilegeGrantInfo,
    Role,
    TxnAbortedException,
    UnlockRequest,
)
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, DroppedRequest

Clients = Callable[..., Any]


@pytest.fixture
def sales(client_of: Clients) -> str:
    """A database with tables: public_orders, public_pay, secret."""
    root = client_of(ADMIN)
    database = new_database(root)
    for name in ("public_orders", "public_pay", "secret"):
        root.create_table(table(database, name))
    return database


@pytest.fixture
def rights(
    guarded_server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs the command as the administrator of security or another user, and returns its output."""

    def run_rights(*arguments: str, user: str = OFFICER) -> str:
        monkeypatch.setenv("LOGNAME", user)
        run(["rights", *arguments, "--uri", guarded_server.uri])
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run_rights


def tables_of(client: Any, database: str) -> list[str]:
    return sorted(client.get_all_tables(database))


def test_a_wildcard_grants_and_a_deny_overrides(client_of: Clients, sales: str, rights: Callable[..., str]) -> None:
    bob = client_of("bob", [unique("group")])
    assert sales not in bob.get_all_databases()
    assert rights("grant", "SELECT", f"{sales}.public_*", "bob") == f"SELECT on {sales}.public_* granted to bob.\n"
    assert sales in bob.get_all_databases()
    assert tables_of(bob, sales) == ["public_orders", "public_pay"]
    assert bob.get_table(sales, "public_pay").tableName == "public_pay"
    with pytest.raises(NoSuchObjectException):
        bob.get_table(sales, "secret")
    assert rights("deny", "select", f"{sales}.public_pay", "bob") == f"SELECT on {sales}.public_pay denied to bob.\n"
    assert tables_of(bob, sales) == ["public_orders"]
    with pytest.raises(NoSuchObjectException, match="table not found"):
        bob.get_table(sales, "public_pay")
    listed = rights("list", f"{sales}.public_pay")
    assert f"bob\tDENY SELECT\t{sales}.public_pay\t\t{OFFICER}\n" in listed
    assert f"bob\tSELECT\t{sales}.public_*\t\t{OFFICER}\n" in listed
    rights("allow", "SELECT", f"{sales}.public_pay", "bob")
    assert tables_of(bob, sales) == ["public_orders", "public_pay"]
    rights("revoke", "SELECT", f"{sales}.public_*", "bob")
    assert tables_of(bob, sales) == []


def test_a_deny_applies_to_groups_roles_and_owners(client_of: Clients, sales: str) -> None:
    root, group, role = client_of(ADMIN), unique("group"), unique("role")
    bob, owner = client_of("bob", [group]), client_of("olga")
    root.create_role(Role(role))
    root.grant_role(role, "bob", 1, ADMIN, 1, False)
    grant(root, on_database(sales), "ALL", "bob")
    grant(root, on_database(sales), "CREATE", "olga")
    owner.create_table(table(sales, "hers"))
    grant(root, everywhere(f"{sales}.secret"), "DENY ALL", group, GROUP)
    grant(root, everywhere(f"{sales}.public_*"), "DENY DROP", role, ROLE)
    grant(root, everywhere(f"{sales}.he*"), "DENY DROP, DENY SELECT", "olga")
    with pytest.raises(NoSuchObjectException):
        bob.get_table(sales, "secret")
    for client, name in ((bob, "public_pay"), (owner, "hers")):
        with pytest.raises(MetaException, match=r"does not have \[DROP\]"):
            client.drop_table(sales, name, False)
    with pytest.raises(MetaException, match="WITH GRANT OPTION"):
        grant(owner, on_table(sales, "hers"), "SELECT", "bob")
    grant(root, everywhere(f"{sales}.*"), "DENY ALL", "bob")
    assert sales not in bob.get_all_databases()
    with pytest.raises(NoSuchObjectException):
        bob.get_database(sales)


def test_an_owner_cannot_get_around_what_a_rule_denies(client_of: Clients) -> None:
    root, owner, sales = client_of(ADMIN), client_of("olga"), unique("sales")
    root.create_database(Database(name=sales, ownerName="olga"))
    for name in ("secret", "pay", "orders"):
        owner.create_table(table(sales, name))
    grant(root, everywhere(f"{sales}.secret"), "DENY SELECT", "olga")
    grant(root, everywhere(f"{sales}.pay"), "DENY SELECT", "olga")
    for on in (on_database(sales), on_table(sales, "secret"), on_table(sales, "pay")):
        for privilege in ("SELECT", "ALL"):
            with pytest.raises(MetaException, match=rf"\[{privilege} WITH GRANT OPTION\]"):
                grant(owner, on, privilege, "accomplice")
    grant(owner, on_database(sales), "INSERT", "accomplice")
    given, database = owner.get_table(sales, "secret"), owner.get_database(sales)
    given.owner = database.ownerName = "accomplice"
    copy = table(sales, "copied", sd=descriptor(given.sd.location))
    owner.drop_table(sales, "pay", True)
    shared = PrincipalPrivilegeSet({"accomplice": [PrivilegeGrantInfo("SELECT", 0, "olga", 1, False)]})
    owner.create_table(table(sales, "shared", privileges=shared))
    for call in (
        lambda: owner.create_table(table(sales, "pay", privileges=shared)),
        lambda: owner.alter_table(sales, "secret", given),
        lambda: owner.alter_database(sales, database),
        lambda: owner.create_table(copy),
    ):
        with pytest.raises(TExceptionBase, match=r"Permission denied: user \[olga\]"):
            call()
    own = PrincipalPrivilegeSet({"olga": [PrivilegeGrantInfo("SELECT", 0, "olga", 1, True)]})  # as Trino sends them
    owner.create_table(table(sales, "pay", privileges=own))
    for on in (on_table(sales, "secret"), on_table(sales, "orders")):
        grant(owner, on, "DROP", "accomplice")
    grant(root, everywhere(f"{sales}.orders"), "DENY DROP", "olga")
    with pytest.raises(MetaException, match=rf"\[DROP\] privilege on \[{sales}\]"):
        owner.drop_database(sales, True, True)
    grant(root, everywhere(f"{sales}.orders"), "DENY INSERT", "public", ROLE)
    grant(owner, on_table(sales, "orders"), "SELECT", "accomplice")  # the rule applies to the accomplice, too


def test_a_rename_does_not_escape_a_rule(client_of: Clients, sales: str) -> None:
    root, bob = client_of(ADMIN), client_of("bob")
    grant(root, on_database(sales), "ALL", "bob")
    grant(root, everywhere(f"{sales}.secret"), "DENY SELECT", unique("group"), GROUP)
    grant(root, everywhere(f"{sales}.open_*"), "SELECT", "public", ROLE)
    hidden, draft = bob.get_table(sales, "secret"), bob.get_table(sales, "public_pay")
    hidden.tableName, draft.tableName = "free", "open_pay"
    with pytest.raises(MetaException, match="a rule denies a right on this name"):
        bob.alter_table(sales, "secret", hidden)
    with pytest.raises(MetaException, match="a rule grants a right on the new name"):
        bob.alter_table(sales, "public_pay", draft)
    root.alter_table(sales, "public_pay", draft)
    assert client_of("stranger").get_table(sales, "open_pay").tableName == "open_pay"


@pytest.mark.parametrize(
    ("scope", "privilege", "reason"),
    [
        ("db.t", "DENY LOCATION", "cannot be the privilege of a rule"),
        ("db.t", "DENY", "cannot be the privilege of a rule"),
        ("db.t.c", "DENY SELECT", "cannot name a column"),
        ("db.t.c", "SELECT", "cannot name a column"),
        ("db.(a|b)", "SELECT", "is not a pattern of names"),
        (None, "DENY SELECT", "needs an object of type GLOBAL"),
        ("hive", "DENY SELECT", "needs an object of type GLOBAL"),
    ],
)
def test_malformed_rules_are_rejected(client_of: Clients, scope: str | None, privilege: str, reason: str) -> None:
    with pytest.raises(MetaException, match=reason.replace("(", r"\(")):
        grant(client_of(ADMIN), everywhere(scope), privilege, "bob")


def test_a_rule_has_no_grant_option(client_of: Clients) -> None:
    with pytest.raises(MetaException, match="cannot have the grant option"):
        grant(client_of(ADMIN), everywhere("db.*"), "SELECT", "bob", option=True)


def test_only_administrators_of_security_write_rules(client_of: Clients, sales: str) -> None:
    owner = client_of("olga")
    grant(client_of(ADMIN), on_database(sales), "ALL", "olga", option=True)
    for client in (owner, client_of(STEWARD)):
        with pytest.raises(MetaException, match="WITH GRANT OPTION"):
            grant(client, everywhere(f"{sales}.*"), "DENY SELECT", "bob")
        with pytest.raises(MetaException, match="WITH GRANT OPTION"):
            grant(client, on_table(sales, "secret"), "DENY SELECT", "bob")
    grant(client_of("someone", ["officers"]), everywhere(f"{sales}.*"), "DENY SELECT", "bob")
    with pytest.raises(MetaException, match="WITH GRANT OPTION"):
        revoke(owner, everywhere(f"{sales}.*"), "DENY SELECT", "bob")


def test_an_administrator_of_security_grants_to_others_and_reads_no_data(client_of: Clients, sales: str) -> None:
    officer, bob, role = client_of(OFFICER), client_of("bob"), unique("role")
    assert officer.get_table(sales, "secret").tableName == "secret"
    for call in (officer.drop_table, officer.get_table_column_statistics):
        with pytest.raises(MetaException, match="Permission denied"):
            call(sales, "secret", *([False] if call == officer.drop_table else ["a"]))
    grant(officer, on_table(sales, "secret"), "SELECT", "bob")
    assert bob.get_table(sales, "secret").tableName == "secret"
    officer.create_role(Role(role))
    for principal, kind in ((OFFICER, 1), ("public", ROLE)):
        with pytest.raises(MetaException, match="Permission denied"):
            grant(officer, on_table(sales, "secret"), "SELECT", principal, kind)
    with pytest.raises(MetaException, match="Permission denied"):
        officer.grant_role(role, OFFICER, 1, OFFICER, 1, False)
    officer.grant_role(role, "bob", 1, OFFICER, 1, False)
    client_of(ADMIN).grant_role(role, OFFICER, 1, ADMIN, 1, False)
    with pytest.raises(MetaException, match="Permission denied"):  # what is denied to the role is denied to the officer
        officer.drop_role(role)
    assert [held.principalName for held in officer.list_privileges("bob", 1, on_table(sales, "secret"))] == ["bob"]


def test_an_administrator_of_data_alters_objects_and_no_rights(client_of: Clients, sales: str) -> None:
    steward, database = client_of(STEWARD), unique("db")
    altered = steward.get_table(sales, "secret")
    altered.parameters["note"] = "x"
    steward.alter_table(sales, "secret", altered)
    steward.drop_table(sales, "public_pay", True)
    for principal in ("bob", STEWARD):
        with pytest.raises(MetaException, match="WITH GRANT OPTION"):
            grant(steward, on_table(sales, "secret"), "SELECT", principal)
    with pytest.raises(MetaException, match="Permission denied"):
        steward.create_role(Role(database))
    altered.owner = STEWARD
    with pytest.raises(MetaException, match=r"does not have \[OWNERSHIP\]"):
        steward.alter_table(sales, "secret", altered)
    grant(client_of(ADMIN), everywhere(f"{sales}.secret"), "DENY ALL", STEWARD)
    with pytest.raises(NoSuchObjectException):
        steward.get_table(sales, "secret")


def test_a_column_is_granted_by_the_command_and_by_sql(
    client_of: Clients, sales: str, rights: Callable[..., str]
) -> None:
    bob = client_of("bob")
    rights("grant", "SELECT", f"{sales}.secret.a", "bob")
    grant(client_of(ADMIN), on_column(sales, "secret", "x"), "SELECT", "bob")
    assert f"bob\tSELECT\t{sales}.secret.a\t" in rights("list", f"{sales}.secret.a")
    assert [column.name for column in bob.get_table(sales, "secret").sd.cols] == ["a", "x"]
    assert "cannot name a column" in rights("deny", "SELECT", f"{sales}.secret.a", "bob")
    assert "cannot be denied" in rights("deny", "LOCATION", f"{sales}.secret", "bob")


def test_hives_calls_do_not_list_denies_of_a_table(client_of: Clients, sales: str) -> None:
    """Hive and Trino read all privileges on a table, and fail for one that they do not know."""
    root = client_of(ADMIN)
    grant(root, everywhere(f"{sales}.secret"), "DENY SELECT", "bob")
    assert root.list_privileges(None, None, on_table(sales, "secret")) == []
    assert root.list_privileges("bob", 1, HiveObjectRef(HiveObjectType.TABLE, sales, "secret")) == []


def test_a_protected_table_is_not_cleaned_with_its_database(client_of: Clients, sales: str) -> None:
    """Who may alter a database cleans its tables, but not one that a rule only lets them read."""
    root, bob = client_of(ADMIN), client_of("bob")
    for privilege in ("ALTER", "SELECT"):
        grant(root, on_database(sales), privilege, "bob")
    grant(root, everywhere(f"{sales}.secret"), "DENY ALTER", "bob")
    staging = "_staging/20260131_235959_00007_x7k2p"
    homes = {name: root.get_table(sales, name).sd.location for name in ("secret", "public_pay")}
    for home in homes.values():
        write_file(f"{home}/{staging}/part-0")
    found = [each.location for each in bob.check_files(CheckFilesRequest(sales, repair=True)).problems]
    assert [location for location in found if location.startswith(homes["secret"])] == []
    done = clean(bob, (sales, ""), unregistered=True)
    assert [each.location for each in done.locations] == [f"{homes['public_pay']}/{staging}"]
    with pytest.raises(MetaException, match=r"does not have \[ALTER\]"):
        clean(bob, (sales, "secret"), unregistered=True)
    done = clean(root, (sales, ""), unregistered=True)
    assert [each.location for each in done.locations] == [f"{homes['secret']}/{staging}"]


def test_drops_of_names_that_a_rule_hides_are_not_listed(client_of: Clients, sales: str) -> None:
    root, bob = client_of(ADMIN), client_of("bob")
    grant(root, on_database(sales), "ALTER", "bob")
    for name in ("public_pay", "secret"):
        root.drop_table(sales, name, True)
    listed = {(drop.tableName, drop.user) for drop in bob.dropped(DroppedRequest(sales))}
    assert listed == {("public_pay", ADMIN), ("secret", ADMIN)}
    grant(root, everywhere(f"{sales}.secret"), "DENY ALL", "bob")
    assert [drop.tableName for drop in bob.dropped(DroppedRequest(sales))] == ["public_pay"]
    assert len(root.dropped(DroppedRequest(sales))) == 2


def test_a_lock_or_transaction_is_not_renewed_after_its_user_has_lost_a_right(client_of: Clients, sales: str) -> None:
    """Whichever call renews it, and by a deny as by REVOKE. The user can still end it."""
    root, bob, on = client_of(ADMIN), client_of("bob"), on_table(sales, "secret")
    for privilege in ("SELECT", "INSERT"):
        grant(root, on, privilege, "bob")
    first, last = (bob.open_txns(OpenTxnRequest(1, "bob", "host")).txn_ids[0] for _ in range(2))

    def lock(one: LockComponent, transaction: int = 0) -> Any:
        return bob.lock(LockRequest([one], transaction, "bob", "host")).lockid

    reading, writing = (lock(component(kind, sales, "secret")) for kind in (SR, SW))
    insert = {"operationType": DataOperationType.INSERT, "isTransactional": True}
    lock(component(SR, sales, "secret", **insert), last)
    both = HeartbeatTxnRangeRequest(first, last)
    bob.heartbeat(HeartbeatRequest(writing, last))
    assert bob.heartbeat_txn_range(both).aborted == set()
    revoke(root, on, "INSERT", "bob")
    for call in (lambda: bob.heartbeat(HeartbeatRequest(writing)), lambda: bob.check_lock(CheckLockRequest(writing))):
        with pytest.raises(NoSuchLockException, match="its user has lost a right"):
            call()
    with pytest.raises(TxnAbortedException, match=f"txnid:{last} cannot be renewed"):
        bob.heartbeat(HeartbeatRequest(None, last))
    assert bob.heartbeat_txn_range(both) == HeartbeatTxnRangeResponse({last}, set())
    bob.heartbeat(HeartbeatRequest(reading, first))
    bob.unlock(UnlockRequest(writing))
    bob.abort_txn(AbortTxnRequest(last))
    grant(root, everywhere(f"{sales}.sec*"), "DENY ALL", "bob")
    with pytest.raises(NoSuchLockException):
        bob.heartbeat(HeartbeatRequest(reading))
    root.drop_table(sales, "secret", True)
    bob.heartbeat(HeartbeatRequest(reading, first))
