"""Locks: leases in the database, shared by all servers, that end when their holder is silent for too long."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.lock_rules import Blocker, Component, LockType, blocker, lower_case_columns
from metastore.domain.names import fold, split_database
from metastore.errors import LockNotFoundError, TransactionOpenError
from metastore.services.rules.lock_requests import requested, written
from metastore.services.rules.lookup import required
from metastore.services.rules.transactions import expire_leases, open_ones, renew
from metastore.services.service import LeasingService
from metastore.storage.postgres.clock import milliseconds
from metastore.storage.repositories.locks import Holder, LockEntry
from metastore.storage.unit_of_work import UnitOfWork
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

    def lock(self, request: LockRequest) -> LockResponse:
        """Grants all that is asked for, or lets it wait.

        Raises InvalidInputError, TransactionNotFoundError, TransactionAbortedError.
        """
        wanted = requested(request)
        holder = Holder(request.txnid or None, request.user or "", request.hostname or "", request.agentInfo or "")
        with self._store.transaction() as work:
            work.locks.one_at_a_time(wanted)
            found = self._blocker(work, wanted, holder.transaction, None)
            if holder.transaction is not None:
                open_ones(work, [holder.transaction], self._timeout)
            if found and _gives_up(request, found):
                return _refused(found)
            lock = work.locks.insert(holder, wanted, found)
            work.undo_if_unknown(lambda later: later.locks.release(lock, self._timeout))
            if holder.transaction is not None:
                work.transaction_writes.add(holder.transaction, written(request))
        return _response(lock, found)

    def check(self, lock: int) -> LockResponse:
        """Renews a lock, and grants it if it waits and can be granted.

        Raises LockNotFoundError, TransactionNotFoundError, TransactionAbortedError.
        """
        with self._store.transaction() as work:
            standing = required(work.locks.find(lock, self._timeout), _missing(lock))
            found = None
            if not standing.granted:
                work.locks.one_at_a_time(standing.components)
                found = self._blocker(work, standing.components, standing.transaction, lock)
            if standing.transaction is not None:
                renew(work, standing.transaction, self._timeout)
            granted = standing.granted
            in_time = (
                work.locks.renew(lock, self._timeout) if granted else work.locks.set_blocker(lock, found, self._timeout)
            )
            if not in_time:
                raise _missing(lock)
        return _response(lock, found)

    def unlock(self, lock: int) -> None:
        """Releases a lock. One that is not there has been released: clients repeat what they got no answer to.

        Raises TransactionOpenError for a transaction's lock, which ends with it, unless it still waits.
        """
        with self._store.transaction() as work:
            if work.locks.release(lock, self._timeout):
                return
            standing = work.locks.find(lock, self._timeout)
        if standing is not None:
            raise TransactionOpenError(
                f"Unlocking locks associated with transaction not permitted. lockid:{lock} ends with "
                f"txnid:{standing.transaction}: commit or abort that"
            )

    def heartbeat(self, lock: int | None, transaction: int | None) -> None:
        """Renews a lock, a transaction, or both; 0 and None are neither.

        Raises LockNotFoundError, TransactionNotFoundError, TransactionAbortedError.
        """
        with self._store.transaction() as work:
            if transaction:
                renew(work, transaction, self._timeout)
            if lock and not work.locks.renew(lock, self._timeout):
                raise _missing(lock)

    def show(self, request: ShowLocksRequest) -> list[ShowLocksResponseElement]:
        """Returns the locks that are alive, in Hive's order: granted before waiting, shared before exclusive."""
        catalog, database = split_database(request.dbname)
        with self._store.read() as work:
            shown = work.locks.list_alive(
                self._timeout,
                catalog=catalog,
                database=database or None,
                table_name=fold(request.tablename) or None,
                partition_name=lower_case_columns(request.partname),
                transaction_id=request.txnid or None,
            )
        return [_element(lock) for lock in sorted(shown, key=_place)]

    def _blocker(
        self, work: UnitOfWork, wanted: Sequence[Component], transaction: int | None, lock: int | None
    ) -> Blocker | None:
        """Returns what a request must wait for. Somebody late is in nobody's way, and is ended where he would be."""
        standing = work.locks.snapshot(wanted, transaction, lock, self._timeout)
        found = blocker(wanted, transaction, standing.locks)
        if found is None or not standing.late:
            return found
        expire_leases(work, self._timeout)
        return blocker(wanted, transaction, work.locks.snapshot(wanted, transaction, lock, self._timeout).locks)


def _gives_up(request: LockRequest, found: Blocker) -> bool:
    """Tells whether a request is refused rather than made to wait: Hive 4 has such, of transactions."""
    reads_now = request.zeroWaitReadEnabled and found.requested.type == LockType.SHARED_READ
    return bool(request.txnid and (reads_now or request.exclusiveCTAS))


def _refused(found: Blocker) -> LockResponse:
    wanted = ".".join(filter(None, found.requested[2:]))
    text = f"Unable to acquire {found.requested.type.name} lock on {wanted}: lockid:{found.lock} is in the way"
    return LockResponse(_NOT_ACQUIRED, LockState.NOT_ACQUIRED, text)


def _response(lock: int, found: Blocker | None) -> LockResponse:
    return LockResponse(lock, LockState.WAITING if found else LockState.ACQUIRED)


def _missing(lock: int) -> LockNotFoundError:
    return LockNotFoundError(f"No such lock lockid:{lock}")


def _place(shown: LockEntry) -> tuple[bool, int, int, int]:
    return shown.acquired_at is None, _ORDER.index(shown.component.type), shown.id, shown.position


def _element(shown: LockEntry) -> ShowLocksResponseElement:
    waiting = shown.acquired_at is None
    return ShowLocksResponseElement(
        lockid=shown.id,
        dbname=shown.component.database,
        tablename=shown.component.table,
        partname=shown.component.partition,
        state=LockState.WAITING if waiting else LockState.ACQUIRED,
        type=int(shown.component.type),
        txnid=shown.holder.transaction or 0,
        lastheartbeat=milliseconds(shown.heartbeat_at),
        acquiredat=milliseconds(shown.acquired_at),
        user=shown.holder.user,
        hostname=shown.holder.host,
        heartbeatCount=shown.heartbeat_count,
        agentInfo=shown.holder.agent,
        blockedByExtId=shown.blocked_by,
        blockedByIntId=shown.blocked_by_position,
        lockIdInternal=shown.position,
    )
