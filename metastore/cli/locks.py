"""`metastore locks` and `metastore locks break`: list and release the locks of a running server."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from metastore.cli.client import connected
from metastore.cli.printing import Cell, bounded, print_table
from metastore.domain.lock_rules import LockType
from metastore.errors import NotFoundError
from thrift_idl.gen.hive_metastore.ttypes import AbortTxnRequest, LockState, ShowLocksRequest, UnlockRequest

_HEADER = ("id", "state", "type", "object", "holder", "agent", "age", "last heartbeat")
_LONGEST = 200  # characters of a user, host or agent, which clients choose freely


def show_locks(uri: str) -> None:
    """Prints one row for each object of each lock. The age of a lock is the time since it was granted."""
    with connected(uri) as client:
        elements = client.show_locks(ShowLocksRequest()).locks or []
    print_table("Locks", _HEADER, [_row(element) for element in elements])


def break_lock(uri: str, lock: int) -> str:
    """Releases a lock. A lock of a transaction is released by aborting the transaction. Returns a confirmation.

    Raises NotFoundError.
    """
    with connected(uri) as client:
        elements = [each for each in client.show_locks(ShowLocksRequest()).locks or [] if each.lockid == lock]
        if not elements:
            raise NotFoundError(f"Lock {lock} does not exist. List the locks with: metastore locks")
        transaction = elements[0].txnid
        if transaction:
            client.abort_txn(AbortTxnRequest(transaction))
            return f"Lock {lock} released: transaction {transaction} aborted."
        client.unlock(UnlockRequest(lock))
    return f"Lock {lock} released."


def _row(element: Any) -> tuple[Cell, ...]:
    name = f"{element.dbname}.{element.tablename}" if element.tablename else element.dbname
    holder = f"{bounded(element.user or '', _LONGEST)}@{bounded(element.hostname or '', _LONGEST)}"
    return (
        element.lockid,
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
    return f"waiting for {element.blockedByExtId}" if element.blockedByExtId else "waiting"


def _age(moment: int | None) -> str:
    """Returns the time since `moment`, in milliseconds since 1970, as H:MM:SS by the clock of this machine."""
    return str(timedelta(seconds=max(0, int(time.time() - moment / 1000)))) if moment else ""
