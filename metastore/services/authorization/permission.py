"""Whether a call may happen: what it needs against what its caller has, in few statements for all needs together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import (
    AdminNeed,
    AnyNeed,
    DependentsNeed,
    FunctionNeed,
    GrantNeed,
    Held,
    Need,
    Needs,
    OwnNeed,
    PlaceNeed,
    PrincipalNeed,
    RoleNeed,
    WriteNeed,
)
from metastore.domain.privileges import (
    ADMIN,
    CallerGrants,
    CatalogName,
    Everything,
    PrincipalKind,
    Right,
    Securable,
    denied,
    may_grant,
    owns,
    owns_database,
    rights,
    rights_on_catalog,
    rights_on_everything,
    sees,
)
from metastore.domain.query_ids import token_of
from metastore.errors import (
    HiddenError,
    LockNotFoundError,
    MetastoreError,
    NotFoundError,
    PermissionDeniedError,
    TransactionNotFoundError,
)
from metastore.services.authorization.places import check_places
from metastore.services.authorization.statistics import changes_only_statistics
from metastore.services.files.open_writes import ended
from metastore.services.rules.lookup import missing_database, missing_table
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Database, Table

Named = TableName | DatabaseName


class Permission:
    """The needs of one call, decided one after the other."""

    def __init__(self, work: UnitOfWork, standing: CallerGrants, roots: Roots) -> None:
        self._work = work
        self._standing = standing
        self._roots = roots
        self._found: dict[Named, Securable | None] = {}

    def check(self, needs: Needs) -> None:
        """Raises PermissionDeniedError, HiddenError, or NotFoundError for what is not there."""
        if self._standing.is_admin:
            return
        self._look_up(_names(needs))
        for need in needs:
            _CHECKS[type(need)](self, need)

    def _look_up(self, names: Iterable[Named]) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self._found]
        self._found |= zip(new, self._work.access.find(new, self._standing), strict=True)

    def _is_seen(self, name: TableName) -> bool:
        found = self._found[name]
        return found is not None and found.table_id is not None and sees(self._standing, found)

    def _seen(self, name: Named) -> Securable:
        """Returns what was found. Raises HiddenError where it may not be seen, NotFoundError where nothing is."""
        found = self._found[name]
        if found is None or (isinstance(name, TableName) and found.table_id is None):
            raise _missing(name)
        if not sees(self._standing, found):
            raise HiddenError(str(_missing(name)))
        return found

    def check_need(self, need: Need) -> None:
        match need.what:
            case CatalogName(name):
                self._require(rights_on_catalog(self._standing, name), need.any_of, name)
            case Everything():
                self._require(rights_on_everything(self._standing), need.any_of, need.what)
            case name:
                self.check_object(name, need)

    def check_object(self, name: Named, need: Need) -> None:
        if need.if_missing is not None and isinstance(name, TableName) and not self._is_seen(name):
            # As if it were missing, for all but those who may make it: to them, its name is taken.
            self._look_up([name.parent])
            self.check_object(name.parent, Need(name.parent, need.if_missing))
            found = self._found[name]
            if found is None or found.table_id is None:
                return
        found = self._seen(name)
        held = rights(self._standing, found)
        if not (need.new is not None and Right.INSERT in held and self._changes_only_statistics(name, need.new)):
            self._require(held, need.any_of, name)
        if owns(self._standing, found):
            return
        is_table = found.table_id is not None
        before = (found.owner, found.owner_kind) if is_table else (found.database_owner, found.database_owner_kind)
        if need.owner is not None and _principal(*need.owner) != _principal(*before):
            raise self._denied(Right.OWNERSHIP, name)
        _keep_owner(need.new, *before)

    def _changes_only_statistics(self, name: Named, new: object) -> bool:
        stored = self._work.tables.find(name) if isinstance(name, TableName) else None
        return stored is not None and isinstance(new, Table) and changes_only_statistics(stored.encoded.decode(), new)

    def check_admin(self, need: AdminNeed) -> None:
        raise self._denied(ADMIN.upper(), need.what)

    def check_places(self, need: PlaceNeed) -> None:
        if need.locations:
            self._look_up([need.database])
            database = self._found[need.database]
            is_home = database is not None and owns_database(self._standing, database)
            check_places(self._work, self._standing, self._roots, need, is_home=is_home)

    def check_role(self, need: RoleNeed) -> None:
        if need.role not in self._standing.administered:
            raise self._denied("GRANT OPTION", f"role {need.role}")

    def check_own(self, need: OwnNeed) -> None:
        access, me = self._work.access, self._standing.user or ""
        if need.kind is Held.LOCK:
            others = [number for number, user in access.owners_of_locks(need.ids).items() if user != me]
            if others:
                raise _hidden(LockNotFoundError(f"No such lock lockid:{min(others)}"))
            return
        others = [number for number, user in access.owners_of_transactions(need.ids).items() if user != me]
        if others:
            raise _hidden(TransactionNotFoundError(f"No such transaction txnid:{min(others)}"))

    def check_write(self, need: WriteNeed) -> None:
        token = token_of(need.query_id)
        table = self._work.access.table_of_token(token) if token else None
        if table is None:
            return  # there is no such write
        self._look_up([table])
        found = self._found[table]
        if found is None or not rights(self._standing, found) & frozenset(need.any_of):
            raise HiddenError(str(ended(need.query_id)))

    def check_dependents(self, need: DependentsNeed) -> None:
        found = self._found.get(need.table)
        if found is None or found.table_id is None:
            return
        edges = self._work.dependencies.downwards([found.table_id], transitive=True)
        dependents = {TableName(need.table.catalog, edge.database, edge.table) for edge in edges}
        self._look_up(dependents)
        for name in dependents:
            dependent = self._found[name]
            if dependent is not None and not rights(self._standing, dependent) & frozenset(need.any_of):
                raise self._denied(need.any_of[0], f"all that depends on {need.table.database}/{need.table.name}")

    def check_function(self, need: FunctionNeed) -> None:
        found = self._seen(need.database)
        owner = self._work.access.owner_of_function(need.database, need.name)
        if owner is not None and self._standing.is_principal(owner[1], owner[0]):
            return
        self._require(rights(self._standing, found), need.any_of, need.database)
        if owner is None or need.owner is None or need.owner[0] is None or owns(self._standing, found):
            return
        if _principal(*need.owner) != _principal(*owner):
            raise self._denied(Right.OWNERSHIP, f"{need.database}/{need.name}")

    def check_grant(self, need: GrantNeed) -> None:
        found = self._seen(need.what) if isinstance(need.what, TableName | DatabaseName) else None
        if not may_grant(self._standing, found, need.privileges):
            held = [privilege for privilege in need.privileges if not may_grant(self._standing, found, [privilege])]
            raise self._denied(f"{', '.join(held)} WITH GRANT OPTION", need.what)

    def check_principal(self, need: PrincipalNeed) -> None:
        mine = need.name is None or self._standing.is_principal(need.kind, need.name)
        if mine and self._standing.groups.issuperset(need.groups):
            return
        if isinstance(need.what, TableName | DatabaseName):
            found = self._found[need.what]
            if found is not None and owns(self._standing, found):
                return
        raise self._denied(ADMIN.upper(), f"principal {need.name or ', '.join(need.groups)}")

    def _require(self, held: frozenset[str], any_of: Sequence[Right], what: object) -> None:
        if any_of and held.isdisjoint(any_of):
            raise self._denied(any_of[0], what)

    def _denied(self, right: str, what: object) -> PermissionDeniedError:
        return PermissionDeniedError(denied(self._standing.user, right, what))


_CHECKS: dict[type[AnyNeed], Callable[[Permission, Any], None]] = {
    Need: Permission.check_need,
    AdminNeed: Permission.check_admin,
    PlaceNeed: Permission.check_places,
    OwnNeed: Permission.check_own,
    WriteNeed: Permission.check_write,
    DependentsNeed: Permission.check_dependents,
    FunctionNeed: Permission.check_function,
    GrantNeed: Permission.check_grant,
    RoleNeed: Permission.check_role,
    PrincipalNeed: Permission.check_principal,
}


def _names(needs: Needs) -> list[Named]:
    """Lists what is looked up at once."""
    found: list[Named] = []
    for need in needs:
        match need:
            case Need(TableName() | DatabaseName() as what) | GrantNeed(TableName() | DatabaseName() as what):
                found.append(what)
            case PrincipalNeed(what=TableName() | DatabaseName() as what):
                found.append(what)
            case FunctionNeed():
                found.append(need.database)
            case DependentsNeed():
                found.append(need.table)
    return found


def _missing(name: Named) -> NotFoundError:
    return missing_table(name) if isinstance(name, TableName) else missing_database(name)


def _principal(name: str | None, kind: int | None) -> tuple[str | None, int]:
    return name, kind or PrincipalKind.USER


def _keep_owner(new: object, owner: str | None, kind: int | None) -> None:
    if isinstance(new, Table) and not new.owner:
        new.owner, new.ownerType = owner, kind
    elif isinstance(new, Database) and not new.ownerName:
        new.ownerName, new.ownerType = owner, kind


def _hidden(error: MetastoreError) -> MetastoreError:
    error.is_denial = True
    return error
