"""Runs a scenario on one metastore and records its answers as values that can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Table

# Times differ from run to run; only whether they are set is compared.
TIMES = {"createTime", "lastAccessTime", "eventTime", "lastAnalyzed", "transient_lastDdlTime", "acquiredat"}
TIMES |= {"lastheartbeat", "grantTime"}

APPLICATION = {
    getattr(TApplicationException, name): name for name in vars(TApplicationException) if name.isupper()
}  # names of the kinds of TApplicationException


class Recorder:
    """One metastore. Calls are made as on a generated client; an exception is recorded, and returned as None.

    `hive.at("a label", says="part of the text")` names the next step, and the expected text of its exception.
    """

    def __init__(self, host: str, port: int, warehouse: str) -> None:
        self.folder = Path(warehouse.removeprefix("file:"))
        self.steps: dict[str, Any] = {}
        self._address = (host, port)
        self._seen: Counter[str] = Counter()
        self._connect()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return self.at().__getattr__(method)

    def at(self, label: str = "", *, says: str = "", show: Callable[[Any], Any] = lambda answer: answer) -> Step:
        """Names the next call. `show` selects what of its answer is compared."""
        return Step(self, label, says, show)

    def files(self, folder: str) -> None:
        """Records the files below a folder of the warehouse; directories end with a slash."""
        root = self.folder / folder
        actual = sorted(
            f"{path.relative_to(root)}{'/' if path.is_dir() else ''}"
            for path in root.rglob("*")
            if not path.name.startswith(".")
        )
        self.note(f"files of {folder}", actual if root.is_dir() else None)

    def put(self, path: str, text: str = "12345") -> None:
        """Writes a file below the warehouse."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def note(self, label: str, answer: Any) -> None:
        """Records a step; a label that is used already gets a number."""
        self._seen[label] += 1
        times = self._seen[label]
        self.steps[label if times == 1 else f"{label} ({times})"] = answer

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Makes one call, over a new connection if the last one was closed."""
        try:
            return getattr(self._client, method)(*arguments)
        except (TTransportException, OSError):
            self.close()
            self._connect()
            raise

    def plain(self, value: Any) -> Any:
        """Returns a value of the wire without times and paths."""
        return _plain(value, str(self.folder))

    def close(self) -> None:
        self._transport.close()

    def _connect(self) -> None:
        socket = TSocket(*self._address)
        socket.setTimeout(60_000)
        self._transport = TBufferedTransport(socket)
        self._transport.open()
        self._client = ThriftHiveMetastore.Client(TBinaryProtocolAccelerated(self._transport))


class Step:
    """A call that is about to be made."""

    def __init__(self, recorder: Recorder, label: str, says: str, show: Callable[[Any], Any]) -> None:
        self._recorder, self._label, self._says, self._show = recorder, label, says, show

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            label = f"{method}: {self._label}" if self._label else method
            try:
                answer = self._recorder.call(method, arguments)
            except (TException, TExceptionBase, OSError) as error:
                self._recorder.note(label, _raised(error, self._says))
                return None
            self._recorder.note(label, self._recorder.plain(self._show(answer)))
            return answer

        return call


def _raised(error: Exception, says: str) -> dict[str, Any]:
    raised = {"raises": type(error).__name__}
    if isinstance(error, TTransportException | OSError):
        return {"raises": "hung up"}
    if isinstance(error, TApplicationException):
        raised["kind"] = APPLICATION.get(error.type, str(error.type))
    if says:
        text = str(error.message)
        raised["says"] = says if re.search(says, text) else text
    return raised


def _plain(value: Any, folder: str, name: str = "") -> Any:
    if isinstance(value, str):
        if name in TIMES and value.isdigit():
            return "<time>" if int(value) else value
        return value.replace(folder, "<warehouse>")
    if isinstance(value, int) and not isinstance(value, bool):
        return "<time>" if name in TIMES and value else value
    if isinstance(value, dict):
        return {key: _plain(each, folder, key) for key, each in sorted(value.items(), key=repr)}
    if isinstance(value, set | frozenset):
        return sorted(_plain(each, folder) for each in value)
    if isinstance(value, list | tuple):
        return [_plain(each, folder) for each in value]
    spec = getattr(value, "thrift_spec", None)
    if spec:
        fields = {field[2]: getattr(value, field[2]) for field in spec if field}
        if isinstance(value, Table) and value.id is not None:
            fields["id"] = "<id>"
        return Struct(type(value).__name__, {key: _plain(each, folder, key) for key, each in fields.items()})
    return value


class Struct(dict[str, Any]):
    """Returns a struct's fields, and its name."""

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.name = name
