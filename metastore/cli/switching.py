"""`metastore import switch`: takes files over, and shows the result."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from metastore.cli.import_report import Report, reporting
from metastore.cli.importing import opened_store
from metastore.cli.printing import print_table, printable
from metastore.domain.names import DatabaseName
from metastore.errors import InvalidOperationError
from metastore.importing.copier import find_import, name_of
from metastore.importing.digests import digest_of_texts
from metastore.importing.takeover import Fence, Switched, switch
from metastore.services.files.ownership import borrowed
from metastore.settings import Settings, safe_url
from metastore.storage.importing.imports import BORROWED
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.roots import SETTING, Roots

_SHOWN: Final = 50
"""Locations that are printed."""


class CommandFence(Fence):
    """Runs shell commands: one stops writers at the source, the other one admits them again.

    Messages do not repeat the commands, which may contain passwords.
    """

    def __init__(self, close: str | None, reopen: str | None) -> None:
        self._close = close
        self._reopen = reopen

    def close(self) -> None:
        """Raises InvalidOperationError if the command fails."""
        if self._close and (status := _run(self._close)):
            raise InvalidOperationError(f"The command of --fence ended with status {status}. Nothing was switched")

    def open(self) -> None:
        """Runs the command, and reports its failure."""
        if self._reopen and (status := _run(self._reopen)):
            click.echo(f"metastore: the command of --unfence ended with status {status}", err=True)


def _run(command: str) -> int:
    return subprocess.run(command, shell=True, check=False).returncode  # noqa: S602 - the administrator's own command


def show_switch(
    settings: Settings, address: str, names: Sequence[str], file: Path | None, *, force: bool, fence: Fence
) -> None:
    """Switches databases. Prints them, and the remaining steps.

    Raises InvalidInputError for an invalid name, and the errors of `switch`.
    """
    wanted = [name_of(name) for name in names]
    with reporting(file, "switch", address, settings.safe_url) as report:
        with opened_store(settings) as store:
            if not force:
                _check_roots(settings, store, address, wanted)
            switched = switch(store, address, wanted, force=force, fence=fence)
            with store.read() as work:
                managed = paths.absolute(work.imports.managed_locations([*switched.databases, *switched.before]))
                kept = sorted(borrowed(work, managed))
        outside = _outside(settings, managed)
        _fill(report, switched, managed, outside, kept)
    rows = [(name, "switched") for name in switched.databases]
    rows += [(name, "was switched before") for name in switched.before]
    rows += [
        (name, "not switched: it was dropped here, and its files stay with the source") for name in switched.dropped
    ]
    print_table("Databases", ["database", "state"], [[f"{name.catalog}.{name.name}", text] for name, text in rows])
    located = [[text, "outside of the roots"] for text in outside[:_SHOWN]]
    located += [[text, "still belongs to the source"] for text in kept[:_SHOWN]]
    if located:
        print_table("Locations of managed tables", ["location", "state"], located, name="locations")
    for text in _conclusions(switched, outside, kept):
        click.echo(printable(f"metastore: {text}"), err=True)


def _check_roots(settings: Settings, store: Store, address: str, wanted: Sequence[DatabaseName]) -> None:
    """Raises InvalidOperationError if this server may not change the files of managed tables that it would own."""
    with store.read() as work:
        states = work.imports.databases(find_import(work, safe_url(address)).id)
        new = [name for name in wanted or states if states.get(name) == BORROWED]
        outside = _outside(settings, paths.absolute(work.imports.managed_locations(new)))
    if outside:
        more = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
        raise InvalidOperationError(
            f"Nothing was switched: this server changes no files at {outside[0]}{more}, where managed tables are. Add "
            f"the directories above them to {SETTING}, here and on all servers, or repeat the command with --force"
        )


def _outside(settings: Settings, locations: Sequence[str]) -> list[str]:
    """Returns the outermost of the locations that are outside the roots."""
    return outermost(set(locations).difference(Roots(settings.warehouse, settings.roots).within(locations)))


def _fill(
    report: Report, switched: Switched, managed: Sequence[str], outside: Sequence[str], kept: Sequence[str]
) -> None:
    """Fills a report. Its digest is of the locations of databases and managed tables that are switched now."""
    report.counts = {"databases": len(switched.databases) + len(switched.before), "managed locations": len(managed)}
    report.digests = {"managed locations": digest_of_texts(managed)}
    report.details = {
        "databases": list(map(str, switched.databases)),
        "switched_before": list(map(str, switched.before)),
        "dropped_here": list(map(str, switched.dropped)),
        "event": switched.event,
        "event_digest": switched.event_digest,
        "overridden": list(switched.doubts),
        "stopped_seconds": round(switched.stopped, 1),
        "outside_of_the_roots": list(outside),
        "still_of_the_source": list(kept),
    }


def outermost(locations: set[str]) -> list[str]:
    """Returns the locations that are not below another one, in ascending order."""
    present = {paths.canonical(text) for text in locations}
    return sorted(text for text in locations if present.isdisjoint(paths.ancestors(text)))


def _conclusions(switched: Switched, outside: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Returns the result of the switch and the remaining steps, one line each."""
    lines = [f"overridden by --force: {text}" for text in switched.doubts]
    if outside:
        lines.append(
            f"this server does not access files outside its roots ({len(outside)} locations of managed tables): "
            f"add the locations, or directories above them, to {SETTING}"
        )
    if kept:
        lines.append(
            f"databases that are not switched use the same locations ({len(kept)} of managed tables), which belong "
            f"to the source: switch those databases, too"
        )
    if switched.databases:
        lines.append(f"the last changes and checks took {switched.stopped:.1f} s")
        lines.append(
            "this server owns the files of the switched databases. Next: move the clients, stop the old server"
        )
    elif switched.before:
        lines.append("nothing to do: this server owns the files of these databases already")
    else:
        lines.append("nothing to do: no database of the import exists on this server")
    return lines
