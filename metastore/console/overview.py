"""Base of the classes that read for pages: the caller's visible objects, and a table with the caller's rights on it."""

from __future__ import annotations

from typing import NamedTuple

from metastore.domain.names import TableName
from metastore.domain.privileges import CallerGrants, Right
from metastore.encoding.redaction import redact
from metastore.services.authorization.authorization import Authorization, is_exact
from metastore.storage.queries.visibility import EVERYTHING, Scope, scope_by
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import Table


class ExaminedTable(NamedTuple):
    """A table without its secrets. `grants`: of the caller."""

    id: int
    table: Table
    grants: CallerGrants
    rights: frozenset[str]

    @property
    def may_read(self) -> bool:
        """Whether the caller may read the table's data and statistics."""
        return Right.SELECT in self.rights

    @property
    def is_owned(self) -> bool:
        """Whether the caller sees everything about the table."""
        return Right.OWNERSHIP in self.rights

    @property
    def sees_dependents(self) -> bool:
        """Whether conditions in SQL select exactly the objects that the caller may see."""
        return is_exact(self.grants)

    @property
    def scope(self) -> Scope:
        """The objects that the caller may see, for a query over few tables; all of them unless `sees_dependents`."""
        return scope_by(self.grants) if self.sees_dependents else EVERYTHING


class Overview:
    """`rights`: of the caller."""

    def __init__(self, store: Store, rights: Authorization) -> None:
        self._store = store
        self._rights = rights

    def _caller(self) -> tuple[str | None, bool, Scope]:
        """Returns the caller, whether the caller is an administrator, and the objects that the caller may see, with at
        most two statements.
        """
        return self._rights.caller_and_scope()

    def _examine(self, name: TableName) -> ExaminedTable:
        """Reads a table in one statement, and another one if its descriptor is not cached.

        Raises NotFoundError if it does not exist or is hidden.
        """
        table_id, encoded, grants, held = self._rights.read_table_with_rights(name)
        table = encoded.decode()
        redact(table)
        return ExaminedTable(table_id, table, grants, held)
