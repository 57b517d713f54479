"""The log of a driver: the output of its Java, Python and functions, in two files of limited size.

The gateway writes the files, in a directory that the driver cannot write. So users can neither fill the disk with
output nor make the gateway write to other files.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

_FILE: Final = 10 * 2**20  # bytes
_PIECE: Final = 256 * 2**10  # bytes that asyncio reads at once
_REST: Final = 1.0  # seconds to wait for the rest of the output when a driver has ended


class DriverLog(asyncio.Protocol):
    """Copies the output of a driver to the file `log` of a directory. A full file becomes `log.1` and replaces the
    older one.

    The output is a pipe of its own: asyncio waits for the end of a process's pipes, which a user's function may keep.
    """

    def __init__(self, folder: Path) -> None:
        self._handler = _Handler(folder / "log", maxBytes=_FILE, backupCount=1, encoding="utf-8", errors="replace")
        self._handler.terminator = ""
        self._ended = asyncio.Event()
        self._transport: asyncio.BaseTransport | None = None

    async def open(self) -> int:
        """Returns the descriptor to which the driver writes. The caller closes it when the driver has it."""
        readable, writable = os.pipe()
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, os.fdopen(readable, "rb"))
        return writable

    def data_received(self, data: bytes) -> None:
        self._handler.emit(logging.makeLogRecord({"msg": data.decode(errors="replace")}))

    def connection_lost(self, _error: Exception | None) -> None:
        self._ended.set()

    async def end(self) -> None:
        """Waits a moment for the rest of the output, and closes the file. Call it when the driver has ended."""
        if self._transport is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _REST)
            self._transport.close()
        with suppress(OSError):  # the disk is full
            self._handler.close()

    def tail(self, length: int) -> str:
        """Returns the last characters of the newest file."""
        return Path(self._handler.baseFilename).read_text(errors="replace")[-length:]


class _Handler(RotatingFileHandler):
    """A full disk must not stop the driver: it only loses output."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in `logging`
        pass
