"""The switch: this server takes over the files of imported databases, if the source has not changed since the copy.

The checks read the source. They cannot keep writers away from it: an administrator stops the writers first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from metastore.domain.names import DatabaseName
from metastore.errors import ConflictError, InvalidOperationError, MetastoreError, NotFoundError, UnavailableError
from metastore.importing.copier import check_not_returning, find_import, only_import, present, read_as
from metastore.importing.last_changes import arrive
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import Source
from metastore.settings import safe_url
from metastore.storage.importing.imports import COPIED, SWITCHED, ImportState
from metastore.storage.unit_of_work import Store, UnitOfWork

log = logging.getLogger("metastore.import")

_LONGEST_SWEEP: Final = 2.0  # maximum seconds of a sweep while the writers are stopped
_SHOWN: Final = 5
"""Maximum number of transactions that an error names."""


@dataclass(frozen=True)
class Switched:
    """The result of a switch. `doubts`: checks that failed, or could not be made, and were overridden.

    `event`, `event_digest`: the source's last event whose changes are here, and its digest, if they are known.
    """

    source: str
    databases: Sequence[DatabaseName]
    before: Sequence[DatabaseName]
    """Databases that were switched already."""
    dropped: Sequence[DatabaseName]
    """Databases that no longer exist on this server. They are not switched: their files stay with the source."""
    doubts: Sequence[str]
    stopped: float = 0.0
    """Seconds from the fence to the end of the switch."""
    event: int | None = None
    event_digest: str | None = None


class Fence:
    """Keeps writers away from the source. This one does nothing: an administrator has stopped them."""

    def close(self) -> None:
        """Called before the wait for the last changes."""

    def open(self) -> None:
        """Called if the switch fails after `close`."""


def switch(
    store: Store,
    address: str,
    names: Collection[DatabaseName] = (),
    *,
    force: bool = False,
    fence: Fence | None = None,
) -> Switched:
    """Makes this server the owner of the files of databases, all in one transaction. Without names, all databases of
    the import.

    If a follower runs, waits for its last changes, before the fence and after it.

    Raises:
        NotFoundError: there is no such import, it has no such database, or the database was dropped here.
        InvalidOperationError: the import is unfinished, or without `force`, a check failed or could not be made.
        ConflictError: an import runs.
        UnavailableError: the source does not answer, without `force`.
    """
    with only_import(store):
        with store.read() as work:
            state = find_import(work, safe_url(address))
            states = _chosen(work, state, names)
            existing = work.bulk_load.database_ids(states).keys()
        before = [name for name in states if states[name] == SWITCHED]
        left = [name for name in states if states[name] != SWITCHED]
        new = [name for name in left if name in existing]
        dropped = [name for name in left if name not in existing]
        if names and dropped:
            raise NotFoundError(
                f"{_texts(dropped)} no longer exists on this server. Nothing was switched: run metastore import "
                f"forget {state.source} --drop-databases, and import again"
            )
        if not new:
            return Switched(state.source, new, before, dropped, [])
        new, doubts, stopped = _fenced(
            store, address, state, new, named=bool(names), force=force, fence=fence or Fence()
        )
        with store.read() as work:
            state = present(work, state.id)
    return Switched(state.source, new, before, dropped, doubts, stopped, state.position, state.event_digest)


def _fenced(
    store: Store,
    address: str,
    state: ImportState,
    names: Collection[DatabaseName],
    *,
    named: bool,
    force: bool,
    fence: Fence,
) -> tuple[list[DatabaseName], list[str], float]:
    """Stops the writers, waits for their last changes, checks, and switches.

    Returns the switched databases, the doubts, and the seconds. `named`: the user has named the databases, so that it
    is an error if the source drops one of them meanwhile.
    """
    slow = _arrive(store, address, names, force=force) > _LONGEST_SWEEP
    begun = time.monotonic()
    takes_over = False
    try:
        fence.close()
        _arrive(store, address, names, force=force, sweeps=not slow)
        with store.read() as work:
            state = present(work, state.id)  # the follower has moved its position
            left = work.imports.databases(state.id)
        if named and (gone := set(names) - left.keys()):
            raise NotFoundError(f"The source has dropped {_texts(gone)}. Nothing was switched")
        names = [name for name in names if name in left]
        doubts = _checked(address, state, force=force)
        takes_over = True
        _take_over(store, state, names)
    except BaseException:  # also Ctrl-C: the source must not stay closed to its writers
        if not (takes_over and _may_be_switched(store, state, names)):
            fence.open()
        raise
    return names, doubts, time.monotonic() - begun


def _arrive(store: Store, address: str, names: Collection[DatabaseName], *, force: bool, sweeps: bool = True) -> float:
    """Waits for the last changes. Returns the seconds that the sweep took. With `force`, the source may be gone."""
    try:
        return arrive(store, address, names, sweeps=sweeps)
    except UnavailableError:
        if not force:
            raise
        return 0.0


def doubts_of(source: Source, state: ImportState) -> list[str]:
    """Returns reasons why the source may differ from the copy: one text for each check that failed or was
    impossible."""
    with source.snapshot():
        log, transactions = source.log(), source.open_transactions()
    doubts = []
    if log is None or state.position is None:
        when = "has" if log is None else "had, when the copy began,"
        doubts.append(
            f"the source {when} no notification log, so changes since the copy cannot be seen: stop the writers, and "
            f"compare with metastore import verify"
        )
    elif log.last != state.position:
        doubts.append(
            f"the source is at event {log.last}, and the copy is of event {state.position}: stop the writers, and run "
            f"metastore import run again, which applies the changes"
        )
    if transactions is None:
        doubts.append("the source does not list its open transactions: end them, and compare again")
    elif transactions:
        more = f" and {len(transactions) - _SHOWN} more" if len(transactions) > _SHOWN else ""
        shown = ", ".join(map(str, transactions[:_SHOWN]))
        doubts.append(f"transactions are open at the source ({shown}{more}): end them, and compare again")
    return doubts


def _chosen(work: UnitOfWork, state: ImportState, names: Collection[DatabaseName]) -> dict[DatabaseName, str]:
    """Returns the databases to switch with their states. Raises NotFoundError, InvalidOperationError."""
    check_not_returning(state)
    if state.state != COPIED:
        raise InvalidOperationError(
            f"The import from {state.source} is unfinished. Nothing was switched: run metastore import run again first"
        )
    states = work.imports.databases(state.id)
    if missing := set(names) - states.keys():
        raise NotFoundError(
            f"The import from {state.source} has no database {_texts(missing)}. Nothing was switched. "
            f"Databases: {_texts(states) or 'none'}"
        )
    return {name: states[name] for name in sorted(names or states, key=str)}


def _checked(address: str, state: ImportState, *, force: bool) -> list[str]:
    """Checks the source. Returns the doubts that `force` overrides. Raises InvalidOperationError, UnavailableError."""
    try:
        with closing(open_source(address)) as source:
            read_as(source, state)
            doubts = doubts_of(source, state)
    except UnavailableError as error:
        if not force:
            raise
        doubts = [str(error)]
    if doubts and not force:
        text = "; ".join(doubts)
        raise InvalidOperationError(
            f"Nothing was switched: {text}. If nothing differs, repeat metastore import switch with --force"
        )
    return doubts


def _take_over(store: Store, state: ImportState, names: Collection[DatabaseName]) -> None:
    """Switches databases. Raises ConflictError if another command has changed the import meanwhile."""
    with store.transaction(audited=False) as work:
        work.imports.switch(state.id, names)
        states = work.imports.databases(state.id)
        if any(states.get(name) != SWITCHED for name in names):
            raise ConflictError(
                f"The import from {state.source} was forgotten meanwhile. Nothing was switched: see metastore "
                f"import status"
            )


def _may_be_switched(store: Store, state: ImportState, names: Collection[DatabaseName]) -> bool:
    """Returns whether a failure came after the commit. True if that is unknown: two servers must not accept changes."""
    try:
        with store.read() as work:
            states = work.imports.databases(state.id)
    except MetastoreError:
        log.warning(
            "This server's database does not answer, so the fence remains. Undo it if metastore import status "
            "shows that the databases are borrowed"
        )
        return True
    return all(states.get(name) == SWITCHED for name in names)


def _texts(names: Collection[DatabaseName]) -> str:
    return ", ".join(sorted(map(str, names)))
