"""Authorization of calls, for the dispatcher and the services. Each question reads the database once, without a
transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import Requirement
from metastore.domain.privileges import Admins, CallerGrants, Right, Securable, rights, sees, sees_all_of
from metastore.encoding.binary import STOP, EncodedStruct, encode_fields
from metastore.encoding.redaction import may_hold_secrets, redact
from metastore.errors import HiddenError
from metastore.services.authorization.grants_cache import GrantsCache, unsettled
from metastore.services.authorization.permission import Permission
from metastore.services.rules.lookup import missing_table
from metastore.storage.queries.visibility import seeing
from metastore.storage.repositories.access import ReadTable
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table

_ATTEMPTS: Final = 10
Name = TypeVar("Name", bound=TableName | DatabaseName)


class Authorization:
    """Decides what the caller of the current call may do and see."""

    def __init__(self, store: Store, admins: Admins, roots: Roots) -> None:
        self._store = store
        self._cache = GrantsCache(admins)
        self._roots = roots

    def grants(self) -> CallerGrants:
        """Returns the caller's grants."""
        with self._store.read() as work:
            return self.current(work)

    def current(self, work: UnitOfWork) -> CallerGrants:
        """Returns the caller's grants, in this unit of work."""
        return self._cache.current(work)

    def cached(self, work: UnitOfWork) -> CallerGrants:
        """Returns the caller's grants, which may be out of date."""
        return self._cache.cached(work).grants

    def for_call(self, grants: CallerGrants, _requirements: Iterable[Requirement]) -> CallerGrants:
        """Returns the grants with which the requirements of a call are checked."""
        return grants

    def find(
        self, work: UnitOfWork, grants: CallerGrants, names: Sequence[TableName | DatabaseName]
    ) -> list[Securable | None]:
        """Looks up objects with the caller's rights on them, in order. None: the database does not exist."""
        return work.access.find(names, grants)

    def search_parameters(self) -> Mapping[str, Any]:
        """Returns the parameters of the conditions that make a search show only visible objects."""
        return seeing(self.grants(), tables=True)

    def check(self, requirements: Iterable[Requirement]) -> CallerGrants:
        """Returns the caller's grants if they meet the requirements.

        Raises PermissionDeniedError if they do not, NotFoundError for an object that does not exist or is hidden.
        """
        with self._store.read() as work:
            required = list(requirements)
            grants = self.for_call(self.current(work), required)
            find = partial(self.find, work, grants)
            Permission(work, grants, self._roots, find).check(required)
        return grants

    def read_table(self, work: UnitOfWork, name: TableName) -> EncodedStruct[Table]:
        """Reads a table in one statement, with the version of the grants. Raises NotFoundError if it does not exist or
        is hidden.
        """
        cached = self._cache.cached(work)
        for _ in range(_ATTEMPTS):
            read = work.access.read_table(name)
            if read is None:
                work.access.granted(None, cached.grants)  # as many statements as for a hidden table
                raise missing_table(name)
            if read.version == cached.grants.version or cached.grants.is_admin:
                decision = cached.known_decision(read.securable)
                if decision is None:
                    granted = work.access.granted(read.securable.table_id, cached.grants)
                    decision = cached.decide(read.securable, granted)
                if not decision.is_visible:
                    raise HiddenError(str(missing_table(name)))
                encoded = work.access.encoded(read)
                return encoded if decision.is_owned else without_secrets(encoded)
            cached = self._cache.reloaded(work)
        raise unsettled()

    def read_table_with_rights(
        self, work: UnitOfWork, name: TableName
    ) -> tuple[ReadTable, CallerGrants, frozenset[str]]:
        """Reads a table, with the caller's grants and the caller's rights on the table, in two statements. Raises
        NotFoundError if it does not exist or is hidden.
        """
        cached = self._cache.cached(work)
        for _ in range(_ATTEMPTS):
            read = work.access.read_table(name)
            granted = work.access.granted(read.securable.table_id if read else None, cached.grants)
            if read is None:
                raise missing_table(name)
            if read.version == cached.grants.version or cached.grants.is_admin:
                securable = read.securable._replace(granted=granted)
                if not sees(cached.grants, securable):
                    raise HiddenError(str(missing_table(name)))
                return read, cached.grants, rights(cached.grants, securable)
            cached = self._cache.reloaded(work)
        raise unsettled()

    def visible_tables(self, names: Iterable[TableName]) -> set[TableName]:
        """Returns the tables that the caller may see. For callers who see everything, that is all of the names, whether
        or not the tables exist.
        """
        unique = set(names)
        with self._store.read() as work:
            grants = self.current(work)
            return unique if grants.sees_everything else set(work.access.seen_tables(unique, grants))

    def creation_times(self, names: Iterable[TableName]) -> dict[TableName, int]:
        """Returns the tables that the caller may see, with their creation times in seconds since 1970."""
        unique = set(names)
        with self._store.read() as work:
            return work.access.seen_tables(unique, self.current(work))

    def fully_visible_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns the databases in which the caller may see every table, dropped tables included."""
        grants, securables = self._looked_up(names)
        return {name for name, securable in securables.items() if sees_all_of(grants, securable)}

    def visible_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns the databases that the caller may see."""
        unique = set(names)
        with self._store.read() as work:
            grants = self.current(work)
            return unique if grants.sees_everything else work.access.seen_databases(unique, grants)

    def visible_catalogs(self, names: Iterable[str]) -> set[str]:
        """Returns the catalogs in which the caller may see an object."""
        unique = set(names)
        with self._store.read() as work:
            grants = self.current(work)
            if grants.sees_everything:
                return unique
            return unique & (work.access.seen_catalogs(grants) | grants.catalogs.keys())

    def hidden_tables(self, names: Iterable[TableName]) -> set[TableName]:
        """Returns the tables that exist, and that the caller may not see."""
        grants, securables = self._looked_up(names)
        existing = {name: table for name, table in securables.items() if table.table_id is not None}
        return {name for name, table in existing.items() if not sees(grants, table)}

    def owned(self, names: Iterable[TableName | DatabaseName]) -> set[TableName | DatabaseName]:
        """Returns the objects that the caller owns, and the tables of databases that the caller owns."""
        grants, securables = self._looked_up(names)
        return {
            name
            for name, securable in securables.items()
            if (securable.table_id is not None or isinstance(name, DatabaseName))
            and Right.OWNERSHIP in rights(grants, securable)
        }

    def _looked_up(self, names: Iterable[Name]) -> tuple[CallerGrants, dict[Name, Securable]]:
        """Returns the caller's grants, and the objects that exist."""
        unique = list(dict.fromkeys(names))
        with self._store.read() as work:
            grants = self.current(work)
            securables = self.find(work, grants, unique)
        return grants, {name: securable for name, securable in zip(unique, securables, strict=True) if securable}


def without_secrets(encoded: EncodedStruct[Table]) -> EncodedStruct[Table]:
    """Returns a table without the values of secrets, as others than its owner see it."""
    if not may_hold_secrets(encoded.data):
        return encoded
    table = encoded.decode()
    return EncodedStruct(Table, encode_fields(table) + STOP) if redact(table) else encoded
