"""Requirements for privileges and roles."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.names import DatabaseName, TableName, database_name, fold
from metastore.domain.permissions import (
    Administrator,
    GrantOption,
    PrincipalAccess,
    RequiredPrivilege,
    RoleAdministration,
)
from metastore.domain.privileges import WHOLE_METASTORE, Duty, PrincipalKind, Right, WholeMetastore
from metastore.operations.requirements import Requirements
from thrift_idl.gen.hive_metastore.ttypes import (
    HiveObjectRef,
    HiveObjectType,
    PrivilegeBag,
)


def securable(ref: HiveObjectRef) -> TableName | DatabaseName | WholeMetastore:
    """Returns the object of a privilege; the table of a privilege on a column or partition."""
    database = database_name(ref.dbName, ref.catName)
    if ref.objectType in (HiveObjectType.TABLE, HiveObjectType.PARTITION, HiveObjectType.COLUMN):
        return database.table(fold(ref.objectName))
    return database if ref.objectType == HiveObjectType.DATABASE else WHOLE_METASTORE


def visible_object(ref: HiveObjectRef | None) -> Requirements:
    """Visibility of the object, if the reference names one."""
    if ref is not None and ref.dbName and ref.objectType is not None:
        on = securable(ref)
        if isinstance(on, TableName | DatabaseName):
            yield RequiredPrivilege(on)


def ownership_of(ref: HiveObjectRef) -> Requirements:
    """Ownership of the object."""
    yield RequiredPrivilege(securable(ref), (Right.OWNERSHIP,))


def grantable(bag: PrivilegeBag | None) -> Requirements:
    """The right to grant each privilege of the bag."""
    for privilege in (bag.privileges if bag else None) or ():
        if privilege is not None and privilege.hiveObject is not None:
            texts = (privilege.grantInfo.privilege or "").split(",") if privilege.grantInfo else ()
            names = tuple(text.strip() for text in texts if text.strip())
            yield GrantOption(
                securable(privilege.hiveObject), names, (privilege.principalType, privilege.principalName)
            )


def role_administration(role: str | None, kind: int | None, name: str | None) -> Requirements:
    """The right to grant the role to a principal."""
    yield RoleAdministration(role or "", (kind, name))


def dropped_role(role: str | None) -> Requirements:
    """An administrator of security who does not have the role: its denies would end."""
    yield Administrator(Duty.SECURITY)
    yield RoleAdministration(role or "", (PrincipalKind.ROLE, role))


def role_members(role: str | None) -> Requirements:
    """The right to grant the role, which includes the right to list its members."""
    yield RoleAdministration(role or "")


def principal(name: str | None, kind: int | None) -> Requirements:
    """The caller is the principal, or one of its members."""
    yield PrincipalAccess(name, kind)


def principals_on(ref: HiveObjectRef | None, user: str | None, groups: Iterable[str] | None) -> Requirements:
    """The object is visible, and the caller is the user and a member of the groups, or owns the object."""
    on = securable(ref) if ref is not None else None
    if isinstance(on, TableName | DatabaseName):
        yield RequiredPrivilege(on)
    yield PrincipalAccess(user, None, tuple(groups or ()), on)
