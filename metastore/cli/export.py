"""`metastore export`: writes the catalog for a database of Hive's metastore."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

import click

from metastore.app.database import database
from metastore.errors import ConfigurationError
from metastore.exporting.dialects import DIALECTS
from metastore.exporting.export import Export, Result
from metastore.settings import Settings
from metastore.storage.export.snapshot import snapshot
from metastore.storage.postgres.engine import make_engine
from migrations import runner

_TIMEOUT: Final = 7 * 24 * 3600.0  # seconds of one statement


def export_hive_sql(settings: Settings, file: Path, version: str, dialect: str) -> str:
    """Writes the file. Prints warnings, and returns a confirmation. Raises ConfigurationError, UnavailableError."""
    with database(settings) as url:
        runner.check(url, read_only=True)
        engine = make_engine(settings, url, statement_timeout=_TIMEOUT)
        try:
            with _written(file) as output, snapshot(engine, version) as source:
                result = Export(source, DIALECTS[dialect]).write(output)
        finally:
            engine.dispose()
    for warning in _warnings(result):
        click.echo(f"metastore: {warning}", err=True)
    counts = ", ".join(f"{result.rows[name]} {noun}" for name, noun in _SHOWN.items())
    return f"{file}: {sum(result.rows.values())} rows for Hive's schema {version} on {dialect}: {counts}"


_SHOWN: Final = {"DBS": "databases", "TBLS": "tables", "PARTITIONS": "partitions", "FUNCS": "functions"}


@contextmanager
def _written(file: Path) -> Iterator[TextIO]:
    """Yields a new file that only the user can read. A failure leaves no file."""
    if file.exists():
        raise ConfigurationError(f"{file} already exists: name another file, or delete it")
    part = file.with_name(file.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as output:
            yield output
        part.rename(file)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _warnings(result: Result) -> Iterator[str]:
    """Yields warnings about objects that are not in the file, and values that Hive's columns cannot store."""
    left_out = ", ".join(f"{number} {what}" for what, number in result.left_out.items() if number)
    if left_out:
        yield f"not exported: {left_out}"
    for (column, limit), number in sorted(result.too_long.items()):
        yield f"{number} values of {column} are longer than Hive's {limit} characters: widen the column before loading"
    for column, number in sorted(result.not_latin1.items()):
        yield f"{number} values of {column} are not latin1: before loading, change the column to CHARACTER SET utf8mb4"
