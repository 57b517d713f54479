"""Promises about writes, locks, transactions and the audit trail."""

from __future__ import annotations

import time
from typing import Any

from tests.bench.promises.installation import Installation, fails, promise
from tests.wire.authorization.granting import grant, on_table, revoke
from tests.wire.writing import begin, clean, day, files_below, let_die, publish, renew, write_file
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    CheckLockRequest,
    CommitTxnRequest,
    HeartbeatRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
    ShowLocksRequest,
    UnlockRequest,
)
from thrift_idl.gen.metastore.ttypes import CleanRequest, Rename

MINE = ("mine", "t")


@promise("A write cannot name a location of another table: renames, claims, shared, retired")
def _(installation: Installation) -> None:
    bob, theirs = installation.methods("bob"), installation.location("hidden")
    write = begin(bob, MINE)
    own = f"{bob.get_table(*MINE).sd.location}/_versions/{write}/part-1"
    write_file(own)
    for where in (theirs, f"{theirs}x", theirs.removeprefix("file:")):
        fails(lambda where=where: renew(bob, write, renames=[Rename(f"{where}/ds=1", own)]), "not a location")
        fails(lambda where=where: renew(bob, write, renames=[Rename(own, f"{where}/part-1")]), "not a location")
        fails(lambda where=where: renew(bob, write, f"{where}/{write}"), "not a location")
        fails(lambda where=where: renew(bob, write, shared=[where]), "not a location")
        fails(lambda where=where: publish(bob, MINE, write, retired=[where]), "not a location")
    let_die(installation.server.database_url, write)
    clean(bob, MINE)
    assert files_below(theirs) == {"ds=1/part-0"}


@promise("Only the user who began a write renews, publishes or ends it")
def _(installation: Installation) -> None:
    alice, carol, name = installation.methods("alice"), installation.methods("carol"), ("sales", "shown")
    write, root = begin(alice, name), installation.location("shown")
    fails(lambda: renew(carol, write), "no open write")
    fails(lambda: publish(carol, name, write, day(root, "5")), "no open write")
    fails(lambda: carol.end_write(write), "no open write")
    publish(alice, name, write, day(root, "5"))


@promise("A user with INSERT cannot have files of others removed")
def _(installation: Installation) -> None:
    alice, carol, root = installation.methods("alice"), installation.methods("carol"), installation.location("shown")
    name = ("sales", "shown")
    write = begin(alice, name)
    write_file(f"{root}/_versions/{write}/part-0")
    for where in (f"{root}/_versions/{write}", f"{root}/ds=1/part-0"):
        for query_id in (begin(carol, name), "unregistered"):
            fails(lambda where=where, query_id=query_id: publish(carol, name, query_id, retired=[where]), "[DELETE]")
    alice.end_write(write)


@promise("A write is published to its own table only")
def _(installation: Installation) -> None:
    alice = installation.methods("alice")
    write = begin(alice, ("sales", "hidden"))
    fails(lambda: publish(alice, ("sales", "shown"), write, day(installation.location("shown"), "6")), "no open write")
    alice.end_write(write)


@promise("A reader cannot begin a write")
def _(installation: Installation) -> None:
    fails(lambda: begin(installation.methods("bob"), ("sales", "shown")), "[INSERT]")


@promise("Cleaning needs ALTER on the table, and an administrator for everything")
def _(installation: Installation) -> None:
    fails(lambda: clean(installation.methods("carol"), ("sales", "shown")), "[ALTER]")
    fails(lambda: installation.methods("alice").clean(CleanRequest()), "[ADMIN]")


@promise("Nobody ends or sees the locks and transactions of others")
def _(installation: Installation) -> None:
    alice, bob = installation.methods("alice"), installation.methods("bob")
    lock = alice.lock(_lock(LockType.EXCLUSIVE, "sales", "hidden")).lockid
    opened = alice.open_txns(OpenTxnRequest(1, "alice", "desk")).txn_ids[0]
    bob.unlock(UnlockRequest(lock))
    fails(lambda: bob.check_lock(CheckLockRequest(lock)), "No such lock")
    fails(lambda: bob.heartbeat(HeartbeatRequest(lock)), "No such lock")
    fails(lambda: bob.abort_txn(AbortTxnRequest(opened)), "No such transaction")
    fails(lambda: bob.commit_txn(CommitTxnRequest(opened)), "No such transaction")
    assert "alice" not in repr(bob.show_locks(ShowLocksRequest()))
    assert "desk" not in repr(bob.get_open_txns_info())
    assert alice.check_lock(CheckLockRequest(lock)).lockid == lock
    alice.unlock(UnlockRequest(lock))
    alice.abort_txn(AbortTxnRequest(opened))


@promise("A reader cannot take a lock that stops writers")
def _(installation: Installation) -> None:
    fails(lambda: installation.methods("bob").lock(_lock(LockType.EXCLUSIVE, "sales", "shown")), "Permission denied")
    fails(lambda: installation.methods("eve").lock(_lock(LockType.SHARED_READ, "sales", "shown")))


@promise("A user's locks are limited, and others still lock")
def _(installation: Installation) -> None:
    bob, taken = installation.methods("bob"), []
    while len(taken) < 50:
        taken.append(bob.lock(_lock(LockType.SHARED_READ, "sales", "shown")).lockid)
    fails(lambda: bob.lock(_lock(LockType.SHARED_READ, "sales", "shown")), "METASTORE_MAX_LOCKS")
    other = installation.methods("carol").lock(_lock(LockType.SHARED_READ, "sales", "shown")).lockid
    installation.methods("carol").unlock(UnlockRequest(other))
    for lock in taken:
        bob.unlock(UnlockRequest(lock))


@promise("A user's open transactions are limited")
def _(installation: Installation) -> None:
    bob = installation.methods("bob")
    opened = bob.open_txns(OpenTxnRequest(50, "alice", "here")).txn_ids
    fails(lambda: bob.open_txns(OpenTxnRequest(1, "root", "here")), "METASTORE_MAX_OPEN_TRANSACTIONS")
    installation.methods("carol").open_txns(OpenTxnRequest(1, "carol", "here"))
    for number in opened:
        bob.abort_txn(AbortTxnRequest(number))


@promise("Changes and rejected calls are in the audit trail, with their users")
def _(installation: Installation) -> None:
    fails(lambda: installation.methods("eve").get_table("secret", "vault"))
    fails(lambda: installation.methods("bob").drop_table("sales", "shown", False))
    grant(installation.methods("alice"), on_table("sales", "hidden"), "UPDATE", "carol")
    revoke(installation.methods("alice"), on_table("sales", "hidden"), "UPDATE", "carol")
    wanted = (
        ("user=eve", "method=get_table ", "outcome=refused"),
        ("user=bob", "method=drop_table ", "outcome=refused"),
        ("user=alice", "method=grant_revoke_privileges", "outcome=done"),
    )
    deadline = time.monotonic() + 30
    while not all(any(all(part in line for part in parts) for line in _log(installation)) for parts in wanted):
        assert time.monotonic() < deadline, "the lines are missing"
        time.sleep(0.2)


@promise("No password, key or secret is in the log")
def _(installation: Installation) -> None:
    assert not any("sesame" in line or "scrypt" in line for line in _log(installation))


def _log(installation: Installation) -> list[str]:
    return installation.server.log.read_text().splitlines()


def _lock(kind: int, database: str, name: str) -> Any:
    return LockRequest([LockComponent(kind, LockLevel.TABLE, database, name)], None, "whoever", "host")
