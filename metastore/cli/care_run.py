"""`metastore care run`: retention and discovery, then compaction and statistics with Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from metastore.cli.care import expiring
from metastore.cli.care_discover import discovered
from metastore.cli.client import connected_client
from metastore.cli.names import split_object
from metastore.cli.printing import Cell, print_table, printable
from metastore.cli.spark import follow_client
from metastore.client import MetastoreClient
from metastore.client.care import HELD, expire
from metastore.client.errors import MetastoreRefusedError, NoSuchObjectError
from metastore.client.lease import LeaseHeldError
from metastore.domain.care import ON
from metastore.domain.care_plan import COMPACTION, DISCOVERY, RETENTION, STATISTICS
from metastore.errors import InvalidInputError
from metastore.settings.units import parse_size
from thrift_idl.gen.metastore.ttypes import CareAction, CarePartitionsRequest, CarePlanRequest

_COMMAND: Final = "metastore care run"
_HEADER: Final = ("table", "action", "partition", "files", "bytes", "files after", "bytes after", "outcome")
_PAGE: Final = 10_000
_FAILED: Final = ("failed", "refused")
_BY_SPARK: Final = (COMPACTION, STATISTICS)
_HELD: Final = "skipped: partitions of dependent tables rest on it"


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
        planned = _planned(client.methods, name)
        kinds = {kind: [_name(action) for action in planned if action.kind == kind] for kind in _BY_SPARK}
        if dry_run:
            rows += (row for kind in _BY_SPARK for table in kinds[kind] for row in _listed(client, table, kind))
    if not dry_run and planned:
        seconds = limits.max_seconds
        left = limits._replace(max_seconds=seconds and max(0.0, seconds - (time.monotonic() - begun)))
        with progress(sum(action.partitions or 1 for action in planned)) as advance:
            for row in _by_spark(uri, kinds, left, master):
                rows.append(row)
                advance(printable(f"{row[1]} of {row[0]}"))
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


def _listed(client: MetastoreClient, full_name: str, kind: str) -> Iterator[tuple[Cell, ...]]:
    """Yields a row for each partition of a table that would be compacted or counted."""
    database, table = full_name.split(".")
    after = ""
    while True:
        request = CarePartitionsRequest(database, table, kind=kind, after=after, limit=_PAGE)
        page = client.methods.get_care_partitions(request)
        for one in page:
            outcome, after_it = "would be counted", (None, None)
            if kind == COMPACTION:
                outcome, after_it = _HELD if one.held else "would be compacted", (one.filesAfter, one.bytes)
            yield (full_name, kind, one.name if one.values else "", one.files, one.bytes, *after_it, outcome)
        if len(page) < _PAGE:
            break
        after = page[-1].name


def _planned(methods: Any, name: str) -> list[CareAction]:
    """Returns what Spark has to do, in the order of the plan."""
    database, table = split_object(name) if name else ("", "")
    plan = methods.get_care_plan(CarePlanRequest(database, table))
    return [action for action in plan.actions if action.kind in _BY_SPARK and action.mode == ON]


def _name(action: CareAction) -> str:
    return f"{action.dbName}.{action.tableName}"


@contextmanager
def progress(partitions: int) -> Iterator[Callable[[str], object]]:
    """Shows a progress bar if standard error is a terminal. Yields a function that says what was done to a partition,
    of which there are so many.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting Spark", total=partitions)
        yield lambda text: bar.update(task, advance=1, description=text)


def _by_spark(uri: str, kinds: Mapping[str, Sequence[str]], limits: Limits, master: str) -> Iterator[tuple[Cell, ...]]:
    """Compacts and counts tables with Spark, and yields a row for each partition when it is done."""
    options = {
        "uri": uri,
        "master": master,
        "max-bytes": limits.max_bytes,
        "max-seconds": limits.max_seconds,
        "statistics": ",".join(kinds[STATISTICS]) or None,
    }
    arguments = [f"--{option}={value}" for option, value in options.items() if value is not None]
    for each in follow_client(_COMMAND, "spark_client.commands.care", ",".join(kinds[COMPACTION]), *arguments):
        if reason := next((word for word in ("refused", "skipped") if word in each), None):
            yield _row(each["table"], each["action"], f"{reason}: {each[reason]}")
        elif "partition" in each:
            figures = (each.get(name) for name in ("files", "bytes", "files_after", "bytes_after"))
            yield (each["table"], each["action"], each["partition"], *figures, each["outcome"])


def _left(table: str, action: str, error: Exception) -> tuple[Cell, ...]:
    return _row(table, action, f"{'skipped' if isinstance(error, LeaseHeldError) else 'refused'}: {error}")


def _row(table: str, action: str, outcome: str) -> tuple[Cell, ...]:
    return (table, action, None, None, None, None, None, outcome)
