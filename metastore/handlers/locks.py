"""Handlers of locks."""

from __future__ import annotations

from metastore.operations.answer_filters import locks
from metastore.operations.assignments import set_user
from metastore.operations.fields import TableFields
from metastore.operations.operation import from_fields, operation
from metastore.operations.requirements.transactions import (
    lockable,
    locks_to_read,
    own_locks,
    renewed_lock,
    renewed_transaction,
)
from metastore.services.locks import LockService
from thrift_idl.gen.hive_metastore.ttypes import (
    CheckLockRequest,
    HeartbeatRequest,
    LockRequest,
    LockResponse,
    ShowLocksRequest,
    ShowLocksResponse,
    UnlockRequest,
)


class LockHandlers:
    """`lock`, `check_lock`, `unlock`, `show_locks`, `heartbeat`."""

    def __init__(self, locks: LockService) -> None:
        self._locks = locks

    @operation(
        TableFields("rqst.component.0.dbname", "rqst.component.0.tablename"),
        from_fields(lockable, "rqst"),
        assignments=from_fields(set_user, "rqst"),
        served_read_only=from_fields(locks_to_read, "rqst"),
    )
    def lock(self, request: LockRequest) -> LockResponse:
        return self._locks.lock(request)

    @operation(None, from_fields(renewed_lock, "rqst.lockid"))
    def check_lock(self, request: CheckLockRequest) -> LockResponse:
        return self._locks.check(request.lockid or 0)

    @operation(None, from_fields(own_locks, "rqst.lockid"), missing_ok=True, quota_exempt=True)
    def unlock(self, request: UnlockRequest) -> None:
        self._locks.unlock(request.lockid or 0)

    @operation(TableFields("rqst.dbname", "rqst.tablename"), answer_filter=locks)
    def show_locks(self, request: ShowLocksRequest) -> ShowLocksResponse:
        return ShowLocksResponse(self._locks.show(request))

    @operation(
        None, from_fields(renewed_lock, "ids.lockid"), from_fields(renewed_transaction, "ids.txnid"), quota_exempt=True
    )
    def heartbeat(self, request: HeartbeatRequest) -> None:
        self._locks.heartbeat(request.lockid, request.txnid)
