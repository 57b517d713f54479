"""Authorization of calls, for the dispatcher and the services. Decisions read the database without a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import Requirement
from metastore.domain.privileges import (
    Administrators,
    CallerGrants,
    Duty,
    Right,
    Securable,
    rights,
    sees,
    sees_all_of,
)
from metastore.encoding.binary import STOP, EncodedStruct, encode_fields
from metastore.encoding.redaction import may_hold_secrets, redact
from metastore.errors import HiddenError
from metastore.services.authorization.grants_cache import CachedGrants, Decision, GrantsCache, unsettled
from metastore.services.authorization.held import HeldChecks, Renewable
from metastore.services.authorization.permission import Permission
from metastore.services.rules.lookup import database_names, get_database, ids_within, missing_table
from metastore.storage.queries.visibility import Scope
from metastore.storage.repositories.access import ReadTable
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table

_ATTEMPTS: Final = 10
_NO_TABLE: Final = 0  # the id of no table
Result = TypeVar("Result")
Name = TypeVar("Name", bound=TableName | DatabaseName)


class ReadWithRights(NamedTuple):
    """A table, its id, the caller's grants, and the caller's rights on the table."""

    table_id: int
    table: EncodedStruct[Table]
    grants: CallerGrants
    held: frozenset[str]


def is_exact(grants: CallerGrants) -> bool:
    """Returns whether conditions in SQL select exactly the visible objects. They cannot ask a policy engine."""
    return grants.is_admin or not grants.by_policy


class Authorization:
    """Decides what the caller of the current call may do and see."""

    hides_objects = True
    """Whether some callers do not see all objects."""

    def __init__(self, store: Store, admins: Administrators, roots: Roots, *, by_policy: bool = False) -> None:
        self._store = store
        self._cache = GrantsCache(admins, by_policy=by_policy)
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

    def privileges_version(self) -> int | None:
        """Returns the version of all privileges; None if they are not checked."""
        with self._store.read() as work:
            return work.access.version()

    def for_call(self, grants: CallerGrants, _requirements: Iterable[Requirement]) -> CallerGrants:
        """Returns the grants with which the requirements of a call are checked."""
        return grants

    def find(
        self, work: UnitOfWork, grants: CallerGrants, names: Sequence[TableName | DatabaseName]
    ) -> list[Securable | None]:
        """Looks up objects with the caller's rights on them, in order. None: the database does not exist."""
        return work.access.find(names, grants)

    def transaction_holder(self) -> str | None:
        """Returns the user whose transactions the caller may end; None: all users."""
        return _holder(self.grants())

    def renewable(self, first: int, last: int) -> tuple[str | None, set[int]]:
        """Returns the user whose transactions in this range of ids the caller may renew (None: all users), and the ids
        of transactions that need a right that the caller has lost.
        """

        def decided(work: UnitOfWork) -> tuple[str | None, set[int]]:
            grants = self.current(work)
            holder = _holder(grants)
            if holder is None:
                return None, set()
            checks = HeldChecks(work, grants, partial(self.find, work, grants), self._renewable(work))
            return holder, checks.lost_transactions(work.held.open_transactions(first, last, holder))

        return self._read(decided)

    def _renewable(self, work: UnitOfWork) -> Renewable | None:
        cached = self._cache.cached(work)
        return None if cached.grants.by_policy else cached.renewable

    def caller_and_scope(self) -> tuple[str | None, bool, Scope]:
        """Returns the caller, whether the caller is an administrator, and the objects that queries over many tables may
        show."""
        with self._store.read() as work:
            grants = self.current(work)
            return grants.user, grants.is_admin, work.search.scope(grants)

    def check(self, requirements: Iterable[Requirement]) -> CallerGrants:
        """Returns the caller's grants if they meet the requirements.

        Raises PermissionDeniedError if they do not, NotFoundError for an object that does not exist or is hidden.
        """
        required = list(requirements)

        def checked(work: UnitOfWork) -> CallerGrants:
            grants = self.for_call(self.current(work), required)
            find = partial(self.find, work, grants)
            Permission(work, grants, find, self._roots, self._renewable(work)).check(required)
            return grants

        return self._read(checked)

    def _read(self, question: Callable[[UnitOfWork], Result]) -> Result:
        """Runs a query with its own connection."""
        with self._store.read() as work:
            return question(work)

    def read_table(self, name: TableName) -> EncodedStruct[Table]:
        """Reads a table in one statement, with the version of the grants. Raises NotFoundError if it does not exist or
        is hidden.
        """
        return self._read(lambda work: self._table(work, name))

    def _table(self, work: UnitOfWork, name: TableName) -> EncodedStruct[Table]:
        cached = self._cache.cached(work)
        for _ in range(_ATTEMPTS):
            read = work.access.read_table(name)
            if read is None:
                self._decide(work, cached, None)
                raise missing_table(name)
            if read.version == cached.grants.version or cached.grants.is_admin:
                decision = cached.known_decision(read.securable) or self._decide(work, cached, read)
                if not decision or not decision.is_visible:
                    raise HiddenError(str(missing_table(name)))
                encoded = work.access.encoded(read)
                return encoded if decision.is_owned else without_secrets(encoded)
            cached = self._cache.reloaded(work)
        raise unsettled()

    @staticmethod
    def _decide(work: UnitOfWork, cached: CachedGrants, read: ReadTable | None) -> Decision | None:
        """Decides about a table. For a missing one (None), decides about any other, which takes as long."""
        table, granted = work.access.granted(read, cached.grants)
        return cached.decide(table.securable, granted) if table else None

    def read_table_with_rights(self, name: TableName) -> ReadWithRights:
        """Reads a table, with the caller's grants and the caller's rights on the table, in one statement. Raises
        NotFoundError if it does not exist or is hidden.
        """
        return self._read(lambda work: self._table_with_rights(work, name))

    def _table_with_rights(self, work: UnitOfWork, name: TableName) -> ReadWithRights:
        cached = self._cache.cached(work)
        for _ in range(_ATTEMPTS):
            read = work.access.read_granted_table(name, cached.grants)
            if read is None:
                raise missing_table(name)
            if read.version == cached.grants.version or cached.grants.is_admin:
                if not sees(cached.grants, read.securable):
                    raise HiddenError(str(missing_table(name)))
                held = rights(cached.grants, read.securable)
                return ReadWithRights(read.securable.table_id or 0, work.access.encoded(read), cached.grants, held)
            cached = self._cache.reloaded(work)
        raise unsettled()

    def visible_tables(
        self, names: Iterable[TableName], asked: Iterable[TableName | DatabaseName] = ()
    ) -> set[TableName]:
        """Returns the tables that the caller may see. For callers who see everything, that is all of the names, whether
        or not the tables exist.

        `asked`: the objects that the call names. A policy engine is asked about them even if they do not exist, so that
        hidden ones cost the same.
        """
        unique = set(names)
        also = list(asked)

        def visible(work: UnitOfWork) -> set[TableName]:
            grants = self.current(work)
            if grants.sees_everything:
                return unique
            if not (grants.rules or grants.by_policy):
                return set(work.access.seen_tables(unique, grants))
            wanted: list[TableName | DatabaseName] = [*unique, *(also if grants.by_policy else ())]
            found = self._found(work, grants, wanted)
            tables = {name: table for name in unique if (table := found.get(name)) and table.table_id is not None}
            return {name for name, table in tables.items() if sees(grants, table)}

        return self._read(visible)

    def beginnings(self, names: Iterable[TableName | DatabaseName]) -> dict[TableName | DatabaseName, int]:
        """Returns the number of the event by which each object got its name; 0 if the log no longer has it."""
        with self._store.read() as work:
            return work.notifications.beginnings(names)

    def alterable_ids(self, name: TableName) -> list[int] | None:
        """Returns the id of a table, the ids of a database's tables that the caller may alter, or None for all tables.

        A rule may protect a table from the owner of its database. Raises NotFoundError.
        """

        def within(work: UnitOfWork) -> list[int] | None:
            grants = self.current(work)
            if name.name or grants.is_admin or not (name.database or grants.rules):
                return ids_within(work, name)
            if name.database:
                get_database(work, name.parent)
            homes = [name.parent] if name.database else database_names(work)
            ids = {home.table(text): number for home in homes for text, number in work.tables.ids_by_name(home).items()}
            found = self._found(work, grants, ids)
            return sorted(ids[table] for table, held in found.items() if Right.ALTER in rights(grants, held))

        return self._read(within)

    def alterable_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns the databases that the caller may alter."""
        grants, securables = self._looked_up(names)
        return {name for name, securable in securables.items() if Right.ALTER in rights(grants, securable)}

    def fully_visible_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns the databases in which the caller may see every table, dropped tables included."""
        grants, securables = self._looked_up(names)
        return {name for name, securable in securables.items() if sees_all_of(grants, securable)}

    def visible_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns the databases that the caller may see."""
        unique = set(names)

        def visible(work: UnitOfWork) -> set[DatabaseName]:
            grants = self.current(work)
            if grants.sees_everything:
                return unique
            if not (grants.rules or grants.by_policy):
                return work.access.seen_databases(unique, grants)
            return {name for name, database in self._found(work, grants, unique).items() if sees(grants, database)}

        return self._read(visible)

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

    def would_see(self, names: Iterable[TableName]) -> set[TableName]:
        """Returns the tables of existing databases that the caller sees, or would see if they existed."""
        grants, securables = self._looked_up(names)
        tables = {
            name: found if found.table_id is not None else found._replace(table_id=_NO_TABLE, name=name.name)
            for name, found in securables.items()
        }
        return {name for name, table in tables.items() if sees(grants, table)}

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
        unique = set(names)

        def look_up(work: UnitOfWork) -> tuple[CallerGrants, dict[Name, Securable]]:
            grants = self.current(work)
            return grants, self._found(work, grants, unique)

        return self._read(look_up)

    def _found(self, work: UnitOfWork, grants: CallerGrants, names: Iterable[Name]) -> dict[Name, Securable]:
        """Looks up objects. Leaves out objects whose database does not exist."""
        listed = list(names)
        securables = self.find(work, grants, listed)
        return {name: securable for name, securable in zip(listed, securables, strict=True) if securable}


def _holder(grants: CallerGrants) -> str | None:
    return None if grants.is_admin or Duty.DATA in grants.duties else grants.user or ""


def without_secrets(encoded: EncodedStruct[Table]) -> EncodedStruct[Table]:
    """Returns a table without the values of secrets, as users other than its owner see it."""
    if not may_hold_secrets(encoded.data):
        return encoded
    table = encoded.decode()
    return EncodedStruct(Table, encode_fields(table) + STOP) if redact(table) else encoded
