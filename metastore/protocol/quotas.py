"""Who asks for more than its quota allows is told so, and what would fit."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TTransportBase

from metastore.context import Caller
from metastore.domain.client_kinds import OTHER
from metastore.domain.quotas import Quota, Quotas
from metastore.domain.read_methods import is_read
from metastore.errors import QuotaExceededError
from metastore.protocol.call_record import rows_of
from metastore.protocol.encoding import write_result
from metastore.protocol.methods import Method

_FREE_DOMAINS: Final = ("base", "config")  # what clients say first, and what tells who they are
_FREE: Final = {"heartbeat", "heartbeat_txn_range", "unlock", "commit_txn", "abort_txn", "renew_write", "end_write"}
"""What ends or keeps something that others wait for."""
_GIVEN: Final = ("parts", "new_parts", "names", "part_names", "partNames", "partitions", "partitionNames")
_MOST_BUCKETS: Final = 10_000
_SETTING: Final = "METASTORE_QUOTAS"


class _Bucket:
    """As many calls as there are seconds' worth; one second's at most are saved up."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._tokens = float(rate)
        self._at = time.monotonic()

    def take(self) -> float:
        """Takes one; or returns the seconds until there is one."""
        now = time.monotonic()
        self._tokens = min(self.rate, self._tokens + (now - self._at) * self.rate)
        self._at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self.rate
        self._tokens -= 1
        return 0.0


class QuotaGuard:
    """Of one process: each worker grants for itself the calls of a second, those at once, and connections."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._lock = threading.Lock()
        self._buckets: dict[str, _Bucket] = {}
        self._calls: dict[str, set[int]] = {}  # by who is limited: connections with a call in flight
        self._connections: dict[str, set[int]] = {}  # the same: those that have called

    def before(self, peer: Caller, method: Method, arguments: Any, size: int) -> QuotaExceededError | None:
        """Returns the refusal of a call with a request of `size` bytes, if it is over a quota."""
        mine = self._of(peer)
        peer.max_partitions = min((quota.partitions for _, quota in mine if quota.partitions), default=None)
        if method.domain in _FREE_DOMAINS or method.name in _FREE:
            return None
        for who, quota in mine:
            if quota.calls and (wait := self._take(who, quota.calls)):
                return QuotaExceededError(
                    f"{who} may make {quota.calls} calls a second ({_SETTING}): try again in {max(wait, 0.1):.1f} s, "
                    f"or ask for more with one call"
                )
            given = _given(arguments) if quota.partitions or quota.bytes else 0
            if quota.partitions and given > quota.partitions:
                return QuotaExceededError(
                    f"{method.name} names {given} partitions, {who} may name {quota.partitions} in a call "
                    f"({_SETTING}): make calls of {quota.partitions} each"
                )
            if quota.bytes and size > quota.bytes:
                fits = f": make calls of {max(1, given * quota.bytes // size)} partitions each" if given > 1 else ""
                return QuotaExceededError(
                    f"{method.name} comes with {size} bytes, {who} may send {quota.bytes} in a call ({_SETTING}){fits}"
                )
        return self._begin(peer.connection, mine)

    def _begin(self, connection: int, mine: list[tuple[str, Quota]]) -> QuotaExceededError | None:
        with self._lock:
            for who, quota in mine:
                for what, most, held in (
                    ("connections", quota.connections, self._connections),
                    ("calls at once", quota.concurrent, self._calls),
                ):
                    others = held.get(who, ())
                    if most and len(others) >= most and connection not in others:
                        return QuotaExceededError(
                            f"{who} may have {most} {what} in a worker ({_SETTING}): try again later"
                        )
            for who, quota in mine:
                if quota.connections:
                    self._connections.setdefault(who, set()).add(connection)
                if quota.concurrent:
                    self._calls.setdefault(who, set()).add(connection)
        return None

    def end(self, peer: Caller) -> None:
        """Its call is not in flight any more."""
        self._let_go(self._calls, peer.connection)

    def closed(self, peer: Caller) -> None:
        """Its connection is not there any more."""
        self._let_go(self._connections, peer.connection)

    def _let_go(self, held: dict[str, set[int]], connection: int) -> None:
        if not held:
            return
        with self._lock:
            for who in [who for who, connections in held.items() if connection in connections]:
                held[who].discard(connection)
                if not held[who]:
                    del held[who]

    def after(self, peer: Caller, method: Method, result: Any) -> QuotaExceededError | None:
        """Returns the refusal of a call's answer, if it is over a quota. Only reads are refused so late."""
        most = min(((quota.bytes, who) for who, quota in self._of(peer) if quota.bytes), default=None)
        if most is None or result is None or not is_read(method.name):
            return None
        counted = _Counter()
        write_result(TBinaryProtocolAccelerated(counted), result)
        if counted.size <= most[0]:
            return None
        count = rows_of(getattr(result, "success", None)) or 0
        fits = f" ask for {max(1, count * most[0] // counted.size)} of the {count} at once" if count > 1 else ""
        return QuotaExceededError(
            f"the answer to {method.name} has {counted.size} bytes, {most[1]} may have {most[0]} in a call "
            f"({_SETTING}):{fits or ' ask for less at once'}"
        )

    def _of(self, peer: Caller) -> list[tuple[str, Quota]]:
        user = peer.user or peer.peer.rpartition(":")[0]
        client = peer.client or OTHER
        return [
            (f"user {user}", self._quotas.of_user(user)),
            (f"client {client}", self._quotas.of_client(client)),
        ]

    def _take(self, who: str, rate: int) -> float:
        with self._lock:
            bucket = self._buckets.get(who)
            if bucket is None:
                if len(self._buckets) >= _MOST_BUCKETS:
                    self._buckets.pop(next(iter(self._buckets)))
                bucket = self._buckets[who] = _Bucket(rate)
            return bucket.take()


class _Counter(TTransportBase):  # type: ignore[misc]
    """Counts what is written."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, buf: bytes) -> None:
        self.size += len(buf)

    def flush(self) -> None:
        """Does nothing."""


def _given(arguments: Any) -> int:
    """Tells how many partitions the arguments of a call, or its request, name."""
    most = 0
    for holder in (arguments, *(getattr(arguments, name) for name in arguments.__slots__)):
        for name in _GIVEN:
            value = getattr(holder, name, None)
            if isinstance(value, list):
                most = max(most, len(value))
    return most
