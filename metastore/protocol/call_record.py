"""Records of calls: counts for the metrics, a line in the log, and the SQL of slow calls."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.context import Caller, CurrentCall
from metastore.domain.client_kinds import kind_of
from metastore.encoding.binary import EncodedStruct
from metastore.errors import ExhaustedError, LockTimeoutError, MetastoreError, QuotaExceededError, UnavailableError
from metastore.monitoring.logs import CallLine, LineRecord, one_line
from metastore.monitoring.shared_metrics import OUTCOMES, FinishedCall, WorkerMetrics
from metastore.protocol.exceptions import exception_of, text_of

log = logging.getLogger("metastore.calls")

OK, DECLARED, REJECTED, UNAVAILABLE, FAILED = range(len(OUTCOMES))
Label: TypeAlias = Callable[[], str]

_SINGLE: Final = (EncodedStruct, str, bytes, int)
_LISTED_AFTER: Final = 0.1  # seconds after which a call in flight is listed
_EXPLAINED_AFTER: Final = 0.9  # seconds after which the sessions that block a call are looked up


class CallRecords:
    """Records the calls of a process. `slow`: seconds after which a call is logged as slow. `metrics`: the worker's
    counters, if there are any.
    """

    def __init__(self, slow: float, metrics: WorkerMetrics | None = None) -> None:
        self._slow = slow
        self._metrics = metrics
        self._numbers = itertools.count(1)
        self._process = os.getpid()
        self._now: dict[int, tuple[Caller, str, Label, float]] = {}

    def begin(self, peer: Caller, method: str, sequence: int, label: Label, started: float) -> int:
        """Begins a call and returns its number. `method`: its name, in one line. `sequence`: the number of its message.
        `label`: returns the object that the call is about. `started`: its arrival, by perf_counter.
        """
        number = next(self._numbers)
        if not peer.client:
            peer.client = kind_of(method, sequence)
            if self._metrics:
                security = "+".join(filter(None, ("tls" if peer.encrypted else "", peer.authentication))) or "none"
                self._metrics.count_connection(peer.wire_format, security, peer.client)
        peer.call = CurrentCall(number)
        self._now[number] = peer, method, label, started
        return number

    def discard(self, number: int) -> None:
        """Forgets a call that is executed again later."""
        del self._now[number]

    def end(
        self,
        number: int,
        outcome: int,
        error: Exception | None,
        request: int = 0,
        reply: int = 0,
        answer: Any = None,
    ) -> None:
        """Ends a call. `request`, `reply`: bytes of its messages. The reply is not sent yet."""
        peer, method, label, started = self._now.pop(number)
        call, seconds = peer.call, time.perf_counter() - started
        success = getattr(answer, "success", None)
        if self._metrics:
            partitions = rows_of(success) or 0 if "partition" in method else 0
            exception = exception_of(answer) if outcome == DECLARED else ""
            sums = seconds, call.database_seconds, call.waiting_seconds, len(call.statements), partitions
            if isinstance(error, ExhaustedError):
                self._metrics.add(**{error.condition: 1})
            who = peer.client, peer.user or ""
            self._metrics.count_call(
                FinishedCall(who, method, outcome, exception, request, reply, sums, call.statements)
            )
        slow = seconds >= self._slow
        level = logging.ERROR if outcome == FAILED else logging.WARNING if slow else logging.INFO
        if not (slow or log.isEnabledFor(level)):
            return
        fields = self._fields(number, peer, method, label, seconds)
        fields["rows"], fields["bytes"], fields["outcome"] = rows_of(success), reply, OUTCOMES[outcome]
        if error is not None:
            fields["error"] = one_line(text_of(error))
        if slow:
            fields["sql"] = _shape(call.slowest)
            if call.blocked_by:
                fields["blocked_by"] = call.blocked_by
            if self._metrics:
                self._metrics.add_slow_call(fields | {"at": time.time()})
        log.handle(LineRecord(log, level, CallLine(fields), error if outcome == FAILED else None))

    def note_blockers(self, read: Callable[[Sequence[int]], Mapping[int, Sequence[Mapping[str, Any]]]]) -> None:
        """Records which sessions of PostgreSQL block the calls in flight, for the log line of a slow call.

        `read` returns the sessions that block each of these sessions, by process id. Call it about once a second.
        """
        now = time.perf_counter()
        waiting = {
            peer.call.backend: (number, peer)
            for number, (peer, _, _, started) in list(self._now.items())
            if peer.call.backend and now - started > _EXPLAINED_AFTER
        }
        if not waiting:
            return
        for pid, sessions in read(list(waiting)).items():
            number, peer = waiting[pid]
            if peer.call.request == number:  # the connection may have begun another call
                peer.call.blocked_by = [self._blocker(session) for session in sessions]

    def _blocker(self, session: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a blocking session for the log: without its statement, which contains values."""
        known = {name: value for name, value in session.items() if name != "sql"}
        for number, (peer, *_) in list(self._now.items()):
            if peer.call.backend == session["pid"]:
                known["request"] = self._request(number)
        return known

    def publish(self) -> None:
        """Publishes the counts and the calls in flight."""
        if self._metrics:
            self._metrics.publish(Counter([method for _, method, _, _ in list(self._now.values())]))
            now = time.perf_counter()
            self._metrics.set_calls_in_flight(
                [
                    self._fields(number, peer, method, label, now - started)
                    | {"sql": _shape(peer.call.statement), "backend": peer.call.backend or None}
                    for number, (peer, method, label, started) in reversed(list(self._now.items()))
                    if now - started > _LISTED_AFTER  # the oldest last: the board drops the first if there are too many
                ]
            )

    def _request(self, number: int) -> str:
        return f"{self._process}-{number}"

    def _fields(self, number: int, peer: Caller, method: str, label: Label, seconds: float) -> dict[str, Any]:
        return {
            "request": self._request(number),
            "connection": peer.connection,
            "address": peer.peer,
            "user": one_line(peer.user or "") or None,
            "client": peer.client,
            "method": method,
            "object": one_line(label()) or None,
            "milliseconds": round(seconds * 1000, 1),
            "database": round(peer.call.database_seconds * 1000, 1),
            "waiting": round(peer.call.waiting_seconds * 1000, 1),
        }


def _shape(statement: str) -> str:
    return one_line(" ".join(statement.split()))


def release(error: BaseException) -> None:
    """Removes the traceback, cause and context of an error that was reported.

    The frames of the traceback hold the call's arguments, and often the error itself: without this, both stay in memory
    until Python collects cycles. Causes and contexts may form a circle.
    """
    errors = [error]
    while errors:
        error = errors.pop()
        errors += [cause for cause in (error.__cause__, error.__context__) if cause is not None]
        error.__cause__ = error.__context__ = error.__traceback__ = None


def outcome_of(error: Exception | None) -> int:
    """Returns the outcome of a call that was executed."""
    if error is None:
        return OK
    if isinstance(error, QuotaExceededError):
        return REJECTED
    if isinstance(error, UnavailableError | LockTimeoutError):
        return UNAVAILABLE
    return DECLARED if isinstance(error, MetastoreError | TException | TExceptionBase) else FAILED


def rows_of(success: Any) -> int | None:
    """Returns the number of items in an answer; None if it is a single value."""
    if success is None or isinstance(success, _SINGLE):
        return None
    try:
        return len(success)
    except TypeError:
        pass
    for name in getattr(success, "__slots__", ()):
        value = getattr(success, name, None)
        if value is not None and not isinstance(value, _SINGLE):
            try:
                return len(value)
            except TypeError:
                continue
    return None
