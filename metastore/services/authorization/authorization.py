"""Rights, as the method table and the services ask for them: one transaction-less look at the database a question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import Needs
from metastore.domain.privileges import Admins, CallerGrants, Securable, rights, sees, sees_all_of
from metastore.encoding.binary import STOP, EncodedStruct, encode_fields
from metastore.encoding.redaction import may_hold_secrets, redact
from metastore.errors import HiddenError
from metastore.services.authorization.permission import Permission
from metastore.services.authorization.standings import Standings, unsettled
from metastore.services.rules.lookup import missing_table
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table

_TRIES: Final = 10
Name = TypeVar("Name", bound=TableName | DatabaseName)


class Authorization:
    """Decides what the caller of this call may do and see."""

    def __init__(self, store: Store, admins: Admins, roots: Roots) -> None:
        self._store = store
        self._standings = Standings(admins)
        self._roots = roots

    def standing(self) -> CallerGrants:
        """Returns what the caller has."""
        with self._store.read() as work:
            return self._standings.current(work)

    def permit(self, needs: Needs) -> CallerGrants:
        """Returns what the caller has, if it is enough. Raises PermissionDeniedError, NotFoundError."""
        with self._store.read() as work:
            standing = self._standings.current(work)
            Permission(work, standing, self._roots).check(needs)
        return standing

    def read_table(self, work: UnitOfWork, name: TableName) -> EncodedStruct[Table]:
        """Reads a table that the caller may see, in one statement: nothing is asked as often. Raises NotFoundError."""
        kept = self._standings.known(work)
        for _ in range(_TRIES):
            read = work.access.read_table(name)
            if read is None:
                raise missing_table(name)
            if read.version == kept.standing.version or kept.standing.is_admin:
                decision = kept.decided(read.securable)
                if decision is None:
                    decision = kept.decide(read.securable, work.access.granted(read.securable, kept.standing))
                if not decision.is_seen:
                    raise HiddenError(str(missing_table(name)))
                return read.encoded if decision.is_owned else _without_secrets(read.encoded)
            kept = self._standings.renewed(work)
        raise unsettled()

    def seen_tables(self, names: Iterable[TableName]) -> set[TableName]:
        """Returns those that the caller may see; all of them, of whoever sees everything."""
        given = set(names)
        with self._store.read() as work:
            standing = self._standings.current(work)
            return given if standing.sees_everything else set(work.access.seen_tables(given, standing))

    def seen_tables_since(self, names: Iterable[TableName]) -> dict[TableName, int]:
        """Returns those that the caller may see, with the times they were made at, seconds since 1970."""
        given = set(names)
        with self._store.read() as work:
            standing = self._standings.current(work)
            return work.access.seen_tables(given, standing)

    def databases_seen_through(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns those in which the caller sees everything, and saw what has been dropped."""
        standing, found = self._found(names)
        return {name for name, access in found.items() if sees_all_of(standing, access)}

    def seen_databases(self, names: Iterable[DatabaseName]) -> set[DatabaseName]:
        """Returns those that the caller may see."""
        given = set(names)
        with self._store.read() as work:
            standing = self._standings.current(work)
            return given if standing.sees_everything else work.access.seen_databases(given, standing)

    def seen_catalogs(self, names: Iterable[str]) -> set[str]:
        """Returns those in which the caller may see something."""
        given = set(names)
        with self._store.read() as work:
            standing = self._standings.current(work)
            if standing.sees_everything:
                return given
            return given & (work.access.seen_catalogs(standing) | standing.catalogs.keys())

    def hidden_tables(self, names: Iterable[TableName]) -> set[TableName]:
        """Returns those that are there, and that the caller does not see."""
        standing, found = self._found(names)
        there = {name: access for name, access in found.items() if access.table_id is not None}
        return {name for name, access in there.items() if not sees(standing, access)}

    def owned(self, names: Iterable[TableName | DatabaseName]) -> set[TableName | DatabaseName]:
        """Returns those that the caller owns, or whose database is the caller's."""
        standing, found = self._found(names)
        return {
            name
            for name, access in found.items()
            if (access.table_id is not None or isinstance(name, DatabaseName))
            and "OWNERSHIP" in rights(standing, access)
        }

    def _found(self, names: Iterable[Name]) -> tuple[CallerGrants, dict[Name, Securable]]:
        """Returns the caller's standing, and what rights on those of the objects are decided by that are there."""
        given = list(dict.fromkeys(names))
        with self._store.read() as work:
            standing = self._standings.current(work)
            found = work.access.find(given, standing)
        return standing, {name: access for name, access in zip(given, found, strict=True) if access}


def _without_secrets(encoded: EncodedStruct[Table]) -> EncodedStruct[Table]:
    """Returns a table as others than its owner read it."""
    if not may_hold_secrets(encoded.data):
        return encoded
    table = encoded.decode()
    return EncodedStruct(Table, encode_fields(table) + STOP) if redact(table) else encoded
