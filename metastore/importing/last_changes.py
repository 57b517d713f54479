"""The last changes of a source before the switch: waits for a follower, and reads objects that have no events."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import closing
from typing import Final

from metastore.domain.names import DatabaseName
from metastore.errors import UnavailableError
from metastore.importing.copier import find_import, present, read_as
from metastore.importing.follower.changes import changes_of
from metastore.importing.follower.log_reader import LogReader
from metastore.importing.follower.replay import Replay
from metastore.importing.follower.unlogged import read_unlogged, store_unlogged
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import Source
from metastore.importing.target import Target
from metastore.settings import safe_url
from metastore.storage.importing.imports import ImportState
from metastore.storage.unit_of_work import Store

_PATIENCE: Final = 30.0  # seconds without progress of the follower
_SILENCE: Final = 600.0  # seconds in which a follower stores nothing while it compares: one table can take minutes
_QUESTION: Final = 2.0  # seconds between two calls to the source while the follower works
_PAUSE: Final = 0.05


def is_followed(store: Store, state: ImportState) -> bool:
    """Returns whether a follower runs now, in any process."""
    with store.read() as work:
        if work.following.try_lock(state.id):
            work.following.unlock(state.id)
            return False
    return True


def compared_by_follower(store: Store, state: ImportState, source: Source) -> bool:
    """Asks the process that follows the source to compare everything, and waits for it. False if it ends.

    Raises UnavailableError if the source does not answer, or if the follower stores nothing for a long time.
    """
    with store.transaction(audited=False) as work:
        request = work.following.request_comparison(state.id)
    progress, since, asked = None, time.monotonic(), 0.0
    while is_followed(store, state):
        with store.read() as work:
            current = present(work, state.id)
        if current.options.get("compared") == request:
            return True
        now = time.monotonic()
        if (reached := (current.position, current.seen_at, current.current_at)) != progress:
            progress, since = reached, now
        elif now - since > _SILENCE:
            raise UnavailableError(
                f"The process that follows {state.source} has stored nothing for {_SILENCE:.0f} s. Look at its log, or "
                f"stop it, and run the same command again"
            )
        if now - asked > _QUESTION:
            source.log()  # the follower waits for a source that is down
            asked = now
        time.sleep(_PAUSE)
    return False


def arrive(store: Store, address: str, names: Collection[DatabaseName], *, sweeps: bool = True) -> float:
    """Waits until the follower has applied the last event of the source, if one runs.

    Late events of a source that repeats IDs are applied here. `sweeps`: also stores objects that have no events, unless
    the source has changes that no follower applies. Returns the seconds that this took. Raises UnavailableError if the
    source does not answer.
    """
    with store.read() as work:
        state = find_import(work, safe_url(address))
    followed = is_followed(store, state)
    with closing(open_source(address)) as source:
        read_as(source, state)
        last = source.log()
        if followed:
            _await(store, state, last.last if last else None)
        elif last and last.last != state.position:
            return 0.0  # the checks of the switch report it
        begun = time.monotonic()
        sweep = read_unlogged(source, names) if sweeps else None
        latest = changes_of(LogReader(source).latest() if followed else ())
        if sweep is None and not latest.names and not latest.databases:
            return 0.0
        target = Target(state.id, Rewriting(state.options["rewrites"]), keeps_events=False)
        with store.transaction(audited=False) as work:
            work.imports.set_state(state.id, state.state)  # keeps the follower waiting until the commit
            Replay(source, work, target).run(latest)
            if sweep is not None:
                store_unlogged(work, target, names, sweep, {}, source.broken)
        return time.monotonic() - begun


def _await(store: Store, state: ImportState, event: int | None) -> None:
    """Waits until the position of the follower is that of the event. Gives up if the position does not move."""
    position, since = state.position, time.monotonic()
    while event is not None and position is not None and position < event:
        if time.monotonic() - since > _PATIENCE:
            return  # the checks of the switch report missing changes
        time.sleep(_PAUSE)
        with store.read() as work:
            reached = present(work, state.id).position
        if reached != position:
            position, since = reached, time.monotonic()
