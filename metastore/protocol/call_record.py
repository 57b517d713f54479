"""What is written down of every call: counted on the board, a line in the log, the slow ones with their SQL."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException, TType

from metastore.context import Caller
from metastore.domain.client_kinds import kind_of
from metastore.errors import MetastoreError, QuotaExceededError, UnavailableError
from metastore.monitoring.logs import CallLine, LineRecord, one_line
from metastore.monitoring.shared_metrics import OUTCOMES, WorkerMetrics
from metastore.protocol.exceptions import text_of, told_as
from metastore.protocol.methods import Method

log = logging.getLogger("metastore.calls")

OK, DECLARED, REJECTED, UNAVAILABLE, FAILED = range(len(OUTCOMES))
_DATABASE: Final = ("dbName", "dbname", "db_name", "databaseName", "db", "dbNames")
_TABLE: Final = ("tableName", "tblName", "tbl_name", "tablename", "tab_name", "table_name", "tbl", "name", "table")
_MANY: Final = ("parts", "new_parts", "names", "part_names", "partNames", "partitions", "partitionNames", "part_vals")
Subject = Callable[[], str]

_SHOWN_AFTER: Final = 0.1  # seconds after which a call in flight is shown


class CallRecords:
    """Of one process. `slow`: seconds after which a call is one; `metrics`: where it is counted, if anywhere."""

    def __init__(self, slow: float, metrics: WorkerMetrics | None = None) -> None:
        self._slow = slow
        self._metrics = metrics
        self._numbers = itertools.count(1)
        self._process = os.getpid()
        self._now: dict[int, tuple[Caller, str, Subject, float]] = {}

    def begin(self, peer: Caller, method: str, sequence: int, subject: Subject, started: float) -> int:
        """Begins a call that arrived at `started` (perf_counter) in a message of this number; returns its own.
        `subject` tells what it is about, if anybody wants to know."""
        number = next(self._numbers)
        if not peer.client:
            peer.client = kind_of(method, sequence)
            if self._metrics:
                security = "+".join(filter(None, ("tls" if peer.encrypted else "", peer.authentication))) or "none"
                self._metrics.count_connection(peer.wire_format, security, peer.client)
        peer.database_seconds = peer.waiting_seconds = 0.0
        peer.statements, peer.statement, peer.request = [], "", number
        self._now[number] = peer, method, subject, started
        return number

    def end(
        self,
        number: int,
        outcome: int,
        error: Exception | None,
        request: int = 0,
        reply: int = 0,
        answer: Any = None,
    ) -> None:
        """Ends the call, whose reply, of so many bytes, is about to leave."""
        peer, method, subject, started = self._now.pop(number)
        seconds = time.perf_counter() - started
        success = getattr(answer, "success", None)
        if self._metrics:
            partitions = rows_of(success) or 0 if "partition" in method else 0
            told = told_as(answer) if outcome == DECLARED else ""
            sums = seconds, peer.database_seconds, peer.waiting_seconds, len(peer.statements), partitions
            self._metrics.count_call((method, outcome, told, request, reply, sums, peer.statements))
        slow = seconds >= self._slow
        level = logging.ERROR if outcome == FAILED else logging.WARNING if slow else logging.INFO
        if not (slow or log.isEnabledFor(level)):
            return
        fields = self._fields(number, peer, method, subject, seconds)
        fields["rows"], fields["bytes"], fields["outcome"] = rows_of(success), reply, OUTCOMES[outcome]
        if error is not None:
            fields["error"] = one_line(text_of(error))
        if slow:
            fields["sql"] = _shape(peer)
            if self._metrics:
                self._metrics.add_slow_call(fields | {"at": time.time()})
        log.handle(LineRecord(log, level, CallLine(fields), error if outcome == FAILED else None))

    def publish(self) -> None:
        """Shows what has been counted, and which calls are in flight."""
        if self._metrics:
            self._metrics.publish(Counter([method for _, method, _, _ in list(self._now.values())]))
            now = time.perf_counter()
            self._metrics.set_calls_in_flight(
                [
                    self._fields(number, peer, method, subject, now - started) | {"sql": _shape(peer)}
                    for number, (peer, method, subject, started) in reversed(list(self._now.items()))
                    if now - started > _SHOWN_AFTER  # the oldest last: where there is no room for all, they are kept
                ]
            )

    def _fields(self, number: int, peer: Caller, method: str, subject: Subject, seconds: float) -> dict[str, Any]:
        return {
            "request": f"{self._process}-{number}",
            "connection": peer.connection,
            "address": peer.peer,
            "user": one_line(peer.user or "") or None,
            "client": peer.client,
            "method": one_line(method, 256),
            "object": one_line(subject()) or None,
            "milliseconds": round(seconds * 1000, 1),
            "database": round(peer.database_seconds * 1000, 1),
            "waiting": round(peer.waiting_seconds * 1000, 1),
        }


def _shape(peer: Caller) -> str:
    return one_line(" ".join(peer.statement.split()))


def let_go(error: BaseException) -> None:
    """Cuts an error that has been told from the frames that it passed, and from what came before it.

    The frames hold the arguments of its call, and often the error, so that both would stay until Python looks for
    cycles. Errors may come before each other in a circle.
    """
    told = [error]
    while told:
        error = told.pop()
        told += [before for before in (error.__cause__, error.__context__) if before is not None]
        error.__cause__ = error.__context__ = error.__traceback__ = None


def outcome_of(error: Exception | None) -> int:
    """Returns the outcome of a call that was worked on."""
    if error is None:
        return OK
    if isinstance(error, QuotaExceededError):
        return REJECTED
    if isinstance(error, UnavailableError):
        return UNAVAILABLE
    return DECLARED if isinstance(error, MetastoreError | TException | TExceptionBase) else FAILED


def rows_of(success: Any) -> int | None:
    """Tells how many things an answer holds; None where it is one thing."""
    if success is None or isinstance(success, str | bytes):
        return None
    try:
        return len(success)
    except TypeError:
        pass
    for name in getattr(success, "__slots__", ()):
        value = getattr(success, name, None)
        if value is not None and not isinstance(value, str | bytes | int | bool):
            try:
                return len(value)
            except TypeError:
                continue
    return None


def subject_of(method: Method) -> Callable[[Any], str]:
    """Returns a function that tells what a call is about by its arguments: `db.table`, and how many partitions."""
    names = set(method.fields)
    structs = [field[2] for field in method.arguments.thrift_spec if field is not None and field[1] == TType.STRUCT]
    of_call = [_first(names, _DATABASE), _first(names, _TABLE), _first(names, _MANY)]

    def subject(arguments: Any) -> str:
        found = [getattr(arguments, name, None) if name else None for name in of_call]
        for struct in structs:
            inner = getattr(arguments, struct, None)
            for position, candidates in enumerate((_DATABASE, _TABLE, _MANY)):
                if found[position] is None and inner is not None:
                    found[position] = next((v for n in candidates if (v := getattr(inner, n, None)) is not None), None)
        database, table, many = found
        if database is None and isinstance(many, list) and many and hasattr(many[0], "tableName"):
            database, table = many[0].dbName, many[0].tableName
        table = getattr(table, "tableName", table)  # of a call that has a struct of that name
        text = ".".join(str(name) for name in (database, table) if name)
        return f"{text}[{len(many)}]" if isinstance(many, list) else text

    return subject


def _first(names: set[str], candidates: tuple[str, ...]) -> str | None:
    return next((candidate for candidate in candidates if candidate in names), None)
