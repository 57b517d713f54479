"""A client that creates, drops, undrops and overwrites tables with files, and repeats a failed call once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, MetaException
from thrift_idl.gen.metastore import Metastore
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    UndropRequest,
)

_PAUSE: Final = 1.0  # seconds before a call is repeated
_TABLES: Final = 6
_FAILED: Final = (TTransportException, MetaException, OSError, EOFError)


class Changer(threading.Thread):
    """Changes tables of its own database. `written`: the texts of all files, each beginning with its table's name."""

    def __init__(self, number: int, address: tuple[str, int], warehouse: Path) -> None:
        super().__init__(name=f"changer {number}", daemon=True)
        self.database = f"db{number}"
        self.written: set[str] = set()
        self.acknowledged: list[tuple[float, str, str]] = []  # time, method, table
        self.failed: list[str] = []
        self.repeated = self.rejected = self.blocked = 0
        self._address, self._warehouse = address, warehouse
        self._random = random.Random(number)
        self._ended = threading.Event()
        self._transport: Any = None

    def run(self) -> None:
        self.call("create_database", self.database, Database(self.database))
        deeds: Sequence[Callable[[str], object]] = (
            self._create,
            self._create,
            self._overwrite,
            self._drop,
            self._undrop,
        )
        while not self._ended.is_set():
            self._random.choice(deeds)(f"t{self._random.randrange(_TABLES)}")
        self.close()

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _create(self, name: str) -> None:
        if self.call("create_table", name, table(self.database, name, [("ds", "string")])):
            new = partition(self.database, name, ["1"])
            if self.call("add_partition", name, new):
                self._write(name, self._warehouse / f"{self.database}.db" / name / "ds=1" / f"part-0_{uuid4()}")

    def _drop(self, name: str) -> None:
        self.call("drop_table", name, self.database, name, True)

    def _undrop(self, name: str) -> None:
        self.call("undrop", name, UndropRequest(self.database, name))

    def _overwrite(self, name: str) -> None:
        (begun,) = self.call("begin_write", name, BeginWriteRequest(self.database, name)) or (None,)
        if begun is None:
            return
        query_id = begun.queryId
        location = self._warehouse / f"{self.database}.db" / name / "_versions" / query_id / "ds=1"
        location.mkdir(parents=True, exist_ok=True)
        self._write(name, location / f"part-0_{query_id}")
        entry = PublishPartition(["1"], PublishMode.OVERWRITE, f"file:{location}", [])
        self.call("publish", name, PublishRequest(self.database, name, query_id, [entry]))

    def _write(self, name: str, file: Path) -> None:
        """Writes a file, unless its directory was moved away meanwhile."""
        text = f"{self.database}.{name}:{uuid4()}"
        with suppress(FileNotFoundError), file.open("x") as opened:
            opened.write(text)
            self.written.add(text)

    def call(self, method: str, name: str, *arguments: Any) -> tuple[Any] | None:
        """Returns the reply, in a tuple, or None if the call was rejected or failed twice."""
        for attempt in range(2):
            try:
                reply = getattr(self._client(), method)(*arguments)
            except _FAILED as error:
                self.close()
                self.repeated += 1
                if attempt and "File operations of an earlier drop" in str(error):
                    self.blocked += 1  # an operation that was carried out in the lost time, until the reconciliation
                    return None
                if attempt:
                    self.failed.append(f"{method} {self.database}.{name}: {type(error).__name__}: {error}")
                    return None
                time.sleep(_PAUSE)
            except (TException, TExceptionBase):  # it exists already, does not exist, or is in use
                self.rejected += 1
                return None
            else:
                self.acknowledged.append((time.monotonic(), method, name))
                return (reply,)
        return None

    def _client(self) -> Any:
        if self._transport is None:
            self._transport = TBufferedTransport(TSocket(*self._address))
            self._transport.open()
        return Metastore.Client(TBinaryProtocolAccelerated(self._transport))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None
