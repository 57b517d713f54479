"""The plan of table care."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

from metastore.domain.care_plan import DISCOVERY, Action, CareTable, Figures, Reads, plan
from metastore.domain.care_record import ACTIONS
from metastore.domain.care_rules import uncompacted, unmanaged
from metastore.domain.names import PROTECTED, TableName
from metastore.errors import InvalidInputError
from metastore.services.authorization.authorization import Authorization
from metastore.services.rules.care import Conditions, conditions_of
from metastore.services.rules.lookup import get_database, missing_table, required
from metastore.services.service import Clock, ClockedService
from metastore.storage.queries.visibility import EVERYTHING, NOTHING
from metastore.storage.unit_of_work import Store, UnitOfWork

MOST_TABLES: Final = 500
_READ: Final = 20_000
"""Partitions that one plan reads. The figures of other tables are those of their last measurement."""
_READ_OF_EACH: Final = 5000
"""Partitions of one table that a plan of several tables reads."""
_SIZES: Final = ("rows", "bytes", "files", "small_files")


class PlannedTable(NamedTuple):
    """A table of a plan: its sizes, None if unknown, and what is not known about it."""

    table: CareTable
    partitions: int | None
    rows: int | None
    bytes: int | None
    files: int | None
    small_files: int | None
    growth: int | None
    measured_at: int | None
    notes: list[str]


class CarePlan(NamedTuple):
    """Actions in the order of their gain, the tables that were considered, how many were not, and since when scans are
    recorded.
    """

    actions: list[Action]
    tables: list[PlannedTable]
    left_off: int
    since: date | None


class CareCounts(NamedTuple):
    """What a program has done with a table: the action, and numbers of partitions by outcome."""

    kind: str
    numbers: Mapping[str, int]


class CareService(ClockedService):
    """Plans table care. A plan is at most four statements, for any number of tables and partitions."""

    def __init__(self, store: Store, clock: Clock, rights: Authorization) -> None:
        super().__init__(store, clock)
        self._rights = rights

    def plan(self, target: TableName, limit: int = MOST_TABLES, kind: str | None = None) -> CarePlan:
        """Returns the plan of the tables of a target that the caller may see.

        A caller whose rights a policy engine decides gets the plan of a named table only, unless the caller is an
        administrator.

        Args:
            target: a table, without its name a database, and without both the catalog. Authorization has checked that
                the caller may see it.
            limit: the number of tables to consider, those with the most to do first.
            kind: DISCOVERY for the tables with this policy only.

        Raises NotFoundError if the table or database does not exist, InvalidInputError for another kind.
        """
        if kind not in (None, DISCOVERY):
            raise InvalidInputError(f"The kind is {kind!r}; it must be {DISCOVERY}, or none")
        *_, dependents = self._rights.caller_and_scope()
        # With a policy engine, authorization has allowed the named table. Nobody knows which other tables are visible.
        scope = EVERYTHING if target.name and dependents.tables == NOTHING.tables else dependents
        now = self._clock()
        with self._store.read() as work:
            rows = work.care.tables(
                target, max(0, min(limit, MOST_TABLES)), scope, dependents, discovered=kind == DISCOVERY
            )
            if not rows:
                _check_exists(work, target)
            conditions = {row["id"]: conditions_of(row, now) for row in rows}
            read = [conditions[number] for number in _to_read(rows)]
            most = _READ + 1 if len(rows) == 1 else _READ_OF_EACH + 1
            live = work.care.figures([(each.rule, each.timeless) for each in read], most) if read else {}
        read_ids = {each.rule.table_id for each in read}
        planned = [
            _planned(row, conditions[row["id"]], _live(row, live, most) if row["id"] in read_ids else None)
            for row in rows
        ]
        total = rows[0]["total"] if rows else 0
        since = rows[0]["since"] if rows else None
        return CarePlan(plan(each.table for each in planned), planned, total - len(rows), since)

    def record(self, table: TableName, counts: CareCounts, count: Callable[[str, str, int], object]) -> None:
        """Counts what a program has done. The audit trail has the call.

        Raises NotFoundError if the table does not exist, InvalidInputError for an unknown action or a negative number.
        """
        if counts.kind not in ACTIONS:
            raise InvalidInputError(f"The kind is {counts.kind!r}; it must be one of {', '.join(ACTIONS)}")
        if any(number < 0 for number in counts.numbers.values()):
            raise InvalidInputError("A number of partitions is negative")
        with self._store.read() as work:
            _check_exists(work, table)
        for outcome, number in counts.numbers.items():
            count(counts.kind, outcome, number)


def _check_exists(work: UnitOfWork, target: TableName) -> None:
    """Raises NotFoundError if the table or database does not exist."""
    if target.name:
        required(work.tables.reference(target), missing_table(target))
    elif target.database:
        get_database(work, target.parent)


def _to_read(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns the ids of the tables whose partitions are read now: those with few, as long as the sum is bounded."""
    left, chosen = _READ, []
    largest = _READ if len(rows) == 1 else _READ_OF_EACH
    for row in rows:
        known = row["measured_partitions"]
        expected = 1 if not row["partitioned"] else largest if known is None else max(1, known)
        if expected <= min(left, largest):
            left -= expected
            chosen.append(row["id"])
    return chosen


def _live(row: Mapping[str, Any], live: Mapping[int, Mapping[str, Any]], most: int) -> Mapping[str, Any] | None:
    """Returns the figures of a table that was read; None if it has more partitions than were read."""
    found = live.get(row["id"])
    if found is None:
        return {**dict.fromkeys(Figures._fields, 0), **dict.fromkeys(_SIZES)}
    return None if found["partitions"] >= most else found


def _read_notes(reads: Reads) -> list[str]:
    """Returns that another engine may read a table that has no scans."""
    if reads.since is None or reads.scanned is not None or reads.opened is None:
        return []
    return [f"no scans are recorded, but clients that plan scans themselves opened it, last on {reads.opened}"]


def _planned(row: Mapping[str, Any], conditions: Conditions, live: Mapping[str, Any] | None) -> PlannedTable:
    measured = row["measured"]
    notes = [f"{one.problem}" for one in conditions.settings if one.problem]
    if reason := uncompacted(row["own"], row["storage"]):
        notes.append(f"files are not compacted: {reason}")
    reads = Reads(*(row[name] for name in Reads._fields))
    notes += _read_notes(reads)
    counts: Mapping[str, Any] | None = live
    if live is None and measured:
        counts = {**measured, "bytes": row["bytes"]}
        at = datetime.fromtimestamp(measured["at"], UTC)
        if measured["rule"] != conditions.timeless:
            notes.append(f"a policy was changed after the measurement at {at:%Y-%m-%d %H:%M} UTC, which the plan uses")
    elif live is None:
        notes.append("not measured yet: its partitions are counted within an hour")
    figures = None if counts is None else Figures(**{name: counts[name] for name in Figures._fields})
    table = CareTable(
        catalog=row["catalog"],
        database=row["database"],
        name=row["table"],
        is_partitioned=row["partitioned"],
        policies=conditions.policies,
        figures=figures,
        problems=notes,
        dependents=row["dependents"] or (),
        is_protected=str(row["own"].get(PROTECTED, "")).lower() == "true",
        unmanaged=unmanaged(row["own"]),
        reads=reads,
        is_external=row["external"],
    )
    sizes = {name: (live or row)[name] for name in _SIZES}
    partitions = None if figures is None or not row["partitioned"] else figures.partitions
    at_once = None if live is not None or not measured else int(measured["at"])
    return PlannedTable(
        table=table, partitions=partitions, growth=row["growth"], measured_at=at_once, notes=notes, **sizes
    )
