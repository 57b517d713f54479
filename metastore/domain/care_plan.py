"""The plan of table care: what would be done with each table, and why, in the order of its gain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from metastore.domain.care import OFF, ON, REPORT, Policies

RETENTION, DISCOVERY, COMPACTION = "retention", "discovery", "compaction"
EMPTY, LAYOUT, UNREAD, STATISTICS = "empty", "layout", "unread", "statistics"
BLOCKED: Final = "blocked"
_ORDER: Final = (RETENTION, DISCOVERY, COMPACTION, EMPTY, LAYOUT, UNREAD, STATISTICS)
_MANY: Final = 1000
"""Partitions from which a table may have too many."""
_LONGEST: Final = 100 * 366 * 86_400
"""Seconds. Nobody records scans for longer."""
_SMALL_PARTITION: Final = 8
"""A table has too many partitions if the average one is smaller than the target size by this factor."""


class Figures(NamedTuple):
    """Sums over the partitions of a table (`queries.care_figures`). A table without partitions counts as one."""

    partitions: int
    bytes: int | None
    empty: int
    uncounted: int
    unanalyzed: int
    compact_partitions: int
    compact_files: int
    compact_files_after: int
    compact_bytes: int
    expired_partitions: int
    expired_files: int
    expired_bytes: int


class Reads(NamedTuple):
    """What the record of scans knows about the reads of a table.

    Attributes:
        since: the day since which scans are recorded; None if they are not.
        today: the present day.
        created: the day on which the table was created.
        scanned: the day of the last scan.
        opened: the last day on which a client that plans no scans here read the table's definition.
    """

    since: date | None
    today: date
    created: date
    scanned: date | None
    opened: date | None


class CareTable(NamedTuple):
    """A table, its policies, and what they mean. `figures`: None if they are not measured yet; `dependents`: names of
    dependent tables, None for hidden ones; `unmanaged`: why its files are not compacted.
    """

    catalog: str
    database: str
    name: str
    is_partitioned: bool
    policies: Policies
    figures: Figures | None
    problems: Sequence[str] = ()
    dependents: Sequence[str | None] = ()
    is_protected: bool = False
    unmanaged: str | None = None
    reads: Reads | None = None
    is_external: bool = False

    @property
    def is_discovered(self) -> bool:
        """Whether its partitions are those for which there are directories."""
        return self.policies.discover and self.is_external and self.is_partitioned and self.unmanaged is None


class Action(NamedTuple):
    """What would be done with a table.

    Attributes:
        table: the table.
        kind: RETENTION, DISCOVERY, COMPACTION, EMPTY, LAYOUT, UNREAD or STATISTICS.
        mode: ON, REPORT (nothing is changed), or BLOCKED (`reason` says by what).
        partitions, files, bytes: what the action concerns; for a table without partitions, `partitions` is 0.
        files_after, bytes_after: what remains of these.
        rewritten: bytes to write.
        gain: removed files for each byte rewritten; None if nothing is rewritten.
        reason: why, in one line.
    """

    table: CareTable
    kind: str
    mode: str
    partitions: int
    files: int
    bytes: int
    files_after: int
    bytes_after: int
    rewritten: int
    reason: str

    @property
    def gain(self) -> float | None:
        return (self.files - self.files_after) / self.rewritten if self.rewritten else None


def plan(tables: Iterable[CareTable]) -> list[Action]:
    """Returns the actions of tables. First those that rewrite nothing and free the most; then discovery; then
    compactions, by removed files for each byte rewritten; then reports about partitions and statistics.
    """
    actions = []
    for table in tables:
        if table.is_discovered:
            actions.append(_discovery(table))
        if table.figures is not None:
            actions += _actions(table, table.figures)
    return sorted(actions, key=_rank)


def _rank(action: Action) -> tuple[float, ...]:
    first = float(_ORDER.index(action.kind))
    if action.kind == COMPACTION:
        return (first, -(action.gain or 0.0), -action.files)
    return (first, -float(action.bytes), -float(action.partitions))


def _actions(table: CareTable, figures: Figures) -> Iterable[Action]:
    """Yields the actions of a table."""
    if figures.expired_partitions:
        yield _retention(table, figures)
    if figures.compact_partitions:
        yield _compaction(table, figures)
    if table.reads:
        yield from _unread(table, table.reads, figures)
    if not table.is_partitioned:
        yield from _statistics(table, figures)
        return
    if figures.empty:
        reason = "partitions without data: drop them, or load them again"
        yield Action(table, EMPTY, REPORT, figures.empty, 0, 0, 0, 0, 0, reason)
    size = figures.bytes or 0
    average = size // max(1, figures.partitions)
    is_fine = average >= table.policies.target_size // _SMALL_PARTITION
    if table.policies.layout == REPORT and figures.partitions >= _MANY and figures.bytes is not None and not is_fine:
        reason = f"partitions have {_mib(average)} on average: a coarser partition column, or buckets, make fewer"
        yield Action(table, LAYOUT, REPORT, figures.partitions, 0, size, 0, size, 0, reason)
    yield from _statistics(table, figures)


def _unread(table: CareTable, reads: Reads, figures: Figures) -> Iterable[Action]:
    """Yields the report of a table that nobody has read, if scans were recorded for long enough to know it."""
    period = table.policies.unread_period
    if not period or reads.since is None:
        return
    begin = reads.today - timedelta(seconds=min(period, _LONGEST))
    known = (reads.since, reads.created, reads.scanned, reads.opened)
    if any(day is not None and day > begin for day in known):
        return
    last = max((day for day in (reads.scanned, reads.opened) if day is not None), default=None)
    reason = f"nobody has read it since {last or f'the record began on {reads.since}'}"
    size, number = figures.bytes or 0, figures.partitions if table.is_partitioned else 0
    yield Action(table, UNREAD, REPORT, number, 0, size, 0, size, 0, reason)


def _retention(table: CareTable, figures: Figures) -> Action:
    name = f"{table.database}.{table.name}"
    rules = []
    if table.policies.created_period:
        rules.append(f"created more than {_period(table.policies.created_period)} ago")
    if table.policies.dates and table.policies.key_period:
        rules.append(f"whose {table.policies.dates.unit} ended more than {_period(table.policies.key_period)} ago")
    mode, reason = ON, f"partitions {' or '.join(rules)}"
    if table.is_protected:
        mode, reason = BLOCKED, f"the table is protected: run  metastore unprotect {name}"
    elif table.dependents:
        known = sorted(one for one in table.dependents if one)
        others = len(table.dependents) - len(known)
        names = ", ".join([*known, *([f"{others} hidden"] if others else [])])
        reason += f"; those on which partitions of dependent tables rest are kept: {names}"
    return Action(
        table,
        RETENTION,
        mode,
        figures.expired_partitions,
        figures.expired_files,
        figures.expired_bytes,
        0,
        0,
        0,
        reason,
    )


def _discovery(table: CareTable) -> Action:
    dropped = {ON: ", and those whose directories are gone are dropped", REPORT: ", and missing directories are listed"}
    reason = f"directories become partitions{dropped.get(table.policies.discovery_drop, '')}"
    return Action(table, DISCOVERY, ON, 0, 0, 0, 0, 0, 0, reason)


def _compaction(table: CareTable, figures: Figures) -> Action:
    average = figures.compact_bytes // max(1, figures.compact_files)
    reason = f"{figures.compact_files:,} files of {_mib(average)} on average"
    return Action(
        table,
        COMPACTION,
        ON if table.policies.compaction == ON else REPORT,
        figures.compact_partitions if table.is_partitioned else 0,
        figures.compact_files,
        figures.compact_bytes,
        figures.compact_files_after,
        figures.compact_bytes,
        figures.compact_bytes,
        reason,
    )


def _statistics(table: CareTable, figures: Figures) -> Iterable[Action]:
    if table.policies.statistics == OFF or not (figures.unanalyzed or figures.uncounted):
        return
    number = max(figures.unanalyzed, figures.uncounted) if table.is_partitioned else 0
    mode = ON if table.policies.statistics == ON and table.unmanaged is None else REPORT
    reasons = ["no accurate statistics"] if figures.unanalyzed else []
    if figures.uncounted:
        number_of = f"{figures.uncounted} without" if table.is_partitioned else "unknown"
        reasons.append(f"{number_of} number and size of files")
    yield Action(table, STATISTICS, mode, number, 0, 0, 0, 0, 0, "; ".join(reasons))


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"


def _period(seconds: int) -> str:
    units = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
    unit, name = next(one for one in units if seconds % one[0] == 0)
    count = seconds // unit
    return f"{count} {name}{'' if count == 1 else 's'}"
