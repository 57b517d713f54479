"""Identities of objects: the same object has the same identity, from every server and version."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.importing.sources.objects import MasterKey, SourceConstraint, Token
from metastore.importing.sources.thrift_objects import CONSTRAINT_NAMES
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    Function,
    HiveObjectPrivilege,
    HiveObjectType,
    Index,
    Role,
    RolePrincipalGrant,
    Table,
)

_PREDEFINED: Final = ("admin", "public")
"""Roles that Hive creates at its start."""


def identity_of(one: Any) -> Any:
    """Returns the identity of an object. None leaves the object out of a comparison."""
    match one:
        case Database():
            return DatabaseName(one.catalogName, one.name)
        case Table():
            return TableName(one.catName, one.dbName, one.tableName)
        case Function():
            return one.catName or DEFAULT_CATALOG, one.dbName, one.functionName
        case SourceConstraint():
            names = [getattr(one.constraint, name, None) for name in CONSTRAINT_NAMES]
            return str(one.table), next(filter(None, names), ""), one.position
        case Index():
            return one.dbName, one.origTableName, one.indexName
    return _of_access(one)


def identity_text(identity: Any) -> str:
    """Returns an identity as people read it."""
    if isinstance(identity, tuple):
        return " ".join(identity_text(part) for part in identity if part is not None)
    return str(identity)


def _of_access(one: Any) -> Any:
    match one:
        case Role():
            return None if one.roleName in _PREDEFINED else one.roleName
        case RolePrincipalGrant():
            return one.roleName, one.principalType, one.principalName
        case HiveObjectPrivilege():
            ref = one.hiveObject
            if ref.objectType == HiveObjectType.GLOBAL and one.principalName == "admin" == one.grantInfo.grantor:
                return None  # every server gives its role admin all rights
            target = (ref.objectType, ref.dbName, ref.objectName, tuple(ref.partValues or ()), ref.columnName)
            return target, one.principalType, one.principalName, one.grantInfo.privilege, one.grantInfo.grantor
        case MasterKey():  # not all sources know its number
            return hashlib.sha256(one.key.encode()).hexdigest()[:16]
        case Token():
            return one.identifier
    return str(one)
