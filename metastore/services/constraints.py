"""Constraints of tables: stored for the planners of engines, never enforced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metastore.domain import events
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.constraints import add_constraints, owner_of
from metastore.services.rules.lookup import get_table
from metastore.services.service import Service
from metastore.storage.mapping.constraints import KINDS, Constraint
from metastore.storage.repositories.constraints import of_table, pointing_to
from thrift_idl.gen.hive_metastore.ttypes import SQLForeignKey


class ConstraintService(Service):
    """Rules of constraints. Catalog, database and table names are in lower case."""

    def add(self, constraints: Sequence[Constraint]) -> None:
        """Adds constraints to one table, all or none.

        Raises:
            NotFoundError: the table, or the one that a foreign key refers to, does not exist.
            InvalidObjectError: a name is taken, or a column does not exist.
            InvalidInputError: the list is empty or names several tables, or a primary key exists already.
        """
        owners = {owner_of(constraint) for constraint in constraints}
        if len(owners) != 1:
            raise InvalidInputError(f"One call can add constraints of one table only, not of {len(owners)} tables")
        table = owners.pop()
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="change")
            add_constraints(work, stored.ref.id, stored.encoded.decode(), constraints)

    def drop(self, table: TableName, name: str) -> None:
        """Drops a constraint. Raises NotFoundError."""
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="change")
            if not work.constraints.delete(stored.ref.id, name):
                raise NotFoundError(f"The constraint: {name} does not exist for the associated table: {table}")
            work.record(events.drop_constraint(table, name))

    def select(self, table: TableName, *structs: type[Any]) -> list[EncodedList[Any]]:
        """Lists the constraints of a table, by kind. As in Hive, the lists are empty if it does not exist."""
        with self._store.read() as work:
            return work.constraints.select(table.catalog, of_table(table.database, table.name), *structs)

    def select_all(self, table: TableName) -> list[EncodedList[Any]]:
        """Lists the constraints of all kinds, in the order of SQLAllTableConstraints."""
        return self.select(table, *KINDS)

    def foreign_keys(
        self, catalog: str, parent: tuple[str | None, str | None], child: tuple[str | None, str | None]
    ) -> EncodedList[SQLForeignKey]:
        """Lists the foreign keys of a child table, to a parent table, or both.

        Each table is (database, table); None for any. Raises InvalidInputError if neither table is named.
        """
        if parent[1] is None and child[1] is None:
            raise InvalidInputError("Cannot list foreign keys: name the parent table or the foreign table")
        condition = pointing_to(*parent) & of_table(*child)
        with self._store.read() as work:
            return work.constraints.select(catalog, condition, SQLForeignKey)[0]
