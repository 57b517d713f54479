"""Lines of the log, as text or as JSON: one line each, bounded, whatever clients have put into names."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import UTC, datetime
from typing import Any, Final

FORMATS: Final = ("text", "json")
STANDARD_ERROR: Final = 2
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
_LONGEST: Final = 4000  # characters of a message
_LONGEST_FIELD: Final = 500
_LONGEST_TRACEBACK: Final = 16_000


class CallLine:
    """What the log has of a call, by name; as text, in one line."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __str__(self) -> str:
        shown = self.fields
        line = (
            f"{shown['address']} {shown['user'] or '-'} {shown['method']} {shown['object'] or '-'} "
            f"{shown['milliseconds']} ms request={shown['request']} connection={shown['connection']} "
            f"client={shown['client']} database={shown['database']} waiting={shown['waiting']} "
            f"rows={shown['rows']} bytes={shown['bytes']} outcome={shown['outcome']}"
        )
        if sql := shown.get("sql"):
            line += f" sql={sql}"
        return f"{line}: {error}" if (error := shown.get("error")) else line


class LineRecord(logging.LogRecord):
    """A line of the log that no code is looked for that wrote it: making such a record takes a third of the time."""

    _SAME: Final = vars(logging.LogRecord("", 0, "", 0, "%s", (), None))

    def __init__(self, logger: logging.Logger, level: int, line: CallLine, error: Exception | None = None) -> None:
        now = time.time()
        self.__dict__.update(
            self._SAME,
            name=logger.name,
            levelno=level,
            levelname=logging.getLevelName(level),
            created=now,
            msecs=now % 1 * 1000,
            process=os.getpid(),
            args=(line,),
            exc_info=(type(error), error, error.__traceback__) if error else None,
        )


def one_line(text: str, longest: int = _LONGEST_FIELD) -> str:
    """Returns the text on one line, whatever a client has put into a name, and not longer than so many characters."""
    bounded = text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
    return bounded if bounded.isprintable() else bounded.translate(_CONTROLS)  # translating takes ten times as long


class _Formatter(logging.Formatter):
    """What both have in common."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Returns the end of a traceback, each line indented: what an error says can look like no line of the log."""
        found = super().formatException(ei)[-_LONGEST_TRACEBACK:]
        return "\n".join(f"  {line.translate(_CONTROLS)}" for line in found.split("\n"))


class TextFormatter(_Formatter):
    """Time, level, logger, process and message. A traceback follows its line."""

    def __init__(self) -> None:
        super().__init__()
        self._second = 0, ""  # the last one, and how it is written

    def formatTime(self, record: logging.LogRecord, _: str | None = None) -> str:  # noqa: N802 - the library's name
        second = int(record.created)
        known, text = self._second
        if second != known:
            text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
            self._second = second, text
        return f"{text},{int(record.msecs):03d}"

    def format(self, record: logging.LogRecord) -> str:
        message = one_line(record.getMessage(), _LONGEST)
        line = f"{self.formatTime(record)} {record.levelname} {record.name}[{record.process}] {message}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(_Formatter):
    """One object a line; a call's fields beside the others."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
        }
        call = record.args[0] if isinstance(record.args, tuple) and record.args else None
        if isinstance(call, CallLine):
            entry |= call.fields
        else:
            entry["message"] = one_line(record.getMessage(), _LONGEST)
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


class LineHandler(logging.Handler):
    """Writes each record at once and whole, so that no thread waits for another's line."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor`: a file that is open for writing."""
        super().__init__()
        self._descriptor = descriptor

    def createLock(self) -> None:  # noqa: N802 - the library's name
        """Does without one: the kernel keeps what one call writes together."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            left = memoryview(f"{self.format(record)}\n".encode(errors="backslashreplace"))
            while left:
                left = left[os.write(self._descriptor, left) :]
        except Exception:  # noqa: BLE001 - as the library's own handlers: a log that fails ends no call
            self.handleError(record)


def configure(level: str, form: str) -> None:
    """Has all loggers of this process write to its standard error, in one of FORMATS."""
    # Of each line; shown nowhere (Python's logging cookbook, "Optimization").
    logging.logThreads = logging.logMultiprocessing = False
    logging._srcfile = None  # noqa: SLF001 - the same
    handler = LineHandler(STANDARD_ERROR)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler])
