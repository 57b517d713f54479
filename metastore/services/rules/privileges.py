"""Privileges: resolves their objects and converts them to grants (Hive's ObjectStore)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from metastore.domain.name_rules import DENY, is_pattern, parse_stored, stored_scope
from metastore.domain.names import fold
from metastore.domain.partition_names import checked_name
from metastore.domain.privileges import DENIABLE, Right
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidObjectError, NotFoundError
from metastore.services.rules.lookup import required
from metastore.storage.mapping.layout import all_fields
from metastore.storage.repositories.privileges import Grant, TableIds, Target
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import (
    HiveObjectPrivilege,
    HiveObjectType,
    Partition,
    PrincipalPrivilegeSet,
    PrincipalType,
    PrivilegeGrantInfo,
)

DATABASE, TABLE = HiveObjectType.DATABASE, HiveObjectType.TABLE
PARTITION, COLUMN = HiveObjectType.PARTITION, HiveObjectType.COLUMN


_PRIVILEGE = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")  # "+", "@" and "." have a meaning in the grants of a caller
_KINDS = (PrincipalType.USER, PrincipalType.GROUP, PrincipalType.ROLE)  # in the order of PrincipalPrivilegeSet


class ObjectName(NamedTuple):
    """The object of a privilege, in lower case. `kind`: a HiveObjectType."""

    kind: int | None
    catalog: str
    database: str | None = None
    table: str | None = None
    values: tuple[str, ...] = ()
    column: str | None = None

    def __str__(self) -> str:
        names = ".".join(text for text in (self.database, self.table, self.column) if text)
        return names + (f" partition {list(self.values)}" if self.values else "")


class Viewer(NamedTuple):
    """The user whose privileges are returned with partitions."""

    user: str | None
    groups: tuple[str, ...]


class RequestedPrivilege(NamedTuple):
    """A privilege to grant or revoke."""

    object: ObjectName
    privilege: HiveObjectPrivilege


def grants_of(work: UnitOfWork, requests: Sequence[RequestedPrivilege], now: int) -> list[Grant]:
    """Returns a grant for each of the comma-separated privileges of each request. `now`: seconds since 1970.

    Raises NotFoundError for a missing object or role, InvalidObjectError for a malformed privilege.
    """
    _check_roles(work, requests)
    names = [request.object for request in requests]
    targets = found_targets(work, names)
    grants: list[Grant] = []
    for request, name, target in zip(requests, names, targets, strict=True):
        grants += _grants(request.privilege, required(target, NotFoundError(f"{name} not found")), now)
    work.change_privileges()
    return grants


def check_new_rules(grants: Sequence[Grant]) -> None:
    """Raises InvalidObjectError for a rule on a column. Engines, or a policy engine, decide about columns."""
    for scope in (grant.target.scope for grant in grants):
        if scope and is_pattern(scope) and parse_stored(scope)[1]:
            raise InvalidObjectError(
                f"A rule cannot name a column ({scope}): write the rule for the table, and mask columns in the engine"
            )


def privilege_set(
    privileges: Iterable[HiveObjectPrivilege], user: str | None, groups: Sequence[str], roles: Sequence[str]
) -> PrincipalPrivilegeSet:
    """Groups privileges by principal. Each of these principals has an entry, even without privileges."""
    by_kind: dict[int, dict[str, list[PrivilegeGrantInfo]]] = {
        PrincipalType.USER: {} if user is None else {user: []},
        PrincipalType.GROUP: {group: [] for group in groups},
        PrincipalType.ROLE: {role: [] for role in roles},
    }
    for privilege in privileges:
        by_kind[privilege.principalType][privilege.principalName].append(privilege.grantInfo)
    return PrincipalPrivilegeSet(*(by_kind[kind] or None for kind in _KINDS))


def with_privileges(
    work: UnitOfWork, table_id: int, partitions: EncodedList[Partition], viewer: Viewer
) -> EncodedList[Partition]:
    """Adds a viewer's privileges to each partition (Hive's PARTITION_LEVEL_PRIVILEGE)."""
    roles = work.roles.all_of(viewer.user, viewer.groups)
    granted: dict[tuple[str, ...], list[HiveObjectPrivilege]] = defaultdict(list)
    for partition in work.privileges.of_partitions(table_id, viewer.user, viewer.groups, roles):
        granted[tuple(partition.hiveObject.partValues)].append(partition)
    sets = (privilege_set(granted[tuple(one.values)], *viewer, roles) for one in partitions.decode())
    own = [all_fields(Partition(privileges=privileges)) for privileges in sets]
    heads = [fields + head for fields, head in zip(own, partitions.heads, strict=True)]
    return EncodedList(Partition, heads, partitions.tails)


def found_targets(work: UnitOfWork, names: Sequence[ObjectName]) -> list[Target | None]:
    """Resolves object names, in order; None for an object that does not exist.

    Raises InvalidObjectError for a malformed name, InvalidInputError for wrong partition values.
    """
    if not names:
        return []
    tables = work.privileges.tables([(name.catalog, name.database, name.table) for name in names])
    keys = [_partition_key(name, ids) for name, ids in zip(names, tables, strict=True)]
    partitions = work.partitions.ids_by_name([key for key in keys if key], lock=True)
    return [
        _target(name, ids, key and partitions.get(key), key is not None)
        for name, ids, key in zip(names, tables, keys, strict=True)
    ]


def _partition_key(name: ObjectName, ids: TableIds | None) -> tuple[int, str] | None:
    """Returns (table id, partition name) if the object is a partition or a column of one."""
    if name.kind not in (PARTITION, COLUMN) or not name.values or ids is None or ids.table_id is None:
        return None
    return ids.table_id, checked_name(ids.keys, name.values)


def _target(name: ObjectName, ids: TableIds | None, partition: int | None, of_partition: bool) -> Target | None:
    if name.kind == HiveObjectType.GLOBAL:
        return Target(HiveObjectType.GLOBAL, scope=_scope(name.table))
    if name.kind is None or name.kind not in (DATABASE, TABLE, PARTITION, COLUMN):
        raise InvalidObjectError(f"Privileges cannot be stored for objects of type {name.kind}")
    if ids is None or (name.kind != DATABASE and ids.table_id is None) or (of_partition and partition is None):
        return None
    if name.kind == DATABASE:
        return Target(DATABASE, database_id=ids.database_id)
    if name.kind == PARTITION and not of_partition:
        raise InvalidObjectError(f"A privilege on a partition of {name} needs the partition's values")
    return Target(name.kind, None, ids.table_id, partition, name.column if name.kind == COLUMN else None)


def _scope(name: str | None) -> str | None:
    """Returns the scope of a global privilege: a normalised location, a catalog's name, or None for everything."""
    if not name or not name.strip():
        return None
    if ":" in name or "/" in name:
        return paths.normalise(name.strip())
    return stored_scope(*parse_stored(name)) if is_pattern(name) else fold(name)


def _check_rule(target: Target, privilege: str, *, option: bool) -> None:
    """Raises InvalidObjectError unless a deny is a rule about names, and a rule a privilege on databases and tables."""
    is_deny = privilege.startswith(DENY)
    if not (target.scope and is_pattern(target.scope)):
        if is_deny:
            raise InvalidObjectError(f"{privilege} needs an object of type GLOBAL whose name is a pattern of names")
        return
    if privilege.removeprefix(DENY) not in DENIABLE:
        raise InvalidObjectError(f"{privilege} cannot be the privilege of a rule: use {', '.join(sorted(DENIABLE))}")
    if option:
        raise InvalidObjectError(f"A rule on {target.scope} cannot have the grant option")


def _check_location(target: Target, privilege: str) -> None:
    """Raises InvalidObjectError unless LOCATION, and nothing else, is granted on a location."""
    is_location = target.scope is not None and ":" in target.scope
    if is_location and privilege.upper() != Right.LOCATION:
        raise InvalidObjectError(f"{privilege} cannot be granted on a location ({target.scope}): grant LOCATION")
    if privilege.upper() == Right.LOCATION and (
        target.kind != HiveObjectType.GLOBAL or (target.scope and not is_location)
    ):
        raise InvalidObjectError("LOCATION can be granted only on GLOBAL with the beginning of a URI as its name")


def _grants(requested: HiveObjectPrivilege, target: Target, now: int) -> Iterator[Grant]:
    info = requested.grantInfo
    if not requested.principalName or requested.principalType is None:
        raise InvalidObjectError("A privilege needs the name and the type of a principal")
    if target.kind == COLUMN and not target.column:
        raise InvalidObjectError("A privilege on a column needs the column's name")
    privileges = [part.strip() for part in (info.privilege or "").split(",") if part.strip()] if info else []
    if not privileges:
        raise InvalidObjectError(f"No privilege is named for {requested.principalName}")
    if malformed := next((text for text in privileges if not _PRIVILEGE.fullmatch(text)), None):
        raise InvalidObjectError(f"{malformed!r} is not the name of a privilege")
    for privilege in privileges:
        is_rule = privilege.upper().startswith(DENY) or (target.scope is not None and is_pattern(target.scope))
        privilege = privilege.upper() if is_rule else privilege
        _check_location(target, privilege)
        _check_rule(target, privilege, option=bool(info.grantOption))
        yield Grant(
            target=target,
            principal_type=requested.principalType,
            principal=requested.principalName,
            privilege=privilege,
            grantor=info.grantor,
            grantor_type=info.grantorType,
            grant_option=bool(info.grantOption),
            authorizer=requested.authorizer,
            create_time=now,
        )


def _check_roles(work: UnitOfWork, requests: Sequence[RequestedPrivilege]) -> None:
    named = [request.privilege for request in requests if request.privilege.principalType == PrincipalType.ROLE]
    roles = {privilege.principalName for privilege in named} - {None}
    if missing := sorted(roles - work.roles.exist(sorted(roles))) if roles else []:
        raise NotFoundError(f"Role {missing[0]} does not exist")


def add_privileges(work: UnitOfWork, table_id: int, sent: PrincipalPrivilegeSet, now: int) -> None:
    """Grants the privileges that are sent with a new table (Trino's owners, Hive's createtable.*.grants)."""
    by_kind = {
        PrincipalType.USER: sent.userPrivileges,
        PrincipalType.GROUP: sent.groupPrivileges,
        PrincipalType.ROLE: sent.rolePrivileges,
    }
    requested = [
        HiveObjectPrivilege(principalName=principal, principalType=kind, grantInfo=info)
        for kind, principals in by_kind.items()
        for principal, infos in (principals or {}).items()
        for info in infos or []
    ]
    grants = [grant for privilege in requested for grant in _grants(privilege, Target(TABLE, table_id=table_id), now)]
    if grants:
        once = {(grant.principal_type, grant.principal, grant.privilege, *_grantor(grant)): grant for grant in grants}
        work.privileges.insert(list(once.values()))


def _grantor(grant: Grant) -> tuple[str | None, int]:
    return grant.grantor, grant.grantor_type or PrincipalType.USER


def folded(name: str | None) -> str | None:
    """Converts a name to lower case; None stays None."""
    return None if name is None else fold(name)
