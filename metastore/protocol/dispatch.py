"""The one wrapper around every call: reads it, names its caller, times it, logs it, and answers whatever happens."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TTransportException

from metastore.context import Caller, caller
from metastore.errors import (
    ConnectionClosedError,
    ConnectionLostError,
    InvalidInputError,
    MetastoreError,
    NullArgumentError,
    UnavailableError,
)
from metastore.identity import Identity
from metastore.protocol.before_hive_4 import LEFT, answered_by, note_hive, refused_by
from metastore.protocol.call_record import REJECTED, CallRecords, let_go, outcome_of, subject_of
from metastore.protocol.encoding import write_result
from metastore.protocol.exceptions import Declared, undeclared
from metastore.protocol.fb303 import FacebookHandlers
from metastore.protocol.methods import Method, served
from metastore.protocol.quotas import QuotaGuard
from metastore.protocol.reading import read_arguments
from metastore.protocol.rights.guard import Guard


class Call:
    """One served method with the handler's function behind it."""

    def __init__(self, method: Method, function: Callable[..., Any]) -> None:
        self.method = method
        self._function = function
        self._fields = method.fields
        self._structs = method.structs
        self._declared = Declared(method.result)
        self._was_left = method.name in LEFT
        self.subject = subject_of(method)

    def result(self, arguments: Any, peer: Caller) -> tuple[Any, Exception | None]:
        """Returns what to answer (a result struct or TApplicationException), and the error behind it, if any."""
        values = [getattr(arguments, name) for name in self._fields]
        if self._was_left:
            note_hive(peer, values[0])
        try:
            self._check(arguments)
            success = self._answer(values)
            if peer.hive_version:
                success = answered_by(self.method.name, values, success)
        except Exception as found:  # noqa: BLE001 - every call is answered
            error = refused_by(peer.hive_version, self.method.name, found) if peer.hive_version else found
            return self.failed(error), error
        if self.method.result is None:
            return None, None
        result = self.method.result()
        if hasattr(result, "success"):
            result.success = success
        return result, None

    def _check(self, arguments: Any) -> None:
        for name in self._structs:
            if getattr(arguments, name) is None:
                raise NullArgumentError(f"{self.method.name} was called without its argument {name}")

    def _answer(self, values: list[Any]) -> Any:
        try:
            return self._function(*values)
        except ConnectionLostError:
            # PostgreSQL was restarted, or an idle connection cut. Nothing was committed, and the pool is new.
            return self._function(*values)

    def failed(self, error: Exception) -> Any:
        """Returns what to answer (see `result`) because of the error."""
        if self.method.result is None:
            return None
        declared = self._declared.field_for(error)
        if declared is None:
            return undeclared(error)
        field, exception = declared
        return self.method.result(**{field: exception})


class Dispatcher:
    """The method table of one process. `handlers`: by domain, as in `protocol.methods`."""

    def __init__(
        self,
        handlers: Mapping[str, Any],
        base: FacebookHandlers,
        records: CallRecords,
        guard: Guard | None = None,
        quotas: QuotaGuard | None = None,
    ) -> None:
        """Raises ConfigurationError where a served method declares no rights."""
        guard = guard or Guard()
        self._base = base
        self._quotas = quotas
        self._records = records
        self._connections = itertools.count(1)
        self._calls = {
            name: Call(
                method,
                guard.guarded(method, getattr(base if method.domain == "base" else handlers[method.domain], name)),
            )
            for name, method in served().items()
        }

    def open_session(
        self,
        peer: str,
        identity: Identity | None = None,
        groups_of: Callable[[str], list[str]] = lambda _: [],
        wire_format: str = "binary",
        *,
        encrypted: bool = False,
    ) -> CallSession:
        """Begins a connection; `identity`: who it is, where that was asked; its groups are asked for when it calls.
        `wire_format`: how its messages come.
        """
        found = Caller(peer, connection=next(self._connections), wire_format=wire_format, encrypted=encrypted)
        if identity is None:
            return CallSession(self, found)
        found.user, found.authentication, found.real_user = identity.user, identity.method, identity.real_user
        return KnownSession(self, found, groups_of)

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, peer: Caller, refusal: str | None = None) -> None:
        """Reads one message and answers it; with `refusal`, only that. What cannot be read raises, and the connection
        is closed."""
        started = time.perf_counter()
        name, kind, sequence = iprot.readMessageBegin()
        call = self._calls.get(name)
        if call is None or kind not in (TMessageType.CALL, TMessageType.ONEWAY):
            self._not_served(iprot, oprot, peer, name, sequence, started)
            return
        arguments: Any = call.method.arguments()
        wrong: MetastoreError | None = None
        if refusal is not None:
            iprot.skip(TType.STRUCT)
            wrong = UnavailableError(refusal)
        else:
            try:
                read_arguments(arguments, iprot)
            except TApplicationException as mismatch:
                wrong = InvalidInputError(f"{name} was called with other types than the IDL's: {mismatch}")
        iprot.readMessageEnd()
        size = getattr(iprot.trans, "consumed", 0)
        self._base.count(name)
        number = self._records.begin(peer, name, sequence, partial(call.subject, arguments), started)
        if self._quotas and not wrong:
            wrong = self._quotas.before(peer, call.method, arguments, size)
        answer, error = (call.failed(wrong), wrong) if wrong else self._result(call, arguments, peer)
        if self._quotas:
            self._quotas.end(peer)
        if self._quotas and not error:
            error = self._quotas.after(peer, call.method, answer)
            answer = call.failed(error) if error else answer
        try:
            if isinstance(error, ConnectionClosedError):
                raise TTransportException(TTransportException.END_OF_FILE, f"{name}: {error}")
            if answer is not None:
                _write(oprot, name, sequence, answer)
        finally:  # before the reply leaves: who has it finds the line
            outcome = outcome_of(error) if refusal is None else REJECTED
            self._records.end(number, outcome, error, size, getattr(oprot.trans, "written", 0), answer)
            if error is not None:
                let_go(error)

    def closed(self, peer: Caller) -> None:
        """Its connection is over."""
        if self._quotas:
            self._quotas.closed(peer)

    def _not_served(
        self, iprot: TProtocolBase, oprot: TProtocolBase, peer: Caller, name: str, sequence: int, started: float
    ) -> None:
        iprot.skip(TType.STRUCT)
        iprot.readMessageEnd()
        number = self._records.begin(peer, name, sequence, str, started)
        error = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{name}'")
        _write(oprot, name, sequence, error)
        self._records.end(number, REJECTED, error, answer=error)

    def _result(self, call: Call, arguments: Any, peer: Caller) -> tuple[Any, Exception | None]:
        token = caller.set(peer)
        try:
            return call.result(arguments, peer)
        finally:
            caller.reset(token)


class CallSession:
    """One connection; remembers who speaks."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller) -> None:
        self._dispatcher = dispatcher
        self._caller = caller

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        self._dispatcher.handle(iprot, oprot, self._caller, refusal)

    def close(self) -> None:
        """Nothing but what it counted for outlives a connection."""
        self._dispatcher.closed(self._caller)


class KnownSession(CallSession):
    """The same of a caller whose name came with the connection: its groups are looked up when it calls."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller, groups_of: Callable[[str], list[str]]) -> None:
        super().__init__(dispatcher, caller)
        self._groups_of: Callable[[str], list[str]] | None = groups_of

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """May take its time, the first time."""
        groups_of, self._groups_of = self._groups_of, None
        if groups_of and self._caller.authentication:
            self._caller.groups = groups_of(self._caller.user or "")
        super().handle(iprot, oprot, refusal)


def _write(oprot: TProtocolBase, name: str, sequence: int, answer: Any) -> None:
    if isinstance(answer, TApplicationException):
        oprot.writeMessageBegin(name, TMessageType.EXCEPTION, sequence)
        answer.write(oprot)
    else:
        oprot.writeMessageBegin(name, TMessageType.REPLY, sequence)
        write_result(oprot, answer)
    oprot.writeMessageEnd()
