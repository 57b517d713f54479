"""Locks: leases in the database, shared by all servers. They expire without heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from metastore.domain.lock_rules import Blocker, Component, LockType, blocker, lower_case_columns
from metastore.domain.names import fold, split_database
from metastore.errors import InvalidOperationError, LockNotFoundError, TransactionOpenError
from metastore.services.rules.lock_requests import requested, written
from metastore.services.rules.lookup import required
from metastore.services.rules.transactions import expire_leases, open_ones, renew
from metastore.services.service import LeasingService
from metastore.storage.postgres.clock import milliseconds
from metastore.storage.repositories.locks import Holder, LockEntry
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    LockRequest,
    LockResponse,
    LockState,
    ShowLocksRequest,
    ShowLocksResponseElement,
)

_NOT_ACQUIRED = 0  # no lock has this id
_ORDER = (LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE)


class LockService(LeasingService):
    """Rules of locks. `timeout`: how long a lock lives without a heartbeat."""

    def __init__(self, store: Store, timeout: timedelta, per_user: int = 10_000) -> None:
        """`per_user`: maximum number of objects that the locks of one user may name."""
        super().__init__(store, timeout)
        self._per_user = per_user

    def lock(self, request: LockRequest) -> LockResponse:
        """Grants all components of a request, or queues it.

        Raises InvalidInputError, InvalidOperationError, TransactionNotFoundError, TransactionAbortedError.
        """
        components = requested(request)
        holder = Holder(request.txnid or None, request.user or "", request.hostname or "", request.agentInfo or "")
        with self._store.transaction() as work:
            self._one_at_a_time(work, components, holder.user)
            blocking = self._blocker(work, components, holder.transaction, None)
            if holder.transaction is not None:
                open_ones(work, [holder.transaction], self._timeout)
            if blocking and _fails_at_once(request, blocking):
                return _not_acquired(blocking)
            lock = work.locks.insert(holder, components, blocking)
            work.undo_if_unknown(lambda later: later.locks.release(lock, self._timeout))
            if holder.transaction is not None:
                work.transaction_writes.add(holder.transaction, written(request))
        return _response(lock, blocking)

    def check(self, lock: int) -> LockResponse:
        """Renews a lock. Grants it if it was waiting and is no longer blocked.

        Raises LockNotFoundError, TransactionNotFoundError, TransactionAbortedError.
        """
        with self._store.transaction() as work:
            stored = required(work.locks.find(lock, self._timeout), _missing(lock))
            blocking = None
            if not stored.granted:
                work.locks.serialise_requests(stored.components)
                blocking = self._blocker(work, stored.components, stored.transaction, lock)
            if stored.transaction is not None:
                renew(work, stored.transaction, self._timeout)
            if stored.granted:
                in_time = work.locks.renew(lock, self._timeout)
            else:
                in_time = work.locks.set_blocker(lock, blocking, self._timeout)
            if not in_time:
                raise _missing(lock)
        return _response(lock, blocking)

    def unlock(self, lock: int) -> None:
        """Releases a lock. No error if it does not exist, because clients repeat calls that got no reply.

        Raises TransactionOpenError for a granted lock of a transaction, which ends with the transaction.
        """
        with self._store.transaction() as work:
            if work.locks.release(lock, self._timeout):
                return
            stored = work.locks.find(lock, self._timeout)
        if stored is not None:
            raise TransactionOpenError(
                f"Unlocking locks associated with transaction not permitted. lockid:{lock} ends with "
                f"txnid:{stored.transaction}: commit or abort the transaction"
            )

    def heartbeat(self, lock: int | None, transaction: int | None) -> None:
        """Renews a lock, a transaction, or both; 0 and None for neither.

        Raises LockNotFoundError, TransactionNotFoundError, TransactionAbortedError.
        """
        with self._store.transaction() as work:
            if transaction:
                renew(work, transaction, self._timeout)
            if lock and not work.locks.renew(lock, self._timeout):
                raise _missing(lock)

    def show(self, request: ShowLocksRequest) -> list[ShowLocksResponseElement]:
        """Lists locks that have not expired, in Hive's order: granted before waiting, shared before exclusive."""
        catalog, database = split_database(request.dbname)
        with self._store.read() as work:
            entries = work.locks.list_alive(
                self._timeout,
                catalog=catalog,
                database=database or None,
                table_name=fold(request.tablename) or None,
                partition_name=lower_case_columns(request.partname),
                transaction_id=request.txnid or None,
            )
        return [_element(entry) for entry in sorted(entries, key=_order)]

    def _one_at_a_time(self, work: UnitOfWork, components: Sequence[Component], user: str) -> None:
        """Serialises requests. Raises InvalidOperationError if the user has too many locks that have not expired."""
        room = self._per_user - len(components)
        if room >= 0 and work.locks.serialise_requests(components, user, self._per_user) <= room:
            return
        expire_leases(work, self._timeout)
        if room < 0 or work.locks.serialise_requests(components, user, self._per_user) > room:
            raise InvalidOperationError(
                f"User {user} cannot lock {len(components)} more objects: the limit is {self._per_user} "
                "(METASTORE_MAX_LOCKS). Release some locks."
            )

    def _blocker(
        self, work: UnitOfWork, components: Sequence[Component], transaction: int | None, lock: int | None
    ) -> Blocker | None:
        """Returns the lock that a request must wait for. If expired locks are in the way, they are deleted first."""
        snapshot = work.locks.snapshot(components, transaction, lock, self._timeout)
        blocking = blocker(components, transaction, snapshot.locks)
        if blocking is None or not snapshot.late:
            return blocking
        expire_leases(work, self._timeout)
        return blocker(components, transaction, work.locks.snapshot(components, transaction, lock, self._timeout).locks)


def _fails_at_once(request: LockRequest, blocking: Blocker) -> bool:
    """Returns whether a transaction's request fails instead of waiting (Hive 4)."""
    reads_now = request.zeroWaitReadEnabled and blocking.requested.type == LockType.SHARED_READ
    return bool(request.txnid and (reads_now or request.exclusiveCTAS))


def _not_acquired(blocking: Blocker) -> LockResponse:
    name = ".".join(filter(None, blocking.requested[2:]))
    text = f"Unable to acquire {blocking.requested.type.name} lock on {name}: lockid:{blocking.lock} blocks it"
    return LockResponse(_NOT_ACQUIRED, LockState.NOT_ACQUIRED, text)


def _response(lock: int, blocking: Blocker | None) -> LockResponse:
    return LockResponse(lock, LockState.WAITING if blocking else LockState.ACQUIRED)


def _missing(lock: int) -> LockNotFoundError:
    return LockNotFoundError(f"No such lock lockid:{lock}")


def _order(entry: LockEntry) -> tuple[bool, int, int, int]:
    return entry.acquired_at is None, _ORDER.index(entry.component.type), entry.id, entry.position


def _element(entry: LockEntry) -> ShowLocksResponseElement:
    waiting = entry.acquired_at is None
    return ShowLocksResponseElement(
        lockid=entry.id,
        dbname=entry.component.database,
        tablename=entry.component.table,
        partname=entry.component.partition,
        state=LockState.WAITING if waiting else LockState.ACQUIRED,
        type=int(entry.component.type),
        txnid=entry.holder.transaction or 0,
        lastheartbeat=milliseconds(entry.heartbeat_at),
        acquiredat=milliseconds(entry.acquired_at),
        user=entry.holder.user,
        hostname=entry.holder.host,
        heartbeatCount=entry.heartbeat_count,
        agentInfo=entry.holder.agent,
        blockedByExtId=entry.blocked_by,
        blockedByIntId=entry.blocked_by_position,
        lockIdInternal=entry.position,
    )
