"""Altering tables: compare-and-swap, and what `cascade.table_alteration` does."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from metastore.domain.column_statistics import updates_statistics
from metastore.domain.names import DatabaseName, TableName, fold
from metastore.domain.renaming import replaces
from metastore.encoding.redaction import is_secret
from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.services.cascade.retention import Retention
from metastore.services.cascade.table_alteration import Alteration, TableAlteration, check_decided
from metastore.services.files.change_loop import Attempt
from metastore.services.files.former_directories import FormerDirectories
from metastore.services.files.journal import Journal
from metastore.services.files.replaced_locations import check_not_replaced
from metastore.services.rules.iceberg_commits import check_commit, modified
from metastore.services.rules.lookup import lock_tables, required, taken
from metastore.services.rules.partitions import check_version
from metastore.services.rules.tables import is_true, is_view
from metastore.services.service import ChangingService, Clock
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics
from thrift_idl.gen.hive_metastore.ttypes import Table

EXPECTED_KEY, EXPECTED_VALUE = "expected_parameter_key", "expected_parameter_value"


class TableAlterService(ChangingService):
    """Rules of ALTER TABLE. Catalog and database names are in lower case."""

    def __init__(self, journal: Journal, clock: Clock, retention: Retention, *, follow_columns: bool = True) -> None:
        """`follow_columns`: column changes are passed on to dependent tables. Otherwise they are rejected."""
        super().__init__(journal, clock, retention)
        self._alteration = TableAlteration(self._warehouse, clock, self._dropping, propagate=follow_columns)

    def alter(self, name: TableName, new: Table, *, context: Mapping[str, str], cascade: bool = False) -> None:
        """Replaces a table. `context`: the properties of the client's EnvironmentContext. `cascade`: also partitions.

        Raises:
            ConflictError: `expected_parameter_key` no longer has the expected value.
            InvalidInputError: the database, columns or serde is missing, or the location if files are counted.
            InvalidOperationError: the table does not exist or would change its catalog, the new name exists, or
                partition columns or an incompatible type would change.
        """
        if new.catName and fold(new.catName) != name.catalog:
            raise InvalidOperationError(f"Tables cannot be moved between catalogs: {name} is in {name.catalog}")
        database = DatabaseName(name.catalog, fold(new.dbName) or name.database)
        target = database.table(fold(new.tableName))
        # 1. Look: no transaction is open (see `files.change_loop`).
        counted: dict[str, DirectoryStatistics | None] = {}  # by location; None if the directory does not exist
        if target == name and updates_statistics(context) and new.sd and not new.partitionKeys and not is_view(new):
            self._count(paths.absolute([new.sd.location]), counted)

        former = FormerDirectories(self._warehouse, self._store, counted)

        def plan(work: UnitOfWork, attempt: Attempt) -> list[int]:
            stored = _lock(work, name, target if replaces(context) else None)
            old = stored.encoded.decode()
            check_version(str(name), stored.ref.version, context)
            check_decided(stored)
            _check_expected(old, new, context)
            check_commit(old, new, context.get(EXPECTED_KEY))
            # A repeated attempt begins with the table that the client sent.
            after = self._alteration.successor(database, old, copy.deepcopy(new), context)
            check_not_replaced(work, stored, {"": (old, after)}, context)
            former.require_all_read(work, attempt, stored, [(old, after)], context)
            alteration = Alteration(stored, old, after, context, counted, cascade)
            return self._alteration.alter(work, attempt, alteration)

        exists = InvalidOperationError(f"alter is not possible: new table {target} already exists")
        with taken(exists), former.leaving_rejected():
            operations = self._loop.change(plan, look=lambda needed: self._count(former.look(needed), counted))
        self._journal.carry_out(operations)  # 3. carry out, after the commit

    def _count(self, locations: Sequence[str], counted: dict[str, DirectoryStatistics | None]) -> None:
        if locations:
            normalised = list(map(paths.normalise, locations))
            counted |= dict.fromkeys(normalised) | self._warehouse.statistics(normalised)


def _lock(work: UnitOfWork, name: TableName, replaced: TableName | None) -> StoredTable:
    """Locks and reads the table. `replaced`: another table that the call replaces, locked in the order of their ids."""
    if replaced:
        lock_tables(work, [name, replaced], "change")
    missing = InvalidOperationError(f"alter is not possible: {name} table not found")
    return required(work.tables.find(name, lock="change"), missing)


def _check_expected(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """The compare of compare-and-swap (HIVE-26882), by which Iceberg commits without locks."""
    key, expected = context.get(EXPECTED_KEY), context.get(EXPECTED_VALUE)
    if key is None:
        return
    if is_secret(key):  # an error would tell whether a guess is right
        raise InvalidInputError(f"{EXPECTED_KEY} is {key}: it cannot be the name of a secret")
    if expected is None or key not in (new.parameters or {}):
        raise InvalidInputError(
            f"{EXPECTED_KEY} needs {EXPECTED_VALUE}, and a new value of '{key}' in the table's parameters"
        )
    actual = old.parameters.get(key)
    if actual != expected:
        raise modified(key, actual, expected)


def do_cascade(context: Mapping[str, str]) -> bool:
    """Returns whether the client's context asks for CASCADE."""
    return is_true(dict(context), "CASCADE")
