"""The one wrapper around every call: reads it, names its caller, times it, logs it, and answers whatever happens."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TApplicationException, TException, TMessageType, TType

from metastore.context import Caller, caller
from metastore.errors import ConnectionLostError, InvalidInputError, MetastoreError, UnavailableError
from metastore.protocol.encoding import write_result
from metastore.protocol.exceptions import Declared, text_of, undeclared
from metastore.protocol.fb303 import FacebookHandlers
from metastore.protocol.methods import Method, served
from metastore.protocol.reading import read_arguments

log = logging.getLogger("metastore.calls")

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


class Call:
    """One served method with the handler's function behind it."""

    def __init__(self, method: Method, function: Callable[..., Any]) -> None:
        self.method = method
        self._function = function
        self._fields = method.fields
        self._structs = method.structs
        self._declared = Declared(method.result)

    def result(self, arguments: Any) -> tuple[Any, Exception | None]:
        """Returns what to answer (a result struct or TApplicationException), and the error behind it, if any."""
        values = [getattr(arguments, name) for name in self._fields]
        try:
            self._check(arguments)
            success = self._answer(values)
        except Exception as error:  # noqa: BLE001 - every call is answered
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
                raise InvalidInputError(f"{self.method.name} was called without its argument {name}")

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

    def __init__(self, handlers: Mapping[str, Any], base: FacebookHandlers) -> None:
        self._base = base
        self._calls = {
            name: Call(method, getattr(base if method.domain == "base" else handlers[method.domain], name))
            for name, method in served().items()
        }

    def open_session(self, peer: str) -> CallSession:
        return CallSession(self, peer)

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, peer: Caller, refusal: str | None = None) -> None:
        """Reads one message and answers it; with `refusal`, only that. What cannot be read raises, and the connection
        is closed."""
        name, kind, sequence = iprot.readMessageBegin()
        started = time.perf_counter()
        call = self._calls.get(name)
        if call is None or kind not in (TMessageType.CALL, TMessageType.ONEWAY):
            iprot.skip(TType.STRUCT)
            iprot.readMessageEnd()
            text = f"Invalid method name: '{name}'"
            _reply(oprot, name, sequence, TApplicationException(TApplicationException.UNKNOWN_METHOD, text))
            log.info("%s %s: not served", peer.peer, name)
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
        self._base.count(name)
        answer, error = (call.failed(wrong), wrong) if wrong else self._result(call, arguments, peer)
        if answer is not None:
            _reply(oprot, name, sequence, answer)
        _log(peer, name, started, error)

    def _result(self, call: Call, arguments: Any, peer: Caller) -> tuple[Any, Exception | None]:
        token = caller.set(peer)
        try:
            return call.result(arguments)
        finally:
            caller.reset(token)


class CallSession:
    """One connection; remembers who speaks."""

    def __init__(self, dispatcher: Dispatcher, peer: str) -> None:
        self._dispatcher = dispatcher
        self._caller = Caller(peer)

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        self._dispatcher.handle(iprot, oprot, self._caller, refusal)

    def close(self) -> None:
        """Does nothing: nothing outlives a connection."""


def _reply(oprot: TProtocolBase, name: str, sequence: int, answer: Any) -> None:
    if isinstance(answer, TApplicationException):
        oprot.writeMessageBegin(name, TMessageType.EXCEPTION, sequence)
        answer.write(oprot)
    else:
        oprot.writeMessageBegin(name, TMessageType.REPLY, sequence)
        write_result(oprot, answer)
    oprot.writeMessageEnd()
    oprot.trans.flush()


def _line(text: str) -> str:
    """Returns the text on one line, whatever a client has put into a name."""
    return text.translate(_CONTROLS)


def _log(peer: Caller, name: str, started: float, error: Exception | None) -> None:
    milliseconds = (time.perf_counter() - started) * 1000
    if error is None:
        log.info("%s %s %s %.1f ms", peer.peer, _line(peer.user or "-"), name, milliseconds)
        return
    expected = isinstance(error, MetastoreError | TException | TExceptionBase)
    log.log(
        logging.INFO if expected else logging.ERROR,
        "%s %s %s %.1f ms: %s",
        peer.peer,
        _line(peer.user or "-"),
        name,
        milliseconds,
        _line(text_of(error)),
        exc_info=None if expected else error,
    )
