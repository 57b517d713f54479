"""Locks on the wire."""

from __future__ import annotations

from metastore.services.entry.locks import LockService
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

    def lock(self, request: LockRequest) -> LockResponse:
        return self._locks.lock(request)

    def check_lock(self, request: CheckLockRequest) -> LockResponse:
        return self._locks.check(request.lockid or 0)

    def unlock(self, request: UnlockRequest) -> None:
        self._locks.unlock(request.lockid or 0)

    def show_locks(self, request: ShowLocksRequest) -> ShowLocksResponse:
        return ShowLocksResponse(self._locks.show(request))

    def heartbeat(self, request: HeartbeatRequest) -> None:
        self._locks.heartbeat(request.lockid, request.txnid)
