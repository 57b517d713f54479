"""Quotas: calls that exceed them are rejected with an error that suggests a size that fits."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any, Final

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TTransportBase

from metastore.addresses import host_of, network_of
from metastore.context import Caller
from metastore.domain.client_kinds import OTHER
from metastore.domain.quotas import Quota, Quotas
from metastore.errors import QuotaExceededError
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from metastore.protocol.call_record import rows_of
from metastore.protocol.messages import write_result

_MOST_BUCKETS: Final = 10_000
_SETTING: Final = "METASTORE_QUOTAS"


class _TokenBucket:
    """Allows `rate` calls a second. Unused calls of at most one second are saved."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._tokens = float(rate)
        self._updated = time.monotonic()

    def take(self) -> float:
        """Takes a token. Without one, returns the seconds until there is one."""
        now = time.monotonic()
        self._tokens = min(self.rate, self._tokens + (now - self._updated) * self.rate)
        self._updated = now
        if self._tokens < 1:
            return (1 - self._tokens) / self.rate
        self._tokens -= 1
        return 0.0


class QuotaGuard:
    """Enforces quotas in a process. Each worker counts calls a second, concurrent calls and connections separately."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._lock = threading.Lock()
        self._buckets = OrderedDict[str, _TokenBucket]()
        self._calls: dict[str, set[int]] = {}  # holder of a quota → connections with a call in flight
        self._connections: dict[str, set[int]] = {}  # holder of a quota → connections that have called

    def before(self, peer: Caller, method: Method, arguments: Arguments, size: int) -> QuotaExceededError | None:
        """Returns the error for a call whose request, of `size` bytes, exceeds a quota."""
        applied = self._of(peer)
        peer.max_partitions = min((quota.partitions for _, quota in applied if quota.partitions), default=None)
        if method.operation.quota_exempt:
            return None
        for holder, quota in applied:
            if quota.calls and (wait := self._take(holder, quota.calls)):
                return QuotaExceededError(
                    f"{holder} may make {quota.calls} calls a second ({_SETTING}): try again in {max(wait, 0.1):.1f} "
                    f"s, or request more in each call"
                )
            if error := _exceeded(holder, quota, method, arguments, size):
                return error
        return self._begin(peer.connection, applied)

    def _begin(self, connection: int, applied: list[tuple[str, Quota]]) -> QuotaExceededError | None:
        with self._lock:
            for holder, quota in applied:
                for kind, limit, counted in (
                    ("connections", quota.connections, self._connections),
                    ("calls at once", quota.concurrent, self._calls),
                ):
                    connections = counted.get(holder, ())
                    if limit and len(connections) >= limit and connection not in connections:
                        return QuotaExceededError(
                            f"{holder} may have {limit} {kind} in a worker ({_SETTING}): try again later"
                        )
            for holder, quota in applied:
                if quota.connections:
                    self._connections.setdefault(holder, set()).add(connection)
                if quota.concurrent:
                    self._calls.setdefault(holder, set()).add(connection)
        return None

    def end(self, peer: Caller) -> None:
        """Ends the connection's call."""
        self._release(self._calls, peer.connection)

    def closed(self, peer: Caller) -> None:
        """Ends the connection."""
        self._release(self._connections, peer.connection)

    def _release(self, counted: dict[str, set[int]], connection: int) -> None:
        if not counted:
            return
        with self._lock:
            for holder in [holder for holder, connections in counted.items() if connection in connections]:
                counted[holder].discard(connection)
                if not counted[holder]:
                    del counted[holder]

    def after(self, peer: Caller, method: Method, result: Any) -> QuotaExceededError | None:
        """Returns the error for a call whose reply exceeds a quota. Only reads are rejected after they ran."""
        smallest = min(((quota.bytes, holder) for holder, quota in self._of(peer) if quota.bytes), default=None)
        if smallest is None or result is None or not method.is_read:
            return None
        limit, holder = smallest
        counter = _ByteCounter()
        write_result(TBinaryProtocolAccelerated(counter), result)
        if counter.size <= limit:
            return None
        count = rows_of(getattr(result, "success", None)) or 0
        fits = f" ask for {max(1, count * limit // counter.size)} of the {count} at once" if count > 1 else ""
        return QuotaExceededError(
            f"the answer to {method.name} has {counter.size} bytes, {holder} may have {limit} in a call "
            f"({_SETTING}):{fits or ' request less at once'}"
        )

    def _of(self, peer: Caller) -> list[tuple[str, Quota]]:
        user = peer.user or network_of(host_of(peer.peer))
        client = peer.client or OTHER
        return [
            (f"user {user}", self._quotas.of_user(user)),
            (f"client {client}", self._quotas.of_client(client)),
        ]

    def _take(self, holder: str, rate: int) -> float:
        with self._lock:
            bucket = self._buckets.get(holder)
            if bucket is None:
                if len(self._buckets) >= _MOST_BUCKETS:
                    self._buckets.popitem(last=False)
                bucket = self._buckets[holder] = _TokenBucket(rate)
            return bucket.take()


def _exceeded(holder: str, quota: Quota, method: Method, arguments: Arguments, size: int) -> QuotaExceededError | None:
    partitions = (method.entries(arguments) or 0) if quota.partitions or quota.bytes else 0
    if quota.partitions and partitions > quota.partitions:
        return QuotaExceededError(
            f"{method.name} names {partitions} partitions, {holder} may name {quota.partitions} in a call "
            f"({_SETTING}): make calls of {quota.partitions} each"
        )
    if quota.bytes and size > quota.bytes:
        fits = f": make calls of {max(1, partitions * quota.bytes // size)} partitions each" if partitions > 1 else ""
        return QuotaExceededError(
            f"{method.name} comes with {size} bytes, {holder} may send {quota.bytes} in a call ({_SETTING}){fits}"
        )
    return None


class _ByteCounter(TTransportBase):  # type: ignore[misc] # thrift has no types
    """Counts the bytes that are written."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, buf: bytes) -> None:
        self.size += len(buf)

    def flush(self) -> None:
        """Does nothing."""
