"""The check of one call's requirements against its caller's grants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from metastore.context import AuthorizationBasis, Claim, authorization_basis
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import (
    Administrator,
    DependentsPrivilege,
    DroppedIndexes,
    FunctionPrivilege,
    GrantOption,
    LocationPrivilege,
    OwnLocks,
    OwnTransactions,
    PrincipalAccess,
    Renaming,
    RequiredPrivilege,
    Requirement,
    RoleAdministration,
    WriteAccess,
)
from metastore.domain.privileges import (
    ADMIN,
    OWNER_RIGHTS,
    CallerGrants,
    CatalogName,
    Duty,
    PrincipalKind,
    Right,
    Securable,
    WholeMetastore,
    denied_rights,
    expanded,
    may_grant,
    owns,
    owns_database,
    rights,
    rights_on_catalog,
    rights_on_everything,
    sees,
    withheld_rights,
)
from metastore.errors import (
    HiddenError,
    NotFoundError,
)
from metastore.services.authorization.held import Find, HeldChecks, Name, Renewable
from metastore.services.authorization.locations import check_default_location, check_locations
from metastore.services.authorization.statistics import changes_only_statistics
from metastore.services.rules.denials import denial
from metastore.services.rules.lookup import missing_database, missing_table
from metastore.services.rules.tables import kept_kind
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Database, Table


class Permission(HeldChecks):
    """Checks the requirements of one call in order. One statement looks up all objects that they name."""

    def __init__(
        self, work: UnitOfWork, grants: CallerGrants, find: Find, roots: Roots, renewable: Renewable | None
    ) -> None:
        super().__init__(work, grants, find, renewable)
        self._roots = roots
        self._basis = AuthorizationBasis()

    def check(self, requirements: Sequence[Requirement]) -> None:
        """Sets the `authorization_basis` of the call.

        Raises PermissionDeniedError, HiddenError for a hidden object, NotFoundError for one that does not exist.
        """
        authorization_basis.set(None)
        if self._grants.is_admin:  # nothing else is asked of administrators, and nothing of most of their calls
            requirements = [one for one in requirements if isinstance(one, LocationPrivilege) and one.own != ""]
            if not requirements:
                return
        self._look_up(_names(requirements))
        for requirement in requirements:
            _CHECKS[type(requirement)](self, requirement)
        self._basis.ids = {name: _id(name, securable) for name, securable in self._securables.items()}
        authorization_basis.set(self._basis)

    def _is_visible(self, name: TableName) -> bool:
        table = self._securables[name]
        return table is not None and table.table_id is not None and sees(self._grants, table)

    def _visible(self, name: Name) -> Securable:
        """Returns a securable. Raises HiddenError if the caller may not see it, NotFoundError if it does not exist."""
        securable = self._securables[name]
        if securable is None or (isinstance(name, TableName) and securable.table_id is None):
            raise _missing(name)
        if not sees(self._grants, securable):
            raise HiddenError(str(_missing(name)))
        return securable

    def check_privilege(self, required: RequiredPrivilege) -> None:
        match required.securable:
            case CatalogName(name):
                self._require(rights_on_catalog(self._grants, name), required.any_of, name)
            case WholeMetastore():
                self._require(rights_on_everything(self._grants), required.any_of, required.securable)
            case name:
                self.check_object(name, required)

    def check_object(self, name: Name, required: RequiredPrivilege) -> None:
        if required.if_missing is not None and isinstance(name, TableName) and not self._is_visible(name):
            # A hidden table is treated as missing, except for callers who may create it: they learn that it exists.
            self._look_up([name.parent])
            self.check_object(name.parent, RequiredPrivilege(name.parent, required.if_missing, new_table=name.name))
            table = self._securables[name]
            if table is None or table.table_id is None:
                return
            self._require(rights(self._grants, table), required.any_of, name)
        securable = self._visible(name)
        held = rights(self._grants, securable)
        if required.with_contents:
            held -= withheld_rights(self._grants, securable, of_everybody=True)
            held &= self._held_inside(name.parent if isinstance(name, TableName) else name)
        if required.new_table and isinstance(name, DatabaseName):
            held -= self._denied_on(name.table(required.new_table))
        self._basis.held[name] = held
        new = required.replacement
        version = self._compared_version(name, new) if new is not None and Right.INSERT in held else None
        if version is None:
            self._require(held, required.any_of, name)
        elif held.isdisjoint(required.any_of):
            self._basis.version = version
        owner = securable.owner, securable.owner_kind
        if securable.table_id is None:
            owner = securable.database_owner, securable.database_owner_kind
        _keep_owner(new, *owner)
        if required.new_owner is not None:
            given = _given(new, required.new_owner, owner)
            if given != _principal(*owner):
                self._check_new_owner(name, securable, *given)

    def _check_new_owner(self, name: Name, securable: Securable, owner: str | None, kind: int | None) -> None:
        """Owners give their objects to their groups and roles, as in PostgreSQL: Trino runs a view as its owner."""
        if not owns(self._grants, securable) or withheld_rights(self._grants, securable):
            raise denial(Right.OWNERSHIP, name)
        self._check_may_own(owner, kind)

    def _check_may_own(self, owner: str | None, kind: int | None) -> None:
        if not self._grants.is_principal(kind, owner):
            raise denial(ADMIN.upper(), f"principal {owner}", "it is not a group or role of the caller")

    def _held_inside(self, database: DatabaseName) -> frozenset[str]:
        """Returns the rights on all tables of a database. A policy engine decides about each; others are inherited."""
        if not self._grants.by_policy:
            return OWNER_RIGHTS
        self._basis.whole.add(database)
        return self._held_on_all(list(map(database.table, self._work.tables.ids_by_name(database))))

    def _held_on_all(self, tables: Sequence[TableName]) -> frozenset[str]:
        self._look_up(tables)
        found = filter(None, map(self._securables.get, tables))
        return OWNER_RIGHTS.intersection(*(rights(self._grants, table) for table in found))

    def _denied_on(self, name: TableName) -> frozenset[str]:
        """Returns the rights that rules deny on tables of this name."""
        return expanded(denied_rights(self._grants, Securable(name.catalog, name.database, 0, name=name.name)))

    def _compared_version(self, name: Name, new: object) -> int | None:
        """Returns the version of the table if the new one differs only in statistics; None if it differs in more.

        INSERT is enough for such a change, but only of that version: the call must not undo changes by others.
        """
        stored = self._work.tables.find(name) if isinstance(name, TableName) else None
        if stored is None or not isinstance(new, Table) or not changes_only_statistics(stored.encoded.decode(), new):
            return None
        return stored.ref.version

    def check_administrator(self, required: Administrator) -> None:
        if required.duty not in self._grants.duties:
            raise denial(ADMIN.upper(), "the metastore")

    def check_locations(self, required: LocationPrivilege) -> None:
        if required.own != "":
            self._claim(check_default_location(self._work, self._roots, required))
        if required.locations and not self._grants.is_admin:
            self._look_up([required.database])
            database = self._securables[required.database]
            is_own = (
                database is not None
                and not self._grants.by_policy
                and owns_database(self._grants, database)
                and Right.SELECT not in withheld_rights(self._grants, database, of_everybody=True)
            )
            self._claim(check_locations(self._work, self._grants, self._roots, required, owns_database=is_own))

    def _claim(self, claim: Claim | None) -> None:
        self._basis.claims += [claim] if claim else []

    def check_role(self, required: RoleAdministration) -> None:
        if not self._may_administer(required.principal) and required.role not in self._grants.administered:
            raise denial("GRANT OPTION", f"role {required.role}")

    def check_dependents(self, required: DependentsPrivilege) -> None:
        table = self._securables.get(required.table)
        if table is None or table.table_id is None:
            return
        edges = self._work.dependencies.downwards([table.table_id], transitive=True)
        names = {TableName(required.table.catalog, edge.database, edge.table) for edge in edges}
        self._look_up(names)
        found = filter(None, map(self._securables.get, names))
        kept = [each for each in found if rights(self._grants, each).isdisjoint(required.any_of)]
        if kept:
            hidden = f"{sum(not sees(self._grants, each) for each in kept)} of {len(names)} tables are hidden"
            on = f"all that depends on {required.table.database}/{required.table.name}"
            raise denial(required.any_of[0], on, hidden)

    def check_dropped_indexes(self, required: DroppedIndexes) -> None:
        table = self._securables.get(required.table)
        if table is None or table.table_id is None or not (self._grants.rules or self._grants.by_policy):
            return
        indexes = self._work.indexes.about(table.table_id)
        holders = [index.held_in for index in indexes if required.index in (None, index.name)]
        held = self._held_on_all(holders) if self._grants.by_policy else OWNER_RIGHTS
        self._require(held.difference(*map(self._denied_on, holders)), (Right.DROP,), required.table)

    def check_function(self, required: FunctionPrivilege) -> None:
        database = self._visible(required.database)
        owner = self._work.access.owner_of_function(required.database, required.name)
        is_denied = not expanded(denied_rights(self._grants, database)).isdisjoint(required.any_of)
        is_owner = owner is not None and self._grants.is_principal(owner[1], owner[0]) and not is_denied
        if not is_owner:
            self._require(rights(self._grants, database), required.any_of, required.database)
        new = required.new_owner
        if owner is None or new is None or new[0] is None or _principal(*new) == _principal(*owner):
            return
        if not (is_owner or owns(self._grants, database)):
            raise denial(Right.OWNERSHIP, f"{required.database}/{required.name}")
        self._check_may_own(*new)

    def check_grant_option(self, required: GrantOption) -> None:
        name = required.securable
        securable = self._visible(name) if isinstance(name, TableName | DatabaseName) else None
        if self._may_administer(required.principal):
            return
        if not may_grant(self._grants, securable, required.privileges):
            missing = [text for text in required.privileges if not may_grant(self._grants, securable, [text])]
            raise denial(f"{', '.join(missing)} WITH GRANT OPTION", name)

    def check_principal(self, required: PrincipalAccess) -> None:
        is_own = required.name is None or self._grants.is_principal(required.kind, required.name)
        if Duty.SECURITY in self._grants.duties:
            return
        if is_own and self._grants.groups.issuperset(required.groups):
            return
        if isinstance(required.securable, TableName | DatabaseName):
            securable = self._securables[required.securable]
            if securable is not None and owns(self._grants, securable):
                return
        raise denial(ADMIN.upper(), f"principal {required.name or ', '.join(required.groups)}")

    def check_renaming(self, required: Renaming) -> None:
        name, new = required.table, required.new
        self._look_up([name])
        table = self._securables[name]
        if self._grants.by_policy:
            lost, gained = False, table is not None and self._gains_by_policy(table, new)
        else:
            lost, gained = self._work.access.rules_that_differ(name, new)
        if lost or (name.parent != new.parent and table is not None and withheld_rights(self._grants, table)):
            raise denial(ADMIN.upper(), name, "a rule denies a right on this name")
        if Right.CREATE in self._denied_on(new):
            raise denial(Right.CREATE, new)
        if gained and not owns(self._grants, self._visible(name)):
            raise denial(Right.OWNERSHIP, name, "a rule grants a right on the new name")

    def _gains_by_policy(self, table: Securable, new: TableName) -> bool:
        (renamed,) = self._find([new])  # not one of the objects that the transaction must find
        return renamed is not None and not rights(self._grants, renamed) <= rights(self._grants, table)

    def _may_administer(self, principal: tuple[int | None, str | None]) -> bool:
        """Returns whether the caller is an administrator of security, who may change all rights but their own."""
        return Duty.SECURITY in self._grants.duties and not self._grants.is_principal(*principal)

    def _require(self, held: frozenset[str], any_of: Sequence[Right], on: object) -> None:
        if any_of and held.isdisjoint(any_of):
            raise denial(any_of[0], on)


_CHECKS: dict[type[Requirement], Callable[[Permission, Any], None]] = {
    RequiredPrivilege: Permission.check_privilege,
    Administrator: Permission.check_administrator,
    LocationPrivilege: Permission.check_locations,
    OwnLocks: Permission.check_locks,
    OwnTransactions: Permission.check_transactions,
    WriteAccess: Permission.check_write,
    DependentsPrivilege: Permission.check_dependents,
    DroppedIndexes: Permission.check_dropped_indexes,
    FunctionPrivilege: Permission.check_function,
    GrantOption: Permission.check_grant_option,
    RoleAdministration: Permission.check_role,
    Renaming: Permission.check_renaming,
    PrincipalAccess: Permission.check_principal,
}


def _names(requirements: Iterable[Requirement]) -> list[Name]:
    """Lists the objects that are looked up together."""
    names: list[Name] = []
    for required in requirements:
        match required:
            case RequiredPrivilege() | GrantOption() | PrincipalAccess():
                if isinstance(required.securable, TableName | DatabaseName):
                    names.append(required.securable)
            case FunctionPrivilege():
                names.append(required.database)
            case DependentsPrivilege() | DroppedIndexes():
                names.append(required.table)
    return names


def _id(name: Name, securable: Securable | None) -> int | None:
    if securable is None:
        return None
    return securable.table_id if isinstance(name, TableName) else securable.database_id


def _missing(name: Name) -> NotFoundError:
    return missing_table(name) if isinstance(name, TableName) else missing_database(name)


def _principal(name: str | None, kind: int | None) -> tuple[str | None, int]:
    return name, kind or PrincipalKind.USER


def _given(
    new: object, owner: tuple[str | None, int | None], old: tuple[str | None, int | None]
) -> tuple[str | None, int]:
    """Returns the owner that a call sets. The kind stays with the name if the client does not know it."""
    name, kind = owner
    if name == old[0]:
        kind = kept_kind(kind, old[1]) if isinstance(new, Table) else kind or old[1]
    return _principal(name, kind)


def _keep_owner(new: object, owner: str | None, kind: int | None) -> None:
    if isinstance(new, Table) and not new.owner:
        new.owner, new.ownerType = owner, kind
    elif isinstance(new, Database) and not new.ownerName:
        new.ownerName, new.ownerType = owner, kind
