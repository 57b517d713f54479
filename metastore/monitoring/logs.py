"""Formats the log, as text or JSON. Each record is one line of bounded length, regardless of the names that clients
send."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

FORMATS: Final = ("text", "json")
STANDARD_ERROR: Final = 2
_MAX_MESSAGE: Final = 4000  # characters of a message
_MAX_FIELD: Final = 500
_MAX_TRACEBACK: Final = 16_000


class _Escapes(dict[int, str]):
    """Replacements for `str.translate`: escapes of control characters, format characters, surrogates, and separators
    other than a blank."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        return character if character.isprintable() else f"\\x{code:02x}"


_ESCAPES: Final = _Escapes()


class CallLine:
    """The log entry of a call: its fields, and its text form."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __str__(self) -> str:
        fields = self.fields
        line = (
            f"{fields['address']} {fields['user'] or '-'} {fields['method']} {fields['object'] or '-'} "
            f"{fields['milliseconds']} ms request={fields['request']} connection={fields['connection']} "
            f"client={fields['client']} database={fields['database']} waiting={fields['waiting']} "
            f"rows={fields['rows']} bytes={fields['bytes']} outcome={fields['outcome']}"
        )
        if blockers := fields.get("blocked_by"):
            line += f" blocked_by=[{one_line('; '.join(map(session_line, blockers)))}]"
        if sql := fields.get("sql"):
            line += f" sql={sql}"
        error = fields.get("error")
        return f"{line}: {error}" if error else line


class LineRecord(logging.LogRecord):
    """A log record without the file, line and thread that wrote it. Its creation takes a third of the time."""

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


def session_line(session: Mapping[str, Any]) -> str:
    """Returns, in one line, a session of PostgreSQL that blocks another one: see `Blocking.sessions`."""
    request = f"request {session['request']}, " if "request" in session else ""
    duration = f" for {session['seconds']:g} s" if "seconds" in session else ""
    if hint := session.get("hint"):
        process = f"pid {session['pid']}, " if session["pid"] else ""
        return f"{request}{process}{session['application']} of {session['user']}, {hint}"
    where = f"{session['application']} of {session.get('user', '?')} at {session.get('address', 'a socket')}"
    sql = f": {' '.join(session['sql'].split())}" if session.get("sql") else ""
    return f"{request}pid {session['pid']}, {where}, {session.get('state', '?')}{duration}{sql}"


def one_line(text: str, longest: int = _MAX_FIELD) -> str:
    """Returns the text with control characters escaped. A longer text is cut, and its length is appended."""
    bounded = text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
    return (
        bounded if bounded.isprintable() else bounded.translate(_ESCAPES)
    )  # `translate` takes ten times as long as the check


class _Formatter(logging.Formatter):
    """Base of both formatters."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Returns the end of a traceback, indented, so that the text of an error cannot look like a log line."""
        text = super().formatException(ei)[-_MAX_TRACEBACK:]
        return "\n".join(f"  {line.translate(_ESCAPES)}" for line in text.split("\n"))


class TextFormatter(_Formatter):
    """Writes time, level, logger, process and message. A traceback follows its line."""

    def __init__(self) -> None:
        super().__init__()
        self._second = 0, ""  # cache: the last second and its text

    def formatTime(self, record: logging.LogRecord, _: str | None = None) -> str:  # noqa: N802 - the library's name
        """Returns the local time with milliseconds."""
        second = int(record.created)
        cached, text = self._second
        if second != cached:
            text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
            self._second = second, text
        return f"{text},{int(record.msecs):03d}"

    def format(self, record: logging.LogRecord) -> str:
        message = one_line(record.getMessage(), _MAX_MESSAGE)
        line = f"{self.formatTime(record)} {record.levelname} {record.name}[{record.process}] {message}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(_Formatter):
    """Writes one JSON object per line. The fields of a call are fields of the object."""

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
            entry["message"] = one_line(record.getMessage(), _MAX_MESSAGE)
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


class _NoLock:
    """A lock that is always free. The library enters it as a context since Python 3.13, so that None is no lock."""

    def acquire(self) -> None:
        """Returns at once."""

    def release(self) -> None:
        """Returns at once."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class LineHandler(logging.Handler):
    """Writes each record with one system call, so that threads need no lock."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor`: a file descriptor that is open for writing."""
        super().__init__()
        self._descriptor = descriptor

    def createLock(self) -> None:  # noqa: N802 - the library's name
        """Creates a lock that never waits: the kernel does not mix the data of two writes."""
        self.lock = _NoLock()  # type: ignore[assignment] # the library only acquires and releases it

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record. Called by the library."""
        try:
            left = memoryview(f"{self.format(record)}\n".encode(errors="backslashreplace"))
            while left:
                left = left[os.write(self._descriptor, left) :]
        except Exception:  # noqa: BLE001 - as in the library's own handlers: a failing log must not fail the call
            self.handleError(record)


def configure(level: str, form: str) -> None:
    """Configures all loggers of this process to write to standard error. `form`: one of FORMATS."""
    # No format shows threads and source lines: do not collect them (Python's logging HOWTO, "Optimization").
    logging.logThreads = logging.logMultiprocessing = False
    logging._srcfile = None  # noqa: SLF001 - the documented way
    handler = LineHandler(STANDARD_ERROR)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler])
