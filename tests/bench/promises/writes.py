"""Promises about writes, locks, transactions and the audit trail."""

from __future__ import annotations

import time
from typing import Any

from tests.bench.promises.house import House, fails, promise
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
def _(house: House) -> None:
    bob, theirs = house.methods("bob"), house.location("hidden")
    write = begin(bob, MINE)
    own = f"{bob.get_table(*MINE).sd.location}/_versions/{write}/part-1"
    write_file(own)
    for where in (theirs, f"{theirs}x", theirs.removeprefix("file:")):
        fails(lambda where=where: renew(bob, write, renames=[Rename(f"{where}/ds=1", own)]), "not a location")
        fails(lambda where=where: renew(bob, write, renames=[Rename(own, f"{where}/part-1")]), "not a location")
        fails(lambda where=where: renew(bob, write, f"{where}/{write}"), "not a location")
        fails(lambda where=where: renew(bob, write, shared=[where]), "not a location")
        fails(lambda where=where: publish(bob, MINE, write, retired=[where]), "not a location")
    let_die(house.server.database_url, write)
    clean(bob, MINE)
    assert files_below(theirs) == {"ds=1/part-0"}


@promise("Only the user who began a write renews, publishes or ends it")
def _(house: House) -> None:
    alice, carol, name = house.methods("alice"), house.methods("carol"), ("sales", "shown")
    write, root = begin(alice, name), house.location("shown")
    fails(lambda: renew(carol, write), "no open write")
    fails(lambda: publish(carol, name, write, day(root, "5")), "no open write")
    fails(lambda: carol.end_write(write), "no open write")
    publish(alice, name, write, day(root, "5"))


@promise("A user with INSERT cannot have files of others removed")
def _(house: House) -> None:
    alice, carol, root = house.methods("alice"), house.methods("carol"), house.location("shown")
    name = ("sales", "shown")
    write = begin(alice, name)
    write_file(f"{root}/_versions/{write}/part-0")
    for where in (f"{root}/_versions/{write}", f"{root}/ds=1/part-0"):
        for query_id in (begin(carol, name), "unregistered"):
            fails(lambda where=where, query_id=query_id: publish(carol, name, query_id, retired=[where]), "[DELETE]")
    alice.end_write(write)


@promise("A write is published to its own table only")
def _(house: House) -> None:
    alice = house.methods("alice")
    write = begin(alice, ("sales", "hidden"))
    fails(lambda: publish(alice, ("sales", "shown"), write, day(house.location("shown"), "6")), "no open write")
    alice.end_write(write)


@promise("A reader cannot begin a write")
def _(house: House) -> None:
    fails(lambda: begin(house.methods("bob"), ("sales", "shown")), "[INSERT]")


@promise("Cleaning needs ALTER on the table, and an administrator for everything")
def _(house: House) -> None:
    fails(lambda: clean(house.methods("carol"), ("sales", "shown")), "[ALTER]")
    fails(lambda: house.methods("alice").clean(CleanRequest()), "[ADMIN]")


@promise("Nobody ends or sees the locks and transactions of others")
def _(house: House) -> None:
    alice, bob = house.methods("alice"), house.methods("bob")
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
def _(house: House) -> None:
    fails(lambda: house.methods("bob").lock(_lock(LockType.EXCLUSIVE, "sales", "shown")), "Permission denied")
    fails(lambda: house.methods("eve").lock(_lock(LockType.SHARED_READ, "sales", "shown")))


@promise("A user's locks are limited, and others still lock")
def _(house: House) -> None:
    bob, taken = house.methods("bob"), []
    while len(taken) < 50:
        taken.append(bob.lock(_lock(LockType.SHARED_READ, "sales", "shown")).lockid)
    fails(lambda: bob.lock(_lock(LockType.SHARED_READ, "sales", "shown")), "METASTORE_MAX_LOCKS")
    other = house.methods("carol").lock(_lock(LockType.SHARED_READ, "sales", "shown")).lockid
    house.methods("carol").unlock(UnlockRequest(other))
    for lock in taken:
        bob.unlock(UnlockRequest(lock))


@promise("A user's open transactions are limited")
def _(house: House) -> None:
    bob = house.methods("bob")
    opened = bob.open_txns(OpenTxnRequest(50, "alice", "here")).txn_ids
    fails(lambda: bob.open_txns(OpenTxnRequest(1, "root", "here")), "METASTORE_MAX_OPEN_TRANSACTIONS")
    house.methods("carol").open_txns(OpenTxnRequest(1, "carol", "here"))
    for number in opened:
        bob.abort_txn(AbortTxnRequest(number))


@promise("Changes and rejected calls are in the audit trail, with their users")
def _(house: House) -> None:
    fails(lambda: house.methods("eve").get_table("secret", "vault"))
    fails(lambda: house.methods("bob").drop_table("sales", "shown", False))
    grant(house.methods("alice"), on_table("sales", "hidden"), "UPDATE", "carol")
    revoke(house.methods("alice"), on_table("sales", "hidden"), "UPDATE", "carol")
    wanted = (
        ("user=eve", "method=get_table ", "outcome=refused"),
        ("user=bob", "method=drop_table ", "outcome=refused"),
        ("user=alice", "method=grant_revoke_privileges", "outcome=done"),
    )
    deadline = time.monotonic() + 30
    while not all(any(all(part in line for part in parts) for line in _log(house)) for parts in wanted):
        assert time.monotonic() < deadline, "the lines are missing"
        time.sleep(0.2)


@promise("No password, key or secret is in the log")
def _(house: House) -> None:
    assert not any("sesame" in line or "scrypt" in line for line in _log(house))


def _log(house: House) -> list[str]:
    return house.server.log.read_text().splitlines()


def _lock(kind: int, database: str, name: str) -> Any:
    return LockRequest([LockComponent(kind, LockLevel.TABLE, database, name)], None, "whoever", "host")
