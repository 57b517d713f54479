"""`metastore import`: opens source and database, and shows plan, progress and state."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from metastore.app.database import database
from metastore.cli.import_report import as_dicts, reporting
from metastore.cli.printing import print_table, printable
from metastore.errors import ConfigurationError, InvalidOperationError, UnavailableError
from metastore.importing.copier import (
    TEXT_ENCODING,
    Copier,
    Request,
    check_not_returning,
    find_import,
    name_of,
    present,
)
from metastore.importing.follower.follower import Follower
from metastore.importing.follower.replay import drop_database
from metastore.importing.last_changes import compared_by_follower, is_followed
from metastore.importing.plan import Plan, make_plan
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import Source
from metastore.importing.target import existing_of
from metastore.settings import Settings, safe_url
from metastore.storage.importing.imports import BORROWED, COPIED, Finding, ImportState
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse.roots import Roots
from migrations import runner

_STATEMENT_TIMEOUT = 3600.0  # seconds: a batch may wait for a busy server
_INTERNAL = ("runner", "cursor", "counts")  # not in the details of a report
_PAUSE = 0.05  # seconds between two attempts to become the follower


@contextmanager
def opened_store(settings: Settings, *, read_only: bool = False) -> Iterator[Store]:
    """Yields the database of this server. Raises ConfigurationError if its schema has another version.

    `read_only`: an embedded database is neither created nor upgraded.
    """
    with database(settings, make=not read_only) as url:
        if settings.embedded and not read_only:
            runner.upgrade(url)
        runner.check(url, read_only=read_only)
        engine = make_engine(
            settings, url, statement_timeout=_STATEMENT_TIMEOUT, application="metastore import", size=5
        )
        store = Store(engine, settings)
        try:
            yield store
        finally:
            store.close()


@contextmanager
def read_if_ready(settings: Settings) -> Iterator[tuple[UnitOfWork | None, str]]:
    """Yields the database of this server for reading; None, with the reason, if it cannot be read yet."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(opened_store(settings, read_only=True))
            ready: tuple[UnitOfWork | None, str] = stack.enter_context(store.read()), ""
        except (ConfigurationError, UnavailableError) as error:
            ready = None, str(error)
        yield ready


@contextmanager
def opened_source(address: str) -> Iterator[Source]:
    """Yields a connected source."""
    source = open_source(address)
    try:
        yield source
    finally:
        source.close()


def read_as_imported(source: Source, work: UnitOfWork | None, encoding: str | None) -> bool:
    """Lets a source read texts in the encoding, or as its import has decided. Returns whether it decides anew.

    `work`: the database of this server, if it can be read.
    """
    state = work.imports.find(source.address) if work else None
    decided = encoding or (state.options.get(TEXT_ENCODING) if state else None)
    return source.read_texts_as(decided) is not None and decided is None


def names_of(databases: str | None) -> tuple[str, ...]:
    """Returns the names of `--databases`."""
    return tuple(name.strip() for name in (databases or "").split(",") if name.strip())


def show_plan(
    settings: Settings, address: str, databases: str | None, file: Path | None, encoding: str | None = None
) -> None:
    """Prints the objects that an import would copy and leave out, and the errors in the source."""
    selection = Selection(frozenset(map(name_of, names_of(databases))) or None)
    with reporting(file, "plan", address, settings.safe_url) as report:
        with opened_source(address) as source, read_if_ready(settings) as (work, unready):
            read_as_imported(source, work, encoding)
            plan = make_plan(source, work, Roots(settings.warehouse, settings.roots), selection)
        report.counts, report.digests = plan.survey.counts, plan.digests
        report.findings = as_dicts(plan.survey.findings)
        report.details = {
            "version": plan.version,
            "roots": [{"root": root, "objects": number, "access": text} for root, number, text in plan.roots],
            "left_out": plan.survey.left_out,
            "log": plan.log,
            "collisions": list(map(str, plan.collisions)),
            "estimated_seconds": round(plan.seconds),
        }
    _print_plan(plan, unready)


def _print_plan(plan: Plan, unready: str) -> None:
    print_table("Objects", ["kind", "number"], [[kind, str(number)] for kind, number in plan.survey.counts.items()])
    print_table("Locations", ["root", "objects", "access"], [[root, str(n), text] for root, n, text in plan.roots])
    left_out = plan.survey.left_out.items()
    print_table("Not imported", ["kind", "number"], [[kind, str(number)] for kind, number in left_out])
    rows = [list(finding) for finding in plan.survey.findings]
    print_table("Findings", ["class", "object", "what happens"], rows)
    if plan.collisions:
        text = ", ".join(map(str, plan.collisions))
        click.echo(printable(f"metastore: these databases exist on this server already: {text}"), err=True)
    if unready:
        click.echo(printable(f"metastore: names were not compared with this server's: {unready}"), err=True)
    summary = (
        f"{plan.address}: schema {plan.version}. Notification log: {plan.log}. An import takes about "
        f"{max(1, round(plan.seconds))} s. Nothing was changed."
    )
    click.echo(printable(summary), err=True)


def run_import(
    settings: Settings,
    address: str,
    databases: str | None,
    rewrites: tuple[str, ...],
    file: Path | None,
    *,
    skips_broken: bool = False,
    encoding: str | None = None,
    name: str | None = None,
) -> None:
    """Copies, shows the progress, and prints a summary."""
    gc.disable()  # batches contain no cycles, and looking for them takes a third of the time
    with (
        reporting(file, "run", address, settings.safe_url) as report,
        opened_source(address) as source,
        opened_store(settings) as store,
        progress() as advance,
    ):
        request = Request(names_of(databases), rewrites, skips_broken, encoding, name)
        changes = ""

        def follow(state: ImportState) -> None:
            nonlocal changes
            changes = "" if _is_fresh(state) else _caught_up(source, store, state)

        state = _copied(Copier(source, store, request, advance), follow)
        with store.read() as work:
            findings = work.imports.findings(state.id)
        report.counts, report.digests = state.counts, state.options["digests"]
        report.findings = as_dicts(findings)
        report.details = {name: value for name, value in state._asdict().items() if name not in _INTERNAL}
    print_table("Imported", ["objects", "number"], [[kind, f"{number}"] for kind, number in state.counts.items()])
    _print_findings(findings, 20)
    rest = f" It had {state.snapshots} runs." if state.snapshots > 1 else ""
    summary = (
        f"{state.name}, from {state.source}: copied in {report.seconds:.1f} s.{rest}{changes} Next: metastore import "
        f"follow SOURCE, and metastore import verify SOURCE --uri thrift://THIS-SERVER:9083"
    )
    click.echo(printable(summary), err=True)


def _copied(copier: Copier, then: Callable[[ImportState], object]) -> ImportState:
    """Copies. Raises UnavailableError, with the next step, if the source or the database fails."""
    try:
        return copier.run(then)
    except UnavailableError as error:
        raise UnavailableError(f"{error}. Run the same command again: it continues after the last batch") from error


def _is_fresh(state: ImportState) -> bool:
    """Returns whether this run has copied everything from one snapshot, and the source has no log of the changes since
    then."""
    return state.position is None and bool(state.options["databases"]) and state.snapshots == 1


def _caught_up(source: Source, store: Store, state: ImportState) -> str:
    """Applies the changes of the source since the copy, all of them if this run copied nothing. Returns a sentence."""
    lines: list[str] = []
    whole = not state.options["databases"]
    follower = Follower(source, store, lines.append)
    while True:
        with follower.lock() as is_held:
            if is_held:
                step = follower.catch_up(whole=whole)
                compared = " Everything was compared." if whole else ""
                reasons = "".join(f" {line[0].upper()}{line[1:]}." for line in lines)
                return f" {step.events} events of the source since then were applied.{compared}{reasons}"
        if not whole:
            return " Another process follows the source."
        if compared_by_follower(store, state, source):
            return " The process that follows the source has compared everything."
        with store.read() as work:
            check_not_returning(present(work, state.id))
        time.sleep(_PAUSE)  # the follower has just ended


def show_status(settings: Settings, most: int) -> None:
    """Prints the imports, their databases and findings."""
    with opened_store(settings) as store:
        with store.read() as work:
            states = work.imports.all()
        rows = [
            [
                state.name,
                state.source,
                state.source_version,
                f"{state.state}, followed" if is_followed(store, state) else state.state,
                state.stage,
                str(sum(state.counts.values())),
                "" if state.position is None else str(state.position),
                _delay(state),
                f"{state.seen_at:%Y-%m-%d %H:%M:%S}",
            ]
            for state in states
        ]
        with store.read() as work:
            names = work.imports.databases()
            findings = [finding for state in states for finding in work.imports.findings(state.id)]
    header = ["name", "source", "version", "state", "stage", "objects", "event", "behind", "last seen"]
    print_table("Imports", header, rows)
    print_table(
        "Databases", ["database", "state"], [[f"{name.catalog}.{name.name}", state] for name, state in names.items()]
    )
    _print_findings(findings, most)


def _delay(state: ImportState) -> str:
    """Returns how far a follower is behind its source; empty if none was started, or nothing is left to follow."""
    if state.current_at is None or state.state != COPIED:
        return ""
    seconds = max(0.0, (datetime.now(UTC) - state.current_at).total_seconds())
    events = max(0, (state.source_event or 0) - (state.position or 0))
    return f"{seconds:.0f} s, {events} events"


def forget_import(settings: Settings, address: str, *, take_files: bool, drop: bool) -> str:
    """Deletes an import. Returns a confirmation. Raises NotFoundError, InvalidOperationError if databases are left.

    `take_files`: keep databases that are not switched, and take over their files. `drop`: drop these databases here,
    and leave their files to the source."""
    with opened_store(settings) as store, store.transaction(audited=False) as work:
        state = find_import(work, safe_url(address))
        source = state.source
        states = work.imports.databases(state.id)
        left = sorted((name for name in existing_of(work, states) if states[name] == BORROWED), key=str)
        text = ", ".join(map(str, left))
        if left and not take_files and not drop:
            raise InvalidOperationError(
                f"The databases {text} of this import still exist, and their files belong to {source}. Drop them with "
                f"--drop-databases, which leaves their files, or take the files over: metastore import switch {source}"
            )
        for name in left if drop else ():
            drop_database(work, name)
        work.imports.forget(state.id)
    done = "were dropped here" if drop else "stay: their files belong to this server now"
    rest = f" The databases {text} {done}." if left else ""
    return f"The import from {source} is forgotten. This server no longer protects files of the source.{rest}"


def _print_findings(findings: list[Finding], most: int) -> None:
    kinds = Counter(finding.kind for finding in findings)
    for kind, number in kinds.items():
        click.echo(printable(f"metastore: {kind}: {number}"), err=True)
    for finding in findings[:most]:
        click.echo(printable(f"metastore: {finding.kind}: {finding.object}: {finding.detail}"), err=True)


@contextmanager
def progress() -> Iterator[Any]:
    """Yields the function that receives kinds of objects and numbers. Shows them if standard error is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("connecting", total=None)

        def advance(kind: str, number: int) -> None:
            counts.update({kind: number})
            rate = counts[kind] / max(0.1, time.monotonic() - begun)
            bar.update(task, description=f"{kind}: {counts[kind]:,} ({rate:,.0f}/s)")

        yield advance
