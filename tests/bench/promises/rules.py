"""Promises about denies, wildcards, privileges on columns, and the duties of administrators."""

from __future__ import annotations

from tests.bench.promises.installation import Installation, fails, promise
from tests.wire.authorization.granting import everywhere, grant, on_column, on_table, revoke
from thrift_idl.gen.hive_metastore.ttypes import HeartbeatTxnRangeRequest, OpenTxnRequest, Role
from thrift_idl.gen.metastore.ttypes import ScanRequest


@promise("A deny takes back what a grant, a wildcard or ownership gives, at once")
def _(installation: Installation) -> None:
    sam, bob, alice = (installation.methods(user) for user in ("sam", "bob", "alice"))
    grant(sam, everywhere("secret.va*"), "SELECT", "bob")
    assert bob.get_all_tables("secret") == ["vault"]
    grant(sam, everywhere("secret.vault"), "DENY SELECT", "bob")
    assert bob.get_all_tables("secret") == []
    fails(lambda: bob.get_table("secret", "vault"), "table not found")
    revoke(sam, everywhere("secret.vault"), "DENY SELECT", "bob")
    assert bob.get_table("secret", "vault").tableName == "vault"
    revoke(sam, everywhere("secret.va*"), "SELECT", "bob")
    grant(sam, everywhere("secret.*"), "DENY DROP", "alice")
    fails(lambda: alice.drop_table("secret", "vault", False), "[DROP]")
    revoke(sam, everywhere("secret.*"), "DENY DROP", "alice")


@promise("A rename does not free a table from a deny")
def _(installation: Installation) -> None:
    sam, alice = installation.methods("sam"), installation.methods("alice")
    grant(sam, everywhere("sales.hidden"), "DENY SELECT", "eve")
    renamed = alice.get_table("sales", "hidden")
    renamed.tableName = "harmless"
    fails(lambda: alice.alter_table("sales", "hidden", renamed), "a rule denies")
    revoke(sam, everywhere("sales.hidden"), "DENY SELECT", "eve")


@promise("Only administrators of security write rules and roles, and not for themselves")
def _(installation: Installation) -> None:
    sam = installation.methods("sam")
    for user in ("alice", "dana"):
        methods = installation.methods(user)
        fails(lambda methods=methods: grant(methods, everywhere("sales.*"), "DENY SELECT", "bob"), "GRANT OPTION")
        fails(lambda methods=methods: methods.create_role(Role("mighty")), "ADMIN")
    fails(lambda: grant(sam, on_table("sales", "hidden"), "SELECT", "sam"), "GRANT OPTION")
    fails(lambda: grant(sam, everywhere("*.*"), "ALL", "sam"), "GRANT OPTION")
    fails(lambda: sam.drop_table("sales", "hidden", False), "[DROP]")


@promise("Administrators of data change objects, and no rights")
def _(installation: Installation) -> None:
    dana = installation.methods("dana")
    changed = dana.get_table("sales", "hidden")
    changed.parameters["note"] = "dana"
    dana.alter_table("sales", "hidden", changed)
    fails(lambda: grant(dana, on_table("sales", "hidden"), "SELECT", "eve"), "GRANT OPTION")
    changed.owner = "dana"
    fails(lambda: dana.alter_table("sales", "hidden", changed), "[OWNERSHIP]")


@promise("A privilege on a column shows its table, and allows no scan")
def _(installation: Installation) -> None:
    alice, eve = installation.methods("alice"), installation.methods("eve")
    fails(lambda: eve.plan_scan(ScanRequest("sales", "shown")), "table not found")
    grant(alice, on_column("sales", "shown", "a"), "SELECT", "eve")
    assert [column.name for column in eve.get_table("sales", "shown").sd.cols] == ["a", "x"]
    fails(lambda: eve.plan_scan(ScanRequest("sales", "shown")), "[SELECT]")
    revoke(alice, on_column("sales", "shown", "a"), "SELECT", "eve")


@promise("Transactions of others count as missing")
def _(installation: Installation) -> None:
    theirs = installation.methods("alice").open_txns(OpenTxnRequest(1, "alice", "h")).txn_ids[0]
    eve = installation.methods("eve")
    asked = HeartbeatTxnRangeRequest(theirs, theirs + 1)
    actual_heartbeat_txn_range = eve.heartbeat_txn_range(asked)
    assert (actual_heartbeat_txn_range.aborted, actual_heartbeat_txn_range.nosuch) == (set(), {theirs, theirs + 1})
    assert installation.methods("alice").heartbeat_txn_range(asked).nosuch == {theirs + 1}
