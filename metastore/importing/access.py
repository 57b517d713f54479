"""Roles, members of roles and privileges on everything: the source removes what it has added here, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from metastore.importing.sources.objects import Stage
from metastore.importing.target import Target
from metastore.storage.importing.import_access import MEMBERS, ON_EVERYTHING, ROLES, Row
from metastore.storage.importing.imports import SWITCHED
from metastore.storage.mapping.privileges import role_grant_row
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectPrivilege, Role

KINDS: Final = {Stage.ROLES: ROLES, Stage.ROLE_GRANTS: MEMBERS, Stage.PRIVILEGES: ON_EVERYTHING}
_ROLE: Final = ROLES.columns.index(ROLES.table.c.name)
_ROLE_OF_MEMBER: Final = MEMBERS.columns.index(MEMBERS.table.c.role)


def is_on_everything(privilege: HiveObjectPrivilege) -> bool:
    """Returns whether a privilege is on no single object."""
    return not (privilege.hiveObject.dbName or privilege.hiveObject.objectName)


def privilege_row(privilege: HiveObjectPrivilege) -> dict[str, Any]:
    """Returns the columns of `privileges`, without the object."""
    grant = privilege.grantInfo
    return {
        "object_type": privilege.hiveObject.objectType,
        "column_name": privilege.hiveObject.columnName,
        "principal_type": privilege.principalType,
        "principal": privilege.principalName,
        "privilege": grant.privilege,
        "grantor": grant.grantor,
        "grantor_type": grant.grantorType,
        "grant_option": bool(grant.grantOption),
        "authorizer": privilege.authorizer,
        "create_time": grant.createTime or 0,
    }


def remember(work: UnitOfWork, target: Target, stage: Stage, batch: Sequence[Any]) -> None:
    """Remembers the objects of a batch that are stored here exactly as the source has them.

    An administrator of this server may have added the same object with another grantor or time: it stays.
    """
    kind = KINDS[stage]
    if rows := _rows(stage, batch):
        known = work.import_access.remembered(target.import_id, kind)
        present = rows & work.import_access.stored(kind).keys()
        if present - known:
            work.import_access.remember(target.import_id, kind, known | present)


def withdraw(work: UnitOfWork, target: Target, stage: Stage, batch: Sequence[Any]) -> None:
    """Deletes the members and the privileges on everything that the import has added and the source no longer has.

    `batch`: all of the source. What concerns a switched database stays: it belongs to this server.
    """
    kind = KINDS[stage]
    theirs = _rows(stage, batch)
    known = work.import_access.remembered(target.import_id, kind)
    if not (gone := known - theirs):
        return
    is_kept = _kept(work, target, stage)
    stored = work.import_access.stored(kind)
    work.import_access.delete(kind, {stored[row] for row in gone if row in stored and not is_kept(row)})
    work.import_access.remember(target.import_id, kind, known & theirs)


def settle_roles(work: UnitOfWork, target: Target, roles: Sequence[Role]) -> None:
    """Makes the roles that the import has added equal to the source's. One that the source has dropped stays as long as
    this server uses it. Needs the members and privileges that are to stay.

    A role without owner and time is not changed: Thrift does not return them for a role without members.
    """
    known = work.import_access.remembered(target.import_id, ROLES)
    theirs = {row[_ROLE]: row for row in _rows(Stage.ROLES, roles)}
    stored = work.import_access.stored(ROLES).keys()
    left = set()
    for row in known:
        new = theirs.get(row[_ROLE])
        if new is not None and new != row and row in stored and any(new[1:]):
            work.import_access.update_role(*new)
            left.add(new)
        elif new is not None:
            left.add(row)
    gone = {row[_ROLE] for row in known & stored if row[_ROLE] not in theirs}
    if gone:
        unused = gone - work.import_access.used_roles(gone)
        work.import_access.delete(ROLES, {(name,) for name in unused})
    if left != known:
        work.import_access.remember(target.import_id, ROLES, left)


def _kept(work: UnitOfWork, target: Target, stage: Stage) -> Callable[[Row], bool]:
    """Returns whether a row stays although the source does not have it."""
    if SWITCHED not in work.imports.databases(target.import_id).values():
        return lambda _: False
    if stage is Stage.PRIVILEGES:
        return lambda _: True
    reaching: Collection[str] = work.import_rights.reaching_roles(target.import_id)
    return lambda row: row[_ROLE_OF_MEMBER] in reaching


def _rows(stage: Stage, batch: Sequence[Any]) -> set[Row]:
    if stage is Stage.ROLES:
        values = [{"name": one.roleName, "owner": one.ownerName, "create_time": one.createTime or 0} for one in batch]
    elif stage is Stage.ROLE_GRANTS:
        values = list(map(role_grant_row, batch))
    else:
        values = [privilege_row(one) for one in batch if is_on_everything(one)]
    return {KINDS[stage].row(one) for one in values}
