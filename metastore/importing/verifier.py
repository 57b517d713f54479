"""Compares the objects of a source with this server's by digests, and field by field where the digests differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from metastore.domain.names import DatabaseName, TableName
from metastore.importing.canonical import Form, differences, form_of
from metastore.importing.digests import Digests
from metastore.importing.identities import identity_of, identity_text
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.broken import NOT_READ, UNREADABLE
from metastore.importing.sources.objects import (
    BESIDE_TABLES,
    Selection,
    SourcePartition,
    SourceStatistics,
    Stage,
    TransactionState,
)
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import UNREADABLE_REPLY
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import (
    Role,
    Table,
)

T = TypeVar("T")
_RANGE: Final = 1_000
"""Number of partitions in one digest."""
_PARTITION: Final = "partition"
MISSING: Final = "missing on this server"
EXTRA: Final = "not in the source"


class Difference(NamedTuple):
    """One field of one object. `kind`: of the object. The values are None where the object is missing."""

    kind: str
    object: str
    field: str
    source: Any
    ours: Any


@dataclass
class Outcome:
    """The result of a comparison.

    `compared`: objects by kind. `digests`: of the source's objects that both sides have. `hidden`: fields of column
    statistics that the source does not return, with the settings that return them. They are not compared, and neither
    are the `broken` rows of the source.
    """

    compared: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    digests: Digests = field(default_factory=Digests)
    hidden: Mapping[str, str] = field(default_factory=dict)
    broken: list[Finding] = field(default_factory=list)


class Verifier:
    """One comparison. Reads both sides at the same time."""

    def __init__(
        self, source: Source, ours: Source, rewriting: Rewriting, on_progress: Callable[[str, int], object]
    ) -> None:
        """`rewriting`: of the source's locations, as in the import. `on_progress`: receives kinds and numbers."""
        self._source = source
        self._ours = ours
        self._rewriting = rewriting
        self._on_progress = on_progress
        self._outcome = Outcome()
        self._digests = self._outcome.digests
        self._broken: list[Finding] = []
        self._pool = ThreadPoolExecutor(2)

    def run(self, selection: Selection) -> Outcome:
        """Compares the selected databases with everything in them, and roles and grants."""
        self._source.broken.are_skipped = True  # they cannot be here
        with self._pool, self._source.snapshot(), self._ours.snapshot():
            self._outcome.hidden = self._source.hidden_statistics
            theirs, ours = self._all(Stage.DATABASES, selection)
            self._compare("database", theirs, ours)
            for name in sorted(theirs, key=str):
                self._compare_database(name)
            for stage in BESIDE_TABLES:
                if stage in self._source.stages and stage in self._ours.stages:
                    self._compare(stage.value, *self._comparable(stage, selection))
            if Stage.TOKENS in self._source.stages:
                self._compare_secrets()
            self._compare_marks(selection)
            self._outcome.broken += [*dict.fromkeys([*self._broken, *self._source.broken.taken()])]
        return self._outcome

    def _compare_database(self, database: DatabaseName) -> None:
        theirs, ours = self._both(lambda side: side.table_names(database))
        for name in sorted({*theirs, *ours}):
            table = database.table(name)
            one, other = self._both(partial(_table, table))
            one = self._rewriting.rewrite(one) if one else None
            self._compare("table", {table: one} if one else {}, {table: other} if other else {})
            if not one or not other:
                continue
            try:
                if one.partitionKeys:
                    self._compare_partitions(table)
                self._compare_statistics(table, {column.name.lower() for column in one.sd.cols})
            except UNREADABLE_REPLY as error:
                self._broken.append(Finding(UNREADABLE, str(table), f"it is not compared: {error}"))

    def _compare_partitions(self, table: TableName) -> None:
        theirs, ours = self._both(lambda side: side.partition_names(table))
        present = set(ours)
        missing = _unbroken(self._source, table, [name for name in theirs if name not in present])
        self._only(_PARTITION, table, missing, MISSING)
        present = set(theirs)
        self._only(_PARTITION, table, [name for name in ours if name not in present], EXTRA)
        common = [name for name in ours if name in present]
        for start in range(0, len(common), _RANGE):
            some = common[start : start + _RANGE]
            one, other = self._both(partial(_partitions, table, some))
            one = {name: self._rewriting.rewrite(partition) for name, partition in one.items()}
            theirs_of_range, ours_of_range = (
                self._digests.partition_texts(side[name] for name in some if name in side) for side in (one, other)
            )
            self._digests.add(_PARTITION, self._digests.of_texts(theirs_of_range))
            if theirs_of_range != ours_of_range:
                self._compare(_PARTITION, one, other, prefix=f"{table}/")
            else:
                self._count(_PARTITION, len(some))

    def _only(self, kind: str, table: TableName, names: Sequence[str], reason: str) -> None:
        self._count(kind, len(names))
        self._outcome.differences += [
            Difference(kind, f"{table}/{name}", reason, *((name, None) if reason == MISSING else (None, name)))
            for name in names
        ]

    def _compare_statistics(self, table: TableName, columns: set[str]) -> None:
        """Compares the statistics of columns that the table has: clients cannot ask for others."""
        one, other = self._both(partial(_statistics, table, columns))
        for hidden in self._outcome.hidden:
            _clear(hidden, [*one.values(), *other.values()])
        for identity in one.keys() & other.keys():  # not all sources know the time
            if 0 in (one[identity].analyzed_at, other[identity].analyzed_at):
                one[identity] = one[identity]._replace(analyzed_at=0)
                other[identity] = other[identity]._replace(analyzed_at=0)
        self._compare("statistics", one, other, prefix=f"{table} ")

    def _compare_secrets(self) -> None:
        """Compares delegation tokens and their keys by digests, if this server shows them to the caller."""
        for stage in (Stage.MASTER_KEYS, Stage.TOKENS):
            batches = list(self._ours.read(stage, "", Selection()))
            if batches:
                theirs = (one for batch in self._source.read(stage, "", Selection()) for one in batch.objects)
                ours = (one for batch in batches for one in batch.objects)
                self._compare(stage.value, _by_identity(theirs), _by_identity(ours))

    def _compare_marks(self, selection: Selection) -> None:
        """Compares the last write ids of transactional tables: those of this server must not be lower.

        Transactions that write nothing constantly raise the source's transaction id, so it is not compared.
        """
        theirs, ours = self._both(partial(_transactions, selection))
        if theirs is None or ours is None:
            return
        common = theirs.write_ids.keys() & ours.write_ids.keys()  # the table is transactional on both sides
        marks = [(str(name), theirs.write_ids[name], ours.write_ids[name]) for name in sorted(common, key=str)]
        self._count(Stage.TRANSACTIONS.value, len(marks))
        self._outcome.differences += [
            Difference(Stage.TRANSACTIONS.value, text, "last write id", last, own)
            for text, last, own in marks
            if own < last
        ]

    def _all(self, stage: Stage, selection: Selection) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Returns the objects of a stage on both sides, by their identities."""
        theirs, ours = self._both(partial(self._read, stage, selection))
        rewritten = (self._rewriting.rewrite(one) for one in theirs)
        return _by_identity(rewritten), _by_identity(ours)

    def _comparable(self, stage: Stage, selection: Selection) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Returns the objects of a stage on both sides, without what only one of them can return."""
        if stage is not Stage.PRIVILEGES:
            theirs, ours = self._all(stage, selection)
            if stage is Stage.ROLES:
                _hide_unknown(theirs, ours)
            return theirs, ours
        # Through Thrift, privileges on columns and partitions are listed for known principals only.
        theirs = _by_identity(self._read(stage, selection, self._source))
        self._ours.name_principals({(one.principalName, one.principalType) for one in theirs.values()})
        return theirs, _by_identity(self._read(stage, selection, self._ours))

    def _read(self, stage: Stage, selection: Selection, side: Source) -> list[Any]:
        """Reads the objects of a stage, and remembers the broken ones of the source."""
        objects = []
        for batch in side.read(stage, "", selection):
            objects += batch.objects
            if side is self._source:
                self._broken += [one for one in batch.findings if one.kind in NOT_READ]
        return objects

    def _compare(self, kind: str, theirs: Mapping[Any, Any], ours: Mapping[Any, Any], prefix: str = "") -> None:
        """Compares objects by their identities, and adds the fields that differ."""
        for identity in sorted({*theirs, *ours}, key=str):
            text = prefix + identity_text(identity)
            if identity not in ours or identity not in theirs:
                reason = MISSING if identity not in ours else EXTRA
                self._outcome.differences.append(Difference(kind, text, reason, *_presence(identity, theirs, ours)))
                continue
            one, other = form_of(theirs[identity]), form_of(ours[identity])
            if kind != _PARTITION:  # their digests come from the ranges
                self._digests.add(kind, self._digests.of_form(identity, one))
            self._outcome.differences += _different(kind, text, one, other)
        self._count(kind, len({*theirs, *ours}))

    def _count(self, kind: str, number: int) -> None:
        self._outcome.compared[kind] = self._outcome.compared.get(kind, 0) + number
        self._on_progress(kind, number)

    def _both(self, read: Callable[[Source], T]) -> tuple[T, T]:
        """Reads both sides at the same time."""
        theirs, ours = self._pool.submit(read, self._source), self._pool.submit(read, self._ours)
        return theirs.result(), ours.result()


def _different(kind: str, text: str, one: Form, other: Form) -> Iterator[Difference]:
    for name, source, ours in differences(one, other):
        yield Difference(kind, text, name, source, ours)


def _presence(identity: Any, theirs: Mapping[Any, Any], ours: Mapping[Any, Any]) -> tuple[str | None, str | None]:
    return ("present" if identity in theirs else None), ("present" if identity in ours else None)


def _unbroken(source: Source, table: TableName, names: Sequence[str]) -> list[str]:
    """Returns the partitions among these whose rows can be read."""
    return [one.name for some in source.partitions(table, names, leaves_out=True) for one in some] if names else []


def _hide_unknown(theirs: Mapping[Any, Role], ours: Mapping[Any, Role]) -> None:
    """Sets owner and time equal if one side returns a role without them: Thrift does, for a role without members."""
    for name in theirs.keys() & ours.keys():
        one, other = theirs[name], ours[name]
        if any(not role.createTime and not role.ownerName for role in (one, other)):
            other.createTime, other.ownerName = one.createTime, one.ownerName


def _table(name: TableName, side: Source) -> Table | None:
    return side.table(name)


def _transactions(selection: Selection, side: Source) -> TransactionState | None:
    return next((one for batch in side.read(Stage.TRANSACTIONS, "", selection) for one in batch.objects), None)


def _statistics(table: TableName, columns: set[str], side: Source) -> dict[tuple[str, str], SourceStatistics]:
    by_owner = {}
    for one in side.statistics(table):
        known = [column for column in one.columns if column.colName.lower() in columns]
        if known:
            by_owner[one.partition or "", one.engine] = one._replace(columns=known)
    return by_owner


def _clear(name: str, statistics: Iterable[SourceStatistics]) -> None:
    """Clears a field of column statistics."""
    for column in (column for one in statistics for column in one.columns):
        for data in (getattr(column.statsData, kind) for kind in column.statsData.__slots__):
            if hasattr(data, name):
                setattr(data, name, None)


def _partitions(table: TableName, names: Sequence[str], side: Source) -> dict[str, SourcePartition]:
    return {one.name: one for some in side.partitions(table, names, leaves_out=True) for one in some}


def _by_identity(objects: Iterable[Any]) -> dict[Any, Any]:
    identified = ((identity_of(one), one) for one in objects)
    return {identity: one for identity, one in identified if identity is not None}
