"""`metastore care run`: retention and discovery, then compaction with Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import click

from metastore.cli.care import expiring
from metastore.cli.care_discover import discovered
from metastore.cli.client import connected_client
from metastore.cli.names import split_object
from metastore.cli.printing import Cell, is_terminal, print_table, printable
from metastore.cli.spark import follow_client
from metastore.client import MetastoreClient
from metastore.client.care import HELD, expire
from metastore.client.errors import MetastoreRefusedError, NoSuchObjectError
from metastore.client.lease import LeaseHeldError
from metastore.domain.care import ON
from metastore.domain.care_plan import COMPACTION, DISCOVERY, RETENTION
from metastore.errors import InvalidInputError
from metastore.settings.units import parse_size
from thrift_idl.gen.metastore.ttypes import CarePartitionsRequest, CarePlanRequest

_COMMAND: Final = "metastore care run"
_HEADER: Final = ("table", "action", "partition", "files", "bytes", "files after", "bytes after", "outcome")
_PAGE: Final = 10_000
_FAILED: Final = ("failed", "refused")


class Limits(NamedTuple):
    """The limits of a run; None for no limit."""

    max_bytes: int | None
    max_seconds: float | None

    @classmethod
    def parsed(cls, size: str | None, minutes: float | None) -> Limits:
        """Returns the limits of the options. Raises InvalidInputError."""
        try:
            return cls(None if size is None else parse_size(size), None if minutes is None else 60 * minutes)
        except ValueError:
            raise InvalidInputError(f"--max-bytes {size!r} is not a size: write 50GiB") from None


def run(uri: str, name: str, limits: Limits, master: str, *, dry_run: bool) -> int:
    """Runs the care of the catalog, of a database or of a table, and prints what was done.

    Returns the exit status: 1 if a table was refused or a partition failed.
    """
    begun = time.monotonic()
    with connected_client(uri) as client:
        rows = [*_expired(client, name, dry_run=dry_run), *_discovered(client, name, dry_run=dry_run)]
        rows += _listed(client, name, dry_run=dry_run)
        tables = [] if dry_run else _compacting(client.methods, name)
    if tables:
        left = None if limits.max_seconds is None else max(0.0, limits.max_seconds - (time.monotonic() - begun))
        for row in _compacted(uri, tables, limits.max_bytes, left, master):
            rows.append(row)
            if is_terminal():
                click.echo(printable(f"{row[0]} {row[2]}: {row[-1]}"), err=True)
    print_table("Table care", _HEADER, rows)
    return 1 if any(str(row[-1]).startswith(_FAILED) for row in rows) else 0


def _expired(client: MetastoreClient, name: str, *, dry_run: bool) -> Iterator[tuple[Cell, ...]]:
    """Drops expired partitions, and yields a row for each, and for each table that is refused."""
    for database, table in expiring(client.methods, name, named=False):
        full_name = f"{database}.{table}"
        try:
            for one in expire(client.methods, database, table, dry_run=dry_run):
                kept = one.outcome == HELD
                after = (one.files, one.bytes) if kept else (0, 0)
                yield (full_name, RETENTION, one.name, one.files, one.bytes, *after, one.outcome)
        except (LeaseHeldError, MetastoreRefusedError, NoSuchObjectError) as error:
            yield _left(full_name, RETENTION, error)


def _discovered(client: MetastoreClient, name: str, *, dry_run: bool) -> Iterator[tuple[Cell, ...]]:
    """Adds and drops partitions by their directories, and yields a row for each, and for each table that is refused."""
    for full_name, found in discovered(client, name, named=False, dry_run=dry_run):
        if isinstance(found, Exception):
            yield _left(full_name, DISCOVERY, found)
        else:
            yield (full_name, DISCOVERY, found.partition, None, None, None, None, found.outcome)


def _listed(client: MetastoreClient, name: str, *, dry_run: bool) -> Iterator[tuple[Cell, ...]]:
    """Yields a row for each partition that would be compacted, if this is a dry run."""
    for full_name in _compacting(client.methods, name) if dry_run else ():
        database, table = full_name.split(".")
        after = ""
        while True:
            request = CarePartitionsRequest(database, table, kind=COMPACTION, after=after, limit=_PAGE)
            page = client.methods.get_care_partitions(request)
            for one in page:
                outcome = "skipped: partitions of dependent tables rest on it" if one.held else "would be compacted"
                partition = one.name if one.values else ""
                yield (full_name, COMPACTION, partition, one.files, one.bytes, one.filesAfter, one.bytes, outcome)
            if len(page) < _PAGE:
                break
            after = page[-1].name


def _compacting(methods: Any, name: str) -> list[str]:
    """Returns the tables whose policy is to compact, in the order of the plan."""
    database, table = split_object(name) if name else ("", "")
    plan = methods.get_care_plan(CarePlanRequest(database, table))
    actions = [action for action in plan.actions if (action.kind, action.mode) == (COMPACTION, ON)]
    return [f"{action.dbName}.{action.tableName}" for action in actions]


def _compacted(
    uri: str, tables: list[str], max_bytes: int | None, max_seconds: float | None, master: str
) -> Iterator[tuple[Cell, ...]]:
    """Compacts tables with Spark, and yields a row for each partition when it is done."""
    options = {"uri": uri, "master": master, "max-bytes": max_bytes, "max-seconds": max_seconds}
    arguments = [f"--{option}={value}" for option, value in options.items() if value is not None]
    for each in follow_client(_COMMAND, "spark_client.commands.care", ",".join(tables), *arguments):
        if reason := next((word for word in ("refused", "skipped") if word in each), None):
            yield _row(each["table"], COMPACTION, f"{reason}: {each[reason]}")
        elif "partition" in each:
            figures = (each["files"], each["bytes"], each["files_after"], each["bytes_after"])
            yield (each["table"], COMPACTION, each["partition"], *figures, each["outcome"])


def _left(table: str, action: str, error: Exception) -> tuple[Cell, ...]:
    return _row(table, action, f"{'skipped' if isinstance(error, LeaseHeldError) else 'refused'}: {error}")


def _row(table: str, action: str, outcome: str) -> tuple[Cell, ...]:
    return (table, action, None, None, None, None, None, outcome)
