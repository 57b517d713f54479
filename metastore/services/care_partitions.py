"""The partitions that table care would change, and retention: dropping those that have expired."""

from __future__ import annotations

from typing import Final, NamedTuple

from metastore.domain.care import COMPACTION as POLICY_OF_COMPACTION
from metastore.domain.care import CREATED_PERIOD, KEY, KEY_PERIOD, OFF
from metastore.domain.care import STATISTICS as POLICY_OF_STATISTICS
from metastore.domain.care_plan import COMPACTION, RETENTION, STATISTICS
from metastore.domain.care_rules import Rule, uncompacted, unmanaged
from metastore.domain.names import TableName
from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.services.cascade.partition_dropping import PartitionDropping
from metastore.services.cascade.retention import Retention
from metastore.services.files.change_loop import Attempt
from metastore.services.files.journal import Journal
from metastore.services.rules.care import Conditions, conditions_of
from metastore.services.rules.lookup import get_table
from metastore.services.rules.table_data import check_unprotected
from metastore.services.service import ChangingService, Clock
from metastore.storage.pages.care import ChosenPartition as ChosenPartition
from metastore.storage.queries.visibility import EVERYTHING, NOTHING
from metastore.storage.unit_of_work import UnitOfWork

_MOST: Final = 10_000
DEFAULT_LIMIT: Final = 1000


class Expired(NamedTuple):
    """The partitions that a call has dropped, and the expired ones that it has kept, by name."""

    dropped: list[ChosenPartition]
    held: list[ChosenPartition]


class CarePartitionService(ChangingService):
    """Rules of single partitions. Table names are in lower case."""

    def __init__(self, journal: Journal, clock: Clock, retention: Retention) -> None:
        super().__init__(journal, clock, retention)
        self._partitions = PartitionDropping(journal.warehouse, retention)

    def chosen(self, table: TableName, kind: str, after: str, limit: int | None) -> list[ChosenPartition]:
        """Returns the partitions that table care would change now, by name.

        Args:
            table: the table.
            kind: RETENTION, COMPACTION or STATISTICS.
            after: only partitions whose name is greater; "" for all.
            limit: their number; None for the default.

        Raises:
            NotFoundError: the table does not exist.
            InvalidOperationError: its policies do not allow the action, or it is protected; the text says how to.
            InvalidInputError: the kind is another one.
        """
        with self._store.read() as work:
            stored = get_table(work, table)
            rule = self._rule(work, table, kind)
            if kind == RETENTION:
                check_unprotected(stored.encoded.decode())
                return work.care.expired(rule, after, _limited(limit))
            if kind == STATISTICS:
                return work.care.uncounted(rule, after, _limited(limit), partitioned=bool(stored.ref.keys))
            return work.care.compactable(rule, after, _limited(limit), partitioned=bool(stored.ref.keys))

    def expire(self, table: TableName, after: str, limit: int | None) -> Expired:
        """Drops expired partitions in one transaction, as one drop that can be undone.

        Whether a partition has expired is decided in this transaction: one that was created again meanwhile stays.
        Partitions on which partitions of dependent tables rest are kept.

        Raises NotFoundError, InvalidOperationError for a protected table, or a table without a retention.
        """

        def plan(work: UnitOfWork, _: Attempt) -> tuple[Expired, list[int]]:
            # No other call changes partitions between the query and the drop.
            stored = get_table(work, table, lock="change")
            check_unprotected(stored.encoded.decode())
            expired = work.care.expired(self._rule(work, table, RETENTION), after, _limited(limit))
            dropping = [one for one in expired if not one.held]
            held = [one for one in expired if one.held]
            if not dropping:
                return Expired([], held), []
            names = [one.name for one in dropping]
            return Expired(dropping, held), self._partitions.drop(work, stored, names, delete_data=True)[1]

        expired, operations = self._loop.change(plan)
        self._journal.carry_out(operations)  # after the commit (see `files.change_loop`)
        return expired

    def _rule(self, work: UnitOfWork, table: TableName, kind: str) -> Rule:
        """Returns the conditions of a table's policies now.

        Raises InvalidOperationError if the policies do not allow the action.
        """
        rows = work.care.tables(table, 1, EVERYTHING, NOTHING)
        if not rows:
            raise InvalidOperationError(f"{table} is a view: it has no files of its own")
        conditions = conditions_of(rows[0], self._clock())
        rule = conditions.rule
        if kind == RETENTION:
            if rule.created_before is None and rule.cutoff is None:
                raise InvalidOperationError(_no_retention(table, conditions))
        elif kind == STATISTICS:
            if reason := unmanaged(rows[0]["own"]) or _off(conditions):
                raise InvalidOperationError(f"Statistics of {table} are not counted: {reason}")
        elif kind != COMPACTION:
            raise InvalidInputError(f"The kind is {kind!r}; it must be {RETENTION}, {COMPACTION} or {STATISTICS}")
        elif reason := uncompacted(rows[0]["own"], rows[0]["storage"]):
            raise InvalidOperationError(f"Files of {table} are not compacted: {reason}")
        elif not rule.compacts:
            raise InvalidOperationError(f"Files of {table} are not compacted: {POLICY_OF_COMPACTION} is off")
        return rule


def _off(conditions: Conditions) -> str | None:
    return f"{POLICY_OF_STATISTICS} is off" if conditions.policies.statistics == OFF else None


def _no_retention(table: TableName, conditions: Conditions) -> str:
    """Returns why partitions of a table do not expire, and how to set a retention."""
    names = (CREATED_PERIOD, KEY_PERIOD, KEY)
    problem = next((one.problem for one in conditions.settings if one.name in names and one.problem), None)
    return f"Partitions of {table} do not expire: {problem or f'set {CREATED_PERIOD}, or {KEY} and {KEY_PERIOD}'}"


def _limited(limit: int | None) -> int:
    return DEFAULT_LIMIT if limit is None else max(0, min(limit, _MOST))
