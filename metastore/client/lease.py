"""The lease of table care: at a time, one program cares for a table. It saves work in vain; safety does not rest on it.

The lease is a Hive lock of a partition name that no partition has, as for an INSERT: readers and writers never wait for
it. Of several such locks of a table, the oldest is the lease. The metastore ends a lock whose holder sends no heartbeat
(METASTORE_TXN_TIMEOUT), `metastore locks` shows it, and `metastore locks break` releases it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final

from metastore.client.errors import ClientError, MetastoreRefusedError, MetastoreUnavailableError
from metastore.domain.lock_rules import LockType
from metastore.domain.transactions import Operation
from thrift_idl.gen.hive_metastore.ttypes import (
    HeartbeatRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    ShowLocksRequest,
    ShowLocksResponseElement,
    UnlockRequest,
)

PARTITION: Final = "table care"
_HEARTBEAT: Final = 20.0  # seconds; the default time-out is 300
_log = logging.getLogger(__name__)


class LeaseHeldError(ClientError):
    """Another program cares for the table. The text says which."""


class Lease:
    """A lease that this program holds. `lost`: why it does not any more; None as long as it does."""

    def __init__(self, methods: Any, lock: int) -> None:
        self.lock = lock
        self.lost: str | None = None
        self._methods = methods
        self._stopped = threading.Event()

    def renew(self) -> None:
        """Sends heartbeats until `stop`. A metastore that does not answer is asked again."""
        while not self._stopped.wait(_HEARTBEAT) and self.lost is None:
            try:
                self._methods.heartbeat(HeartbeatRequest(lockid=self.lock))
            except MetastoreUnavailableError as error:
                _log.warning("the lease of table care could not be renewed; retrying: %s", error)
            except ClientError as error:
                self.lost = f"the lease was lost: {error}"

    def check(self) -> None:
        """Raises MetastoreRefusedError if the lease was lost. What is left is for the next run."""
        if self.lost:
            raise MetastoreRefusedError(self.lost)

    def stop(self) -> None:
        """Ends the lease. If the metastore does not answer, it ends when it is not renewed."""
        self._stopped.set()
        with suppress(ClientError):
            self._methods.unlock(UnlockRequest(self.lock))


@contextmanager
def leased(methods: Any, database: str, table: str, purpose: str) -> Iterator[Lease]:
    """Holds the lease of a table.

    Args:
        methods: `MetastoreClient.methods`.
        database, table: the table.
        purpose: what is done, for other programs: compaction.

    Raises LeaseHeldError if another program holds it, and the errors of the client, such as PermissionDeniedError for a
    user without rights to write.
    """
    component = LockComponent(
        type=LockType.SHARED_READ,
        level=LockLevel.PARTITION,
        dbname=database,
        tablename=table,
        partitionname=PARTITION,
        operationType=Operation.INSERT,
    )
    agent = f"table care: {purpose} (process {os.getpid()})"
    # The server knows the user.
    answer = methods.lock(LockRequest([component], user="", hostname=socket.gethostname(), agentInfo=agent))
    lease = Lease(methods, answer.lockid)
    try:
        if answer.state != LockState.ACQUIRED:
            raise LeaseHeldError(f"{database}.{table} is locked exclusively; see  metastore locks")
        _check_oldest(methods, database, table, lease.lock)
        # A daemon thread, so that it never keeps a process alive.
        threading.Thread(target=lease.renew, name=f"lease of {database}.{table}", daemon=True).start()
        yield lease
    finally:
        lease.stop()


def _check_oldest(methods: Any, database: str, table: str, lock: int) -> None:
    """Raises LeaseHeldError if an older lock of the kind exists. Locks get their ids one after the other."""
    held = methods.show_locks(ShowLocksRequest(dbname=database, tablename=table, partname=PARTITION)).locks or []
    oldest = min((one for one in held if one.state == LockState.ACQUIRED), key=lambda one: one.lockid, default=None)
    if oldest is None:
        raise MetastoreRefusedError(f"the lease of {database}.{table} was released; run the command again")
    if oldest.lockid != lock:
        raise LeaseHeldError(f"{database}.{table}: {_holder(oldest)}")


def _holder(lock: ShowLocksResponseElement) -> str:
    since = datetime.fromtimestamp(lock.acquiredat / 1000, UTC) if lock.acquiredat else None
    moment = f" since {since:%Y-%m-%d %H:%M:%S} UTC" if since else ""
    return f"{lock.user} on {lock.hostname} holds its lease{moment}, {lock.agentInfo}; see  metastore locks"
