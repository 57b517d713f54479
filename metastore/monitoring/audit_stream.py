"""Sends the lines of the audit trail to a file, to syslog or to an OpenTelemetry collector, as JSON."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler, SysLogHandler
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from metastore.errors import ConfigurationError
from metastore.monitoring.logs import JsonFormatter
from metastore.settings.units import parse_size

_SYSLOG_PORT: Final = 514
_SCHEMES: Final = ("file", "syslog", "otlp")
_EXAMPLES: Final = (
    "file:/var/log/metastore/audit.json?max_size=100MiB&backups=10, syslog://host:514, syslog:/dev/log, "
    "or otlp:http://host:4318/v1/logs"
)

_NOT_OPENED: Final = -1


class AuditFile(RotatingFileHandler):
    """A file that is opened for each line, because several workers write to it in turn, and one of them rotates it."""

    _size = _NOT_OPENED  # bytes before the line

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record and closes the file. Called by the library."""
        self._size = _NOT_OPENED
        try:
            try:
                super().emit(record)
            finally:
                self.close()
        except OSError:
            if self._size != _NOT_OPENED:  # a full disk may have taken a part of the line
                with suppress(OSError):
                    os.truncate(self.baseFilename, self._size)
            raise

    def _open(self) -> TextIOWrapper:
        stream = super()._open()
        self._size = os.fstat(stream.fileno()).st_size
        return stream

    def handleError(self, _: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Passes the error on, such as that of a full disk: the line is written again later."""
        raise  # the library calls this method while it handles the error


def check_audit_stream(text: str) -> None:
    """Raises ConfigurationError for a URL with another scheme. Opens no file and connects to nothing."""
    for url in text.split():
        if url.partition(":")[0] not in _SCHEMES:
            raise ConfigurationError(f"audit_stream {url!r} must be {_EXAMPLES}")


def audit_handlers(text: str) -> list[logging.Handler]:
    """Returns handlers for the logger `metastore.audit`. `text`: METASTORE_AUDIT_STREAM, URLs separated by blanks.

    Raises ConfigurationError.
    """
    handlers = [_handler(url) for url in text.split()]
    for handler in handlers:
        handler.setFormatter(JsonFormatter())
    return handlers


def _handler(url: str) -> logging.Handler:
    scheme, _, rest = url.partition(":")
    try:
        if scheme == "otlp":
            return _collector(rest)
        parts = urlsplit(url)
        if scheme == "syslog" and parts.hostname:
            return SysLogHandler((parts.hostname, parts.port or _SYSLOG_PORT))
        if scheme == "syslog" and parts.path:
            Path(parts.path).stat()  # the handler connects at the first line
            return SysLogHandler(parts.path)
        if scheme == "file" and parts.path:
            return _file(Path(unquote(parts.path)), dict(parse_qsl(parts.query, strict_parsing=bool(parts.query))))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"audit_stream {url} cannot be used: {error}") from error
    raise ConfigurationError(f"audit_stream {url!r} must be {_EXAMPLES}")


def _file(path: Path, options: dict[str, str]) -> logging.Handler:
    """Returns a handler that writes to a file.

    Raises OSError if the file cannot be written, ValueError for an unknown option.
    """
    if unknown := options.keys() - {"max_size", "backups"}:
        raise ValueError(f"a file has no option {', '.join(sorted(unknown))}; it can have max_size and backups")
    with path.open("a"):  # reports a wrong path at startup
        pass
    size = parse_size(options["max_size"]) if "max_size" in options else 0
    return AuditFile(path, maxBytes=size, backupCount=int(options.get("backups", 10)), encoding="utf-8", delay=True)


def _collector(url: str) -> logging.Handler:
    """Returns a handler that sends log records by OTLP over HTTP. Raises ConfigurationError, ValueError."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("write otlp:http://host:4318/v1/logs")
    try:
        return Collector(url)
    except ImportError as error:
        raise ConfigurationError(
            "audit_stream otlp:… needs OpenTelemetry. Run: pip install 'metastore[tracing]'"
        ) from error


class Collector(logging.Handler):
    """Sends records to an OpenTelemetry collector by OTLP over HTTP. A thread sends them in batches."""

    def __init__(self, url: str) -> None:
        """Raises ImportError if OpenTelemetry is missing."""
        from opentelemetry._logs import LogRecord, SeverityNumber
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.resources import Resource

        super().__init__()
        self._record, self._info = LogRecord, SeverityNumber.INFO
        self._provider = LoggerProvider(resource=Resource.create({"service.name": "metastore"}))
        self._provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=url)))
        self._logger = self._provider.get_logger("metastore.audit")

    def emit(self, record: logging.LogRecord) -> None:
        """Sends a record. Called by the library."""
        moment = int(record.created * 1_000_000_000)
        self._logger.emit(
            self._record(timestamp=moment, severity_number=self._info, severity_text="INFO", body=self.format(record))
        )

    def flush(self) -> None:
        """Sends the waiting records."""
        self._provider.force_flush()

    def close(self) -> None:
        """Sends the waiting records, and ends the thread."""
        self._provider.shutdown()
        super().close()
