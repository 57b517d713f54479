"""Fields of a call that its caller may not choose: the owner of a new object, the grantor, the holder of a lock.

Administrators may set them to other names: HiveServer2 acts for its users.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from metastore.domain.names import database_name, fold
from metastore.domain.privileges import CallerGrants, PrincipalKind, Securable, denied, may_grant
from metastore.errors import PermissionDeniedError
from thrift_idl.gen.hive_metastore.ttypes import (
    CompactionRequest,
    CreateDatabaseRequest,
    Database,
    Function,
    GetPartitionsPsWithAuthRequest,
    GetProjectionsSpec,
    LockRequest,
    OpenTxnRequest,
    PrivilegeBag,
    PrivilegeGrantInfo,
    Table,
)
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest, TableCommit

_TABLE_NAME: Final = ("catName", "dbName", "tableName")


def set_database_owner(grants: CallerGrants, database: Database | CreateDatabaseRequest | None) -> None:
    """Makes the caller the owner, unless the call names one of the caller's groups or roles."""
    if database is not None and not _may_own(grants, database.ownerName, database.ownerType):
        database.ownerName, database.ownerType = grants.user, int(PrincipalKind.USER)


def set_function_owner(grants: CallerGrants, function: Function | None) -> None:
    """Makes the caller the owner, unless the call names one of the caller's groups or roles."""
    if function is not None and not _may_own(grants, function.ownerName, function.ownerType):
        function.ownerName, function.ownerType = grants.user, int(PrincipalKind.USER)


def set_table_owner(grants: CallerGrants, table: Table | None) -> None:
    """Makes the caller the owner, unless the call names one of the caller's groups or roles; makes the caller the
    grantor of the privileges in the table.

    Raises PermissionDeniedError if the caller may not grant one of them to others. Trino always sends the owner's.
    """
    if table is None:
        return
    if not _may_own(grants, table.owner, table.ownerType):
        table.owner, table.ownerType = grants.user, int(PrincipalKind.USER)
    if grants.by_policy:
        table.privileges = None  # they would have no effect
    if (privileges := table.privileges) is not None:
        for by_principal in (privileges.userPrivileges, privileges.groupPrivileges, privileges.rolePrivileges):
            for principal, infos in (by_principal or {}).items():
                _set_grantors(grants, infos or ())
                if by_principal is not privileges.userPrivileges or principal != grants.user:
                    _check_granted(grants, table, infos or ())


def set_committed_owners(grants: CallerGrants, commits: Iterable[TableCommit] | None) -> None:
    """Does the same as `set_table_owner` for the new tables of a commit."""
    for commit in commits or ():
        if commit.expected is None:
            set_table_owner(grants, commit.table)


def _check_granted(grants: CallerGrants, table: Table, infos: Iterable[PrivilegeGrantInfo | None]) -> None:
    name = database_name(table.dbName, table.catName).table(fold(table.tableName))
    own = Securable(
        name.catalog, name.database, 0, table_id=0, name=name.name, owner=table.owner, owner_kind=table.ownerType
    )
    for info in infos:
        privileges = [text.strip() for text in ((info and info.privilege) or "").split(",")]
        if not may_grant(grants, own, privileges):
            raise PermissionDeniedError(denied(grants.user, f"{', '.join(privileges)} WITH GRANT OPTION", name))


def set_dependent_owner(grants: CallerGrants, request: CreateDependentTableRequest | None) -> None:
    """Makes the caller the owner of a dependent table."""
    if request is not None and not _may_own(grants, request.owner, None):
        request.owner = grants.user


def set_user(grants: CallerGrants, request: LockRequest | OpenTxnRequest | None) -> None:
    """Makes the caller the holder of a lock or transaction, unless an administrator names another user."""
    if request is not None and not (grants.is_admin and request.user):
        request.user = grants.user or ""


def set_runner(grants: CallerGrants, request: CompactionRequest | None) -> None:
    """Removes the user of a compaction, unless an administrator sends it. Hive then takes the directory's owner."""
    if request is not None and not grants.is_admin:
        request.runas = None


def set_viewer(grants: CallerGrants, request: GetPartitionsPsWithAuthRequest | None) -> None:
    """Requests the caller's own privileges, regardless of the user and groups in the request."""
    if request is None or grants.is_admin:
        return
    if request.userName is not None:
        request.userName = grants.user
    request.groupNames = _own_groups(grants, request.groupNames)


def set_viewer_arguments(grants: CallerGrants, arguments: Any) -> None:
    """Does the same as `set_viewer` for the arguments of get_*_with_auth, whose classes have no common base."""
    if grants.is_admin:
        return
    if arguments.user_name is not None:
        arguments.user_name = grants.user
    arguments.group_names = _own_groups(grants, arguments.group_names)


def set_grantor(grants: CallerGrants, bag: PrivilegeBag | None) -> None:
    """Makes the caller the grantor of the privileges."""
    privileges = (bag.privileges if bag else None) or ()
    _set_grantors(grants, (privilege.grantInfo for privilege in privileges if privilege is not None))


def add_table_names(_: CallerGrants, projection: GetProjectionsSpec | None) -> None:
    """Adds the names of tables to a projection, because the filter of the reply needs them."""
    if projection is not None and projection.fieldList:
        projection.fieldList = [*projection.fieldList, *_TABLE_NAME]


def _may_own(grants: CallerGrants, owner: str | None, kind: int | None) -> bool:
    return bool(owner) and (grants.is_admin or grants.is_principal(kind, owner))


def _own_groups(grants: CallerGrants, groups: Iterable[str] | None) -> list[str] | None:
    return [group for group in groups or () if grants.is_principal(int(PrincipalKind.GROUP), group)] or None


def _set_grantors(grants: CallerGrants, infos: Iterable[PrivilegeGrantInfo | None]) -> None:
    for info in infos:
        if info is not None and not (grants.is_admin and info.grantor):
            info.grantor, info.grantorType = grants.user, int(PrincipalKind.USER)
