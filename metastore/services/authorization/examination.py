"""Reads a table for a page about it, with the caller's rights on it."""

from __future__ import annotations

from typing import NamedTuple

from metastore.domain.names import TableName
from metastore.domain.privileges import OWNER_RIGHTS, CallerGrants, Right
from metastore.encoding.redaction import redact
from metastore.services.authorization.authorization import Authorization
from metastore.services.rules.lookup import get_table
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import Table


class ExaminedTable(NamedTuple):
    """A table without its secrets. `grants`: of the caller; None if everybody may do everything."""

    id: int
    table: Table
    grants: CallerGrants | None
    rights: frozenset[str]
    has_hidden_columns: bool = False

    @property
    def may_read(self) -> bool:
        """Whether the caller may read the table's data and statistics."""
        return self.grants is None or Right.SELECT in self.rights

    @property
    def is_owned(self) -> bool:
        """Whether the caller sees everything about the table."""
        return self.grants is None or Right.OWNERSHIP in self.rights


def examine(store: Store, rights: Authorization | None, name: TableName) -> ExaminedTable:
    """Reads a table in one statement, and another one if its descriptor is not cached.

    Raises NotFoundError if it does not exist or is hidden.
    """
    hides = False
    if rights is None:
        with store.read() as work:
            stored = get_table(work, name)
        table_id, encoded, grants, held = stored.ref.id, stored.encoded, None, frozenset(OWNER_RIGHTS)
    else:
        table_id, encoded, grants, held, hides = rights.read_table_with_rights(name)
    table = encoded.decode()
    redact(table)
    return ExaminedTable(table_id, table, grants, held, hides)
