"""`metastore locks` and `metastore locks break`: who holds what in a running metastore, and its end."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from metastore.cli.client import connected
from metastore.cli.printing import bounded, print_table
from metastore.domain.lock_rules import LockType
from metastore.errors import NotFoundError
from thrift_idl.gen.hive_metastore.ttypes import AbortTxnRequest, LockState, ShowLocksRequest, UnlockRequest

_HEADER = ("id", "state", "type", "object", "holder", "agent", "age", "last heartbeat")
_LONGEST = 200  # characters of what clients say of themselves


def show_locks(uri: str) -> None:
    """One line for each object of each lock; ages in hours, minutes and seconds, of a lock since it was granted."""
    with connected(uri) as client:
        found = client.show_locks(ShowLocksRequest()).locks or []
    print_table("Locks", _HEADER, [_row(element) for element in found])


def break_lock(uri: str, lock: int) -> str:
    """Ends a lock, with its transaction if it has one; says what was done. Raises NotFoundError."""
    with connected(uri) as client:
        found = [element for element in client.show_locks(ShowLocksRequest()).locks or [] if element.lockid == lock]
        if not found:
            raise NotFoundError(f"there is no lock {lock}; list those that are with  metastore locks")
        transaction = found[0].txnid
        if transaction:
            client.abort_txn(AbortTxnRequest(transaction))
            return f"lock {lock} is broken: its transaction {transaction} was aborted"
        client.unlock(UnlockRequest(lock))
    return f"lock {lock} is broken"


def _row(element: Any) -> tuple[str, ...]:
    name = f"{element.dbname}.{element.tablename}" if element.tablename else element.dbname
    holder = f"{bounded(element.user or '', _LONGEST)}@{bounded(element.hostname or '', _LONGEST)}"
    return (
        str(element.lockid),
        _state(element),
        LockType(element.type).name,
        f"{name}/{element.partname}" if element.partname else name,
        f"{holder} (transaction {element.txnid})" if element.txnid else holder,
        bounded(element.agentInfo or "", _LONGEST),
        _age(element.acquiredat),
        _age(element.lastheartbeat),
    )


def _state(element: Any) -> str:
    if element.state == LockState.ACQUIRED:
        return "held"
    return f"waits for {element.blockedByExtId}" if element.blockedByExtId else "waits"


def _age(moment: int | None) -> str:
    """Returns the age of milliseconds since 1970, by this machine's clock."""
    return str(timedelta(seconds=max(0, int(time.time() - moment / 1000)))) if moment else ""
