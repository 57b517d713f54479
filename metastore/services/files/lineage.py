"""The witness: a file in the warehouse that reveals that the database was restored to an older moment.

A restored database does not know later changes. Files that it considers garbage may be the only copy of later data, so
nothing is cleaned until `metastore db restored` has reconciled catalog and files (decision 023).
"""

from __future__ import annotations

import json
import logging
from threading import Lock
from time import monotonic
from typing import Final

from metastore.errors import MetastoreError, UnavailableError
from metastore.storage.repositories.lineage import BACKUP, LOST_COMMITS, Lineage
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

log = logging.getLogger("metastore.files")

WITNESS: Final = ".metastore_catalog.json"
_VALID: Final = 10.0  # seconds for which the result of a comparison is used
_REASONS: Final = {
    BACKUP: "The database was loaded from a backup",
    LOST_COMMITS: "The database has lost acknowledged changes: a standby that lagged was promoted, or it was recovered",
}
_ADVICE: Final = "Files are not cleaned until you run  metastore db restored  (docs/how-to/restore-a-database.md)"


class LineageGuard:
    """Compares the database with the witness, and writes the witness."""

    def __init__(self, store: Store, warehouse: Warehouse) -> None:
        self._store = store
        self._warehouse = warehouse
        self._witness = paths.join(warehouse.root, WITNESS)
        self._lock = Lock()
        self._valid_until = 0.0
        self._disruptions = store.disruptions()
        self._problem: str | None = None
        self._continues = False  # whether `note` has seen, in this process, that the database continues the witness
        self._timeline: int | None = 0  # the present one, as in `Lineage`; None: PostgreSQL does not say
        self._noted_timeline = 0  # the timeline of the last comparison

    def problem(self) -> str | None:
        """Returns the reason why files must not be cleaned now, or None. The result may be some seconds old."""
        with self._lock:
            if monotonic() >= self._valid_until or self._disruptions != self._store.disruptions():
                self._disruptions = self._store.disruptions()
                try:
                    now, witness = self.states()
                    self._report(self._difference(now, witness), now)
                except UnavailableError as error:
                    self._report(f"{self._witness} cannot be read, so files are not cleaned: {error}", None)
            return self._problem

    def note(self) -> None:
        """Compares, and writes the witness if the catalog has changed since it was written. A timer calls it."""
        try:
            now = self._now()
            if self._continues and now.event == now.noted and now.timeline == self._noted_timeline:
                return
            now, witness = self.states()
            with self._lock:
                self._report(self._difference(now, witness), now)
            self._noted_timeline = now.timeline
            self._continues = self._problem is None
            is_noted = witness and now.event == now.noted and now.timeline in (0, witness.timeline)
            if self._continues and not is_noted:
                self._advance()
        except MetastoreError as error:
            log.warning("The state of the catalog could not be written to %s: %s", self._witness, error)

    def states(self) -> tuple[Lineage, Lineage | None]:
        """Returns the states of the database and of the witness (None: it does not exist)."""
        witness = self._read()  # first: the database may only be further than the witness
        return self._now(), witness

    def why_elsewhere(self, now: Lineage, witness: Lineage | None) -> str | None:
        """Returns the reason why the files of the catalog may be in other places than the settings say, or None."""
        advice = ", or pass --take-over to reconcile without"
        if witness is None:
            is_used = (
                f"{self._witness} does not exist, although servers of this catalog write it: is this its warehouse?"
            )
            return f"{is_used} Set METASTORE_WAREHOUSE{advice}" if now.counter else None
        if witness.catalog != now.catalog:
            return difference(now, witness)
        outside = set(witness.roots).difference(self._warehouse.roots.within(witness.roots))
        if outside:
            return f"Servers use {', '.join(sorted(outside))}, too. Set METASTORE_ALLOWED_LOCATIONS as they do{advice}"
        return None

    def write(self, lineage: Lineage) -> None:
        """Replaces the witness, after the commit of this state."""
        fields = {name: getattr(lineage, name) for name in ("catalog", "incarnation", "counter", "event")}
        fields["timeline"] = self._timeline or 0
        fields["roots"] = self._warehouse.roots.configured
        self._warehouse.write_file(self._witness, json.dumps(fields).encode())
        with self._lock:
            self._valid_until = 0.0

    def _now(self) -> Lineage:
        with self._store.read() as work:
            now = work.lineage.read()
            if self._timeline is not None:
                self._timeline = work.lineage.timeline()
            return now._replace(timeline=self._timeline or 0)

    def _difference(self, now: Lineage, witness: Lineage | None) -> str | None:
        """Returns `difference`, but accepts a new timeline if this process has seen the catalog before it began.

        Such a process notices by transaction numbers whether commits were lost (`CommitHistory`).
        """
        return difference(now._replace(timeline=0) if self._continues else now, witness)

    def _advance(self) -> None:
        with self._store.transaction(audited=False) as work:
            if not work.try_lock_job("witness of the catalog"):
                return
            work.catalogs.identity()  # created on first use
            advanced = work.lineage.advance(work.lineage.read())
        self.write(advanced)

    def _read(self) -> Lineage | None:
        content = self._warehouse.read_file(self._witness)
        if content is None:
            return None
        try:
            fields = json.loads(content)
            return Lineage(
                str(fields["catalog"]),
                str(fields["incarnation"]),
                (),
                int(fields["counter"]),
                int(fields["event"]),
                timeline=int(fields.get("timeline", 0)),
                roots=tuple(fields.get("roots", ())),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise UnavailableError(f"{self._witness} is not a file of this server ({error}): delete it") from error

    def _report(self, problem: str | None, now: Lineage | None) -> None:
        """Logs a new problem once, and keeps the result. `now`: None if nothing could be compared: then the database
        is not marked as an older one, of which an alert and the sinks of events would tell.
        """
        is_new = problem is not None and problem != self._problem
        if is_new:
            log.error("%s", problem)
        if now and (is_new or (problem is None and now.problem_since)):
            with self._store.transaction(audited=False) as work:
                work.lineage.note_problem() if problem else work.lineage.forget_problem()
        self._problem = problem
        self._valid_until = monotonic() + _VALID


def difference(now: Lineage, witness: Lineage | None) -> str | None:
    """Returns the reason why the database does not continue the state in the witness, or None if it does."""
    if witness and witness.catalog != now.catalog:
        return (
            f"Catalog {now.catalog or '(new)'} uses the warehouse of catalog {witness.catalog}. Give each catalog "
            "its own warehouse; if the other catalog no longer exists, run  metastore db restored --take-over. Files "
            "are not cleaned until then"
        )
    if now.restored:
        return f"{_REASONS.get(now.restored, _REASONS[BACKUP])}. {_ADVICE}"
    if witness is None or witness.incarnation in now.ancestors:
        return None
    if witness.incarnation != now.incarnation:
        return f"Another restore of this catalog, {witness.incarnation}, uses the warehouse. {_ADVICE}"
    if witness.counter > now.counter or witness.event > now.event:
        return (
            f"The database was restored to an older moment: it is at event {now.event} and change {now.counter}, but "
            f"was at event {witness.event} and change {witness.counter}. {_ADVICE}"
        )
    if witness.timeline and now.timeline > witness.timeline:
        return (
            f"PostgreSQL was promoted or recovered while no server ran (timeline {witness.timeline}, now "
            f"{now.timeline}). It may have lost the last changes. {_ADVICE}"
        )
    return None
