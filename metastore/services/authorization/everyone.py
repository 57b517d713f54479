"""The authorization of a server without authorization: every caller may do and see everything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import Requirement
from metastore.domain.privileges import OWNER_RIGHTS, CallerGrants
from metastore.encoding.binary import EncodedStruct
from metastore.services.authorization.authorization import Authorization, ReadWithRights
from metastore.services.rules.lookup import get_table, ids_within
from metastore.storage.mapping.layout import with_id
from metastore.storage.queries.visibility import EVERYTHING, Scope
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table

_GRANTS: Final = CallerGrants(user=None, is_admin=True)


class Everyone(Authorization):
    """Permits everything. It reads no privileges, and does not look up the objects whose visibility is asked."""

    hides_objects = False

    def __init__(self, store: Store) -> None:
        self._store = store

    def grants(self) -> CallerGrants:
        """Returns the grants of an administrator without a name."""
        return _GRANTS

    def current(self, _work: UnitOfWork) -> CallerGrants:
        """Returns the grants of an administrator without a name."""
        return _GRANTS

    def cached(self, _work: UnitOfWork) -> CallerGrants:
        """Returns the grants of an administrator without a name."""
        return _GRANTS

    def privileges_version(self) -> int | None:
        """Returns None, because privileges are not checked."""
        return None

    def transaction_holder(self) -> str | None:
        """Returns None: every caller may end the transactions of all users."""
        return None

    def renewable(self, _first: int, _last: int) -> tuple[str | None, set[int]]:
        """Returns that the caller may renew the transactions of all users, and that no right is lost."""
        return None, set()

    def caller_and_scope(self) -> tuple[str | None, bool, Scope]:
        """Returns an administrator without a name, who sees everything."""
        return None, True, EVERYTHING

    def check(self, _requirements: Iterable[Requirement]) -> CallerGrants:
        """Returns the grants of an administrator: they meet all requirements."""
        return _GRANTS

    def read_table(self, name: TableName) -> EncodedStruct[Table]:
        """Reads a table, including its id and its secrets. Raises NotFoundError."""
        with self._store.read() as work:
            stored = get_table(work, name)
        return with_id(stored.encoded, stored.ref.id)

    def read_table_with_rights(self, name: TableName) -> ReadWithRights:
        """Reads a table, with all rights of an owner. Raises NotFoundError."""
        with self._store.read() as work:
            stored = get_table(work, name)
        return ReadWithRights(stored.ref.id, stored.encoded, _GRANTS, frozenset(OWNER_RIGHTS))

    def visible_tables(
        self, names: Iterable[TableName], _asked: Iterable[TableName | DatabaseName] = ()
    ) -> set[TableName]:
        """Returns all of the names."""
        return set(names)

    def alterable_ids(self, name: TableName) -> list[int] | None:
        """Returns the id of a table, the ids of a database's tables, or None for all tables. Raises NotFoundError."""
        with self._store.read() as work:
            return ids_within(work, name)

    def alterable_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns all of the names."""
        return set(names)

    def fully_visible_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns all of the names."""
        return set(names)

    def visible_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns all of the names."""
        return set(names)

    def visible_catalogs(self, names: Iterable[str]) -> set[str]:
        """Returns all of the names."""
        return set(names)

    def hidden_tables(self, _names: Iterable[TableName]) -> set[TableName]:
        """Returns nothing, because nothing is hidden."""
        return set()

    def would_see(self, names: Iterable[TableName]) -> set[TableName]:
        """Returns all of the names."""
        return set(names)

    def owned(self, names: Iterable[TableName | DatabaseName]) -> set[TableName | DatabaseName]:
        """Returns all of the names: every caller has the rights of an owner."""
        return set(names)
