"""Constraints of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, true, tuple_

from metastore.encoding.binary import EncodedList
from metastore.storage.mapping.constraints import KINDS, NamedConstraint, constraint_row, constraint_tail
from metastore.storage.postgres.arrays import is_text_among
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, table_constraints, tables

_PARENTS, _PARENT_DATABASES = tables.alias("parents"), databases.alias("parent_databases")
_JOINED = (
    table_constraints.join(tables, tables.c.id == table_constraints.c.table_id)
    .join(databases, databases.c.id == tables.c.database_id)
    .outerjoin(_PARENTS, _PARENTS.c.id == table_constraints.c.parent_table_id)
    .outerjoin(_PARENT_DATABASES, _PARENT_DATABASES.c.id == _PARENTS.c.database_id)
)

_REFERENCES_EXISTING = or_(table_constraints.c.parent_table_id.is_(None), _PARENTS.c.database_id.is_not(None))


class Constraints(Repository):
    """Queries on constraints. Names are in lower case, structs complete (`services.rules.constraints`)."""

    def select(self, catalog: str, condition: ColumnElement[bool], *structs: type[Any]) -> list[EncodedList[Any]]:
        """Returns one list for each kind of struct: the constraints that match, by table, name and position.

        Foreign keys to a dropped table are left out.
        """
        query = (
            select(
                table_constraints.c.kind,
                table_constraints.c.encoded,
                databases.c.name,
                tables.c.name,
                _PARENT_DATABASES.c.name,
                _PARENTS.c.name,
            )
            .select_from(_JOINED)
            .where(databases.c.catalog == catalog, condition, _REFERENCES_EXISTING)
            .where(table_constraints.c.kind.in_([KINDS[struct].code for struct in structs]))
            .order_by(databases.c.name, tables.c.name, table_constraints.c.name, table_constraints.c.position)
        )
        kinds = {KINDS[struct].code: KINDS[struct] for struct in structs}
        heads: dict[str, list[bytes]] = {code: [] for code in kinds}
        tails: dict[str, list[bytes]] = {code: [] for code in kinds}
        for code, encoded, database, table, parent_database, parent in self._connection.execute(query):
            heads[code].append(bytes(encoded))
            names = (database, table), (parent_database, parent)
            tails[code].append(constraint_tail(kinds[code], catalog, *names))
        return [EncodedList(kind.struct, heads[code], tails[code]) for code, kind in kinds.items()]

    def kinds(self, table_id: int) -> dict[str, str]:
        """Returns the kinds of a table's constraints, by name."""
        query = select(table_constraints.c.name, table_constraints.c.kind).where(
            table_constraints.c.table_id == table_id
        )
        return {row.name: row.kind for row in self._connection.execute(query)}

    def insert(self, table_id: int, new: Sequence[NamedConstraint]) -> None:
        """Adds constraints. Raises InvalidObjectError if a name is taken or there is a primary key already."""
        if new:
            rows = [constraint_row(constraint) | {"table_id": table_id} for constraint in new]
            self._connection.execute(insert(table_constraints), rows)

    def delete(self, table_id: int, name: str) -> int:
        """Deletes a constraint, and returns the number of its columns."""
        named = and_(table_constraints.c.table_id == table_id, table_constraints.c.name == name)
        return self._connection.execute(delete(table_constraints).where(named)).rowcount

    def delete_on(self, table_id: int, columns: Sequence[str]) -> None:
        """Deletes every constraint that contains one of these columns of the table, or refers to one of them."""
        other = table_constraints.alias("other").c
        own = (other.table_id == table_id) & is_text_among(other.column_name, columns)
        referencing = (other.parent_table_id == table_id) & is_text_among(other.parent_column_name, columns)
        doomed = select(other.table_id, other.name).where(own | referencing)
        identity = tuple_(table_constraints.c.table_id, table_constraints.c.name)
        self._connection.execute(delete(table_constraints).where(identity.in_(doomed)))


def of_table(database: str | None, table: str | None) -> ColumnElement[bool]:
    """Returns the condition for constraints of a table, or of a whole database; None means any."""
    return and_(*_named(database, databases), *_named(table, tables))


def pointing_to(database: str | None, table: str | None) -> ColumnElement[bool]:
    """Returns the condition for foreign keys that reference a table; None means any."""
    return and_(*_named(database, _PARENT_DATABASES), *_named(table, _PARENTS))


def _named(name: str | None, table: Any) -> list[ColumnElement[bool]]:
    return [true()] if name is None else [table.c.name == name]
