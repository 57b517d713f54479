"""The report of a command of `metastore import`: one JSON object with the same fields for every command."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metastore.errors import ConfigurationError
from metastore.settings import safe_url


@dataclass
class Report:
    """The fields of a report. `docs/how-to/migrate.md` says what each command writes into them.

    Attributes:
        counts: objects by kind.
        digests: hexadecimal digits, by kind.
        differences: fields of objects that differ between source and server.
        findings: objects that were changed or left out.
        details: everything else.
        error: the message with which the command ended; None after a success.
    """

    command: str
    source: str
    server: str
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    differences: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    details: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@contextmanager
def reporting(file: Path | None, command: str, source: str, server: str) -> Iterator[Report]:
    """Yields a report, and writes it to `file` at the end of the block, even after an error or a signal.

    `source`, `server`: addresses. Their passwords are removed. Raises ConfigurationError if the file cannot be
    written: before the block, which may take long, if that can be known.
    """
    _check(file)
    report = Report(command, safe_url(source), safe_url(server))
    begun = time.monotonic()
    with _interruptible():
        try:
            yield report
        except BaseException as error:
            report.error = str(error) or "interrupted"
            raise
        finally:
            report.seconds = round(time.monotonic() - begun, 1)
            if file:
                _write(file, report)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets SIGTERM, and the end of a terminal session, interrupt the block as Ctrl-C does."""
    numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def as_dicts(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns named tuples as objects of a report."""
    return [row._asdict() for row in rows]


def _check(file: Path | None) -> None:
    if file and (file.is_dir() or not os.access(file if _is_stream(file) else file.resolve().parent, os.W_OK)):
        raise ConfigurationError(f"The report {file} cannot be written: choose a file in a writable folder")


def _is_stream(file: Path) -> bool:
    """Returns whether the file is a pipe or a device, such as /dev/stdout: it cannot be replaced."""
    return file.exists() and not file.is_file()


def _write(file: Path, report: Report) -> None:
    """Writes the report whole or not at all: until it is written, readers find the earlier report."""
    text = json.dumps(asdict(report), indent=2, default=str) + "\n"
    try:
        if _is_stream(file):
            file.write_text(text)
            return
        whole = file.resolve()
        part = whole.with_name(f".{whole.name}.part")
        part.write_text(text)
        part.replace(whole)
    except OSError as error:
        raise ConfigurationError(f"The report {file} cannot be written: {error.strerror}") from error
