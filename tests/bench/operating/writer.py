"""A client that writes, knows the expected state, and continues at the other address when a server closes the
connection.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import AlreadyExistsException, Database, NoSuchObjectException
from thrift_idl.gen.metastore import Metastore

_PATIENCE: Final = 60.0  # seconds to wait for a reply
_PAUSE: Final = 0.05  # seconds before the other address is tried if no server answers


class Writer(threading.Thread):
    """Adds, alters and drops partitions of its own table, creates and drops other tables, and reads everything back."""

    def __init__(self, number: int, addresses: Sequence[tuple[str, int]]) -> None:
        super().__init__(name=f"writer {number}", daemon=True)
        self.database = f"db{number}"
        self.parts: dict[str, str] = {}
        self.tables: set[str] = {"t"}
        self.calls = self.hidden = 0
        self.failures: list[str] = []
        self.broken: list[str] = []  # the calls whose connection broke, with the client's address and its error
        self._addresses = list(addresses)
        self._random = random.Random(number)
        self._ended = threading.Event()
        self._client: Any = None
        self._transport: Any = None
        self._socket: Any = None

    def end(self) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        try:
            self._call("create_database", Database(self.database))
            self._call("create_table", table(self.database, "t", [("ds", "string")]))
            while not self._ended.is_set():
                self._random.choice(
                    (self._add, self._add, self._alter, self._drop, self._make, self._remove, self._read)
                )()
        except Exception as error:  # noqa: BLE001 - it is reported
            self.failures.append(f"{self.name}: {type(error).__name__}: {error}")

    def _add(self) -> None:
        day = str(self._random.randrange(10_000))
        if day not in self.parts:
            self._call("add_partition", partition(self.database, "t", [day], parameters={"v": "0"}))
            self.parts[day] = "0"

    def _alter(self) -> None:
        if self.parts:
            day, version = self._random.choice(list(self.parts)), str(self._random.random())
            stored = self._call("get_partition", self.database, "t", [day])
            stored.parameters["v"] = version
            self._call("alter_partition", self.database, "t", stored)
            self.parts[day] = version

    def _drop(self) -> None:
        if self.parts:
            day = self._random.choice(list(self.parts))
            self._call("drop_partition", self.database, "t", [day], True)
            del self.parts[day]

    def _make(self) -> None:
        name = f"t{self._random.randrange(50)}"
        if name not in self.tables:
            self._call("create_table", table(self.database, name))
            self.tables.add(name)

    def _remove(self) -> None:
        names = sorted(self.tables - {"t"})
        if names:
            name = self._random.choice(names)
            self._call("drop_table", self.database, name, True)
            self.tables.remove(name)

    def _read(self) -> None:
        self.failures += self.differences()

    def differences(self) -> list[str]:
        """Returns differences between the metastore's answers and this writer's expectations."""
        names = self._call("get_partition_names", self.database, "t", -1)
        there = {each.values[0]: each.parameters["v"] for each in self._call("get_partitions", self.database, "t", -1)}
        both = {
            "names": ({f"ds={day}" for day in self.parts}, set(names)),
            "partitions": (self.parts, there),
            "tables": (self.tables, set(self._call("get_all_tables", self.database))),
        }
        return [f"{self.name}: {what}: {known} != {told}" for what, (known, told) in both.items() if known != told]

    def strays(self, warehouse: Path) -> list[str]:
        """Returns unreferenced and missing directories."""
        home = warehouse / f"{self.database}.db"
        wanted = {*self.tables, *(f"t/ds={day}" for day in self.parts)}
        actual = {str(path.relative_to(home)) for path in [*home.glob("[!.]*"), *home.glob("t/[!.]*")]}
        return [f"{self.name}: {path}" for path in sorted(wanted ^ actual)]

    def _call(self, method: str, *arguments: Any) -> Any:
        """Repeats a call at the other address, as clients do. An error that says the change exists already counts as
        success.
        """
        deadline, repeated = time.monotonic() + _PATIENCE, False
        while True:
            try:
                if self._client is None:
                    self._connect()
                result = getattr(self._client, method)(*arguments)
                self.calls += 1
                return result
            except (TTransportException, OSError, EOFError) as error:
                self.hidden += 1
                self.broken.append(f"{self.name}: {method} from {self._local()}: {type(error).__name__}: {error}")
                self.close()
                self._addresses.append(self._addresses.pop(0))
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{method} is not answered by anybody") from error
                repeated = True
                time.sleep(_PAUSE)
            except (AlreadyExistsException, NoSuchObjectException):
                if not repeated:
                    raise
                return None

    def _local(self) -> str:
        """Returns the client's address, as the server's log names it."""
        try:
            host, port = self._socket.handle.getsockname()[:2]
        except (AttributeError, OSError):
            return "a new connection"
        return f"{host}:{port}"

    def _connect(self) -> None:
        self._socket = TSocket(*self._addresses[0])
        self._transport = TBufferedTransport(self._socket)
        self._transport.open()
        self._client = Metastore.Client(TBinaryProtocolAccelerated(self._transport))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._client = self._transport = None
