"""Dispatch: reads a call, admits it, calls its handler, records it, and writes the reply."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TTransportException

from metastore.context import CallDeferredError, Caller, caller, reply_memory
from metastore.errors import (
    ConnectionClosedError,
    ConnectionLostError,
    InvalidInputError,
    InvalidOperationError,
    MetastoreError,
    NullArgumentError,
    UnavailableError,
)
from metastore.identity import Identity
from metastore.monitoring.logs import one_line
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from metastore.protocol.before_hive_4 import REPLACED_METHODS, answer_for, error_for, note_version
from metastore.protocol.call_record import REJECTED, CallRecords, outcome_of, release
from metastore.protocol.exceptions import Declared, undeclared
from metastore.protocol.messages import read_arguments, write_result
from metastore.protocol.quotas import QuotaGuard
from metastore.protocol.rights.guard import Guard

Answer: TypeAlias = Any  # an instance of a generated *_result class, a TApplicationException, or None for oneway
_MAX_NAME: Final = 256  # characters of an unknown method's name in the log
_GROUPS_INTERVAL: Final = 60.0  # seconds between two look-ups of a user's groups
_CALLS: Final = (TMessageType.CALL, TMessageType.ONEWAY)


class Call:
    """A served method with its handler."""

    def __init__(self, method: Method, function: Callable[[Arguments], Any]) -> None:
        self.method = method
        self.function = function
        self.count = 0
        self._declared = Declared(method.result)
        self._is_replaced = method.name in REPLACED_METHODS

    def answered(self, arguments: Arguments, peer: Caller) -> tuple[Answer, Exception | None]:
        """Returns the answer, and the error that it reports, if any."""
        if self._is_replaced:
            note_version(peer, getattr(arguments, self.method.fields[0]))
        # A handler or filter may change the arguments; code that depends on the version reads the argument as the
        # client sent it.
        first = getattr(arguments, self.method.fields[0]) if peer.hive_version and self.method.fields else None
        try:
            self._check(arguments)
            success = self._call(arguments)
            if peer.hive_version:
                success = answer_for(self.method.name, first, success)
        except Exception as raised:  # noqa: BLE001 - every call gets an answer; an unexpected error is logged as one
            error = error_for(peer.hive_version, self.method.name, raised) if peer.hive_version else raised
            return self.failed(error), error
        if self.method.result is None:
            return None, None
        result = self.method.result()
        if hasattr(result, "success"):
            result.success = success
        return result, None

    def _check(self, arguments: Arguments) -> None:
        for name in self.method.structs:
            if getattr(arguments, name) is None:
                raise NullArgumentError(f"{self.method.name} was called without its argument {name}")

    def _call(self, arguments: Arguments) -> Any:
        try:
            return self.function(arguments)
        except ConnectionLostError:
            # PostgreSQL restarted, or closed an idle connection. Nothing was committed, and the pool is empty: a second
            # attempt gets a new connection.
            return self.function(arguments)

    def failed(self, error: Exception) -> Answer:
        """Returns the answer that reports an error."""
        if self.method.result is None:
            return None
        declared = self._declared.field_for(error)
        if declared is None:
            return undeclared(error)
        field, exception = declared
        return self.method.result(**{field: exception})


class Dispatcher:
    """Answers the calls of a process."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        handlers: Mapping[str, Any],
        records: CallRecords,
        guard: Guard | None = None,
        quotas: QuotaGuard | None = None,
        groups_of: Callable[[str], list[str]] = lambda _: [],
    ) -> None:
        """`handlers`: by the noun of their methods. `groups_of` looks up the groups of an authenticated user."""
        guard = guard or Guard()
        self._quotas = quotas
        self._groups_of = groups_of
        self._records = records
        self._counting = threading.Lock()
        self._connections = itertools.count(1)
        self._calls = {
            name: Call(method, guard.guarded(method, getattr(handlers[method.noun], name)))
            for name, method in methods.items()
        }

    def call(self, name: str, *values: Any) -> Any:
        """Calls a method with these arguments, without the wire. Raises the errors of its handler."""
        call = self._calls[name]
        return call.function(call.method.arguments(*values))

    def ask(self, peer: Caller, name: str, *values: Any) -> Any:
        """Calls a method with these arguments for a client of another protocol: within its rights and quotas, and with
        a record. Raises the errors of its handler.
        """
        call = self._calls[name]
        arguments = call.method.arguments(*values)
        number = self._records.begin(peer, name, 0, partial(call.method.label, arguments), time.perf_counter())
        answer, error = self._answer(call, arguments, peer, 0, None)
        self._records.end(number, outcome_of(error), error, answer=answer)
        if error is not None:
            raise error
        return getattr(answer, "success", None)

    def call_counts(self) -> dict[str, int]:
        """Returns the number of calls by method, of methods that were called."""
        return {name: call.count for name, call in self._calls.items() if call.count}

    def open_session(
        self, peer: str, identity: Identity | None = None, wire_format: str = "binary", *, encrypted: bool = False
    ) -> CallSession:
        """Begins a connection (`transport.session.SessionFactory`). `identity`: its authenticated user, if any."""
        client = Caller(peer, connection=next(self._connections), wire_format=wire_format, encrypted=encrypted)
        if identity is None:
            return CallSession(self, client)
        client.user, client.authentication, client.real_user = identity.user, identity.method, identity.real_user

        def groups_of(user: str) -> list[str]:
            own = identity.groups if user == identity.user else ()  # not of a user for whom a proxy user acts
            return [*dict.fromkeys([*self._groups_of(user), *own])]

        return KnownSession(self, client, groups_of)

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, peer: Caller, refusal: str | None = None) -> None:
        """Reads one message and writes its reply. With `refusal`, the call is not executed, and the reply is an error
        with this text. The transports count their bytes (`transport.session.Session`). Raises the protocol's errors for
        a malformed message: the connection must be closed.
        """
        started = time.perf_counter()
        name, kind, sequence = iprot.readMessageBegin()
        call = self._calls.get(name)
        if call is None or kind not in _CALLS:
            self._reject_unknown(iprot, oprot, peer, name, sequence, started)
            return
        arguments = call.method.arguments()
        rejection: MetastoreError | None = None
        if refusal is not None:
            iprot.skip(TType.STRUCT)
            rejection = UnavailableError(refusal)
        else:
            try:
                read_arguments(arguments, iprot)
            except TApplicationException as mismatch:
                rejection = InvalidInputError(f"{name} was called with other types than the IDL's: {mismatch}")
        iprot.readMessageEnd()
        size = iprot.trans.consumed
        with self._counting:
            call.count += 1
        number = self._records.begin(peer, name, sequence, partial(call.method.label, arguments), started)
        try:
            answer, error = self._answer(call, arguments, peer, size, rejection)
        except CallDeferredError:
            self._records.discard(number)
            raise
        try:
            if isinstance(error, ConnectionClosedError):
                raise TTransportException(TTransportException.END_OF_FILE, f"{name}: {error}")
            if answer is not None:
                _write(oprot, name, sequence, answer)
        finally:  # before the reply is sent: a client that has its reply finds the call in the log
            outcome = outcome_of(error) if refusal is None else REJECTED
            self._records.end(number, outcome, error, size, oprot.trans.written, answer)
            if error is not None:
                release(error)

    def _answer(
        self, call: Call, arguments: Arguments, peer: Caller, size: int, rejection: MetastoreError | None
    ) -> tuple[Answer, Exception | None]:
        quotas = self._quotas
        if quotas is None:
            return self._execute(call, arguments, peer) if rejection is None else (call.failed(rejection), rejection)
        rejection = rejection or quotas.before(peer, call.method, arguments, size)
        try:
            answer, error = (call.failed(rejection), rejection) if rejection else self._execute(call, arguments, peer)
        finally:
            quotas.end(peer)
        if error is None and (error := quotas.after(peer, call.method, answer)) is not None:
            answer = call.failed(error)
        return answer, error

    def _execute(self, call: Call, arguments: Arguments, peer: Caller) -> tuple[Answer, Exception | None]:
        token = caller.set(peer)
        # Only a call that reads may be stopped and executed again.
        memory = None if call.method.is_read else reply_memory.set(None)
        try:
            return call.answered(arguments, peer)
        finally:
            if memory:
                reply_memory.reset(memory)
            caller.reset(token)

    def closed(self, peer: Caller) -> None:
        """Ends a connection: its quotas are free again."""
        if self._quotas:
            self._quotas.closed(peer)

    def _reject_unknown(
        self, iprot: TProtocolBase, oprot: TProtocolBase, peer: Caller, name: str, sequence: int, started: float
    ) -> None:
        iprot.skip(TType.STRUCT)
        iprot.readMessageEnd()
        number = self._records.begin(peer, one_line(name, _MAX_NAME), sequence, str, started)
        error = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{name}'")
        _write(oprot, name, sequence, error)
        self._records.end(number, REJECTED, error, answer=error)


class CallSession:
    """One connection and its client."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller) -> None:
        self._dispatcher = dispatcher
        self._caller = caller

    @property
    def user(self) -> str | None:
        """The authenticated user, or the user for whom it acts; None: not authenticated."""
        return self._caller.user if self._caller.authentication else None

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """Reads one message and writes its reply, as `Dispatcher.handle`."""
        self._dispatcher.handle(iprot, oprot, self._caller, refusal)

    def close(self) -> None:
        """Ends the connection."""
        self._dispatcher.closed(self._caller)


class KnownSession(CallSession):
    """The connection of an authenticated client. Its groups are looked up at its first call, and then every minute."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller, groups_of: Callable[[str], list[str]]) -> None:
        super().__init__(dispatcher, caller)
        self._groups_of = groups_of
        self._looked_up = float("-inf")

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """Handles a message as CallSession does. May wait for a directory service.

        Rejects the call if the directory knows the user by another spelling of the name.
        """
        now = time.monotonic()
        if now - self._looked_up > _GROUPS_INTERVAL:
            try:
                self._caller.groups = self._groups_of(self._caller.user or "")
                self._looked_up = now
            except InvalidOperationError as error:
                refusal = refusal or str(error)
        super().handle(iprot, oprot, refusal)


def _write(oprot: TProtocolBase, name: str, sequence: int, answer: Answer) -> None:
    if isinstance(answer, TApplicationException):
        oprot.writeMessageBegin(name, TMessageType.EXCEPTION, sequence)
        answer.write(oprot)
    else:
        oprot.writeMessageBegin(name, TMessageType.REPLY, sequence)
        write_result(oprot, answer)
    oprot.writeMessageEnd()
