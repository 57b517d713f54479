"""Writers that repeat a failed call once, after a second, as a careful client does."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from tests.wire.builders import partition
from thrift_idl.gen.hive_metastore.ttypes import AlreadyExistsException
from thrift_idl.gen.metastore import Metastore

Address = tuple[str, int]
PAUSE: Final = 1.0  # seconds before a call is repeated


class WriterOnce(threading.Thread):
    """Adds partitions to a table until it is stopped.

    A failed call is repeated once, at the next address and on a new connection.
    """

    def __init__(self, addresses: Sequence[Address], table: tuple[str, str], number: int) -> None:
        super().__init__(daemon=True)
        self._addresses, self._table, self._number = list(addresses), table, number
        self._ended = threading.Event()
        self._transport: Any = None
        self.acknowledged: list[str] = []
        self.longest = 0.0  # seconds of a call
        self.repeated = 0
        self.failed: list[str] = []

    def run(self) -> None:
        count = 0
        while not self._ended.is_set():
            count += 1
            self._add(f"w{self._number}-{count}")
        self._close()

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _add(self, value: str) -> None:
        started = time.monotonic()
        for attempt in range(2):
            try:
                self._client().add_partition(partition(*self._table, [value]))
            except AlreadyExistsException:  # the first attempt was committed
                pass
            except (TException, TExceptionBase, OSError, EOFError) as error:
                self._close()
                self._addresses.append(self._addresses.pop(0))
                self.repeated += 1
                if attempt:
                    self.failed.append(str(error))
                time.sleep(PAUSE)
                continue
            self.acknowledged.append(value)
            self.longest = max(self.longest, time.monotonic() - started)
            return

    def _client(self) -> Any:
        if self._transport is None:
            self._transport = TBufferedTransport(TSocket(*self._addresses[0]))
            self._transport.open()
        return Metastore.Client(TBinaryProtocolAccelerated(self._transport))

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None
