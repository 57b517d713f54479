"""Lines of the log, as text or as JSON: one line each, bounded, whatever clients have put into names."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

FORMATS: Final = ("text", "json")
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
_LONGEST: Final = 4000  # characters of a message
_LONGEST_FIELD: Final = 500


class CallLine:
    """What the log has of a call, by name; as text, in one line."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __str__(self) -> str:
        shown = self.fields.copy()
        address, user, method, named = map(shown.pop, ("address", "user", "method", "object"))
        milliseconds, error = shown.pop("milliseconds"), shown.pop("error", None)
        rest = " ".join([f"{name}={value}" for name, value in shown.items()])
        line = f"{address} {user or '-'} {method} {named or '-'} {milliseconds} ms {rest}"
        return f"{line}: {error}" if error else line


def one_line(text: str, longest: int = _LONGEST_FIELD) -> str:
    """The text on one line, whatever a client has put into a name, and not longer than so many characters."""
    bounded = text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
    return bounded if bounded.isprintable() else bounded.translate(_CONTROLS)  # translating takes ten times as long


class TextFormatter(logging.Formatter):
    """Time, level, logger, process and message. A traceback follows its line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s[%(process)d] %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        record.message = one_line(record.message, _LONGEST)
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
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


def configure(level: str, form: str) -> None:
    """Has all loggers write to stderr, in one of FORMATS."""
    # Of each line; shown nowhere (Python's logging cookbook, "Optimization").
    logging.logThreads = logging.logMultiprocessing = False
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler])
