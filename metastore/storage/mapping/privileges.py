"""Privileges from rows, and memberships of roles to rows."""

from __future__ import annotations

from typing import Any

from thrift_idl.gen.hive_metastore.ttypes import (
    HiveObjectPrivilege,
    HiveObjectRef,
    PrivilegeGrantInfo,
    RolePrincipalGrant,
)


def object_privilege(row: Any) -> HiveObjectPrivilege:
    """Converts a row of `privileges`, joined with the names of its object and the values of its partition."""
    return HiveObjectPrivilege(
        hiveObject=HiveObjectRef(
            objectType=row.object_type,
            dbName=row.database,
            objectName=row.scope if row.table is None else row.table,
            partValues=row.partition_values,
            columnName=row.column_name,
            catName=row.catalog,
        ),
        principalName=row.principal,
        principalType=row.principal_type,
        grantInfo=PrivilegeGrantInfo(
            privilege=row.privilege,
            createTime=row.create_time,
            grantor=row.grantor,
            grantorType=row.grantor_type,
            grantOption=row.grant_option,
        ),
        authorizer=row.authorizer,
    )


def role_grant_row(grant: RolePrincipalGrant) -> dict[str, Any]:
    """Returns the columns of `role_grants`."""
    return {
        "role": grant.roleName,
        "principal_type": grant.principalType,
        "principal": grant.principalName,
        "grantor": grant.grantorName,
        "grantor_type": grant.grantorPrincipalType,
        "grant_option": bool(grant.grantOption),
        "grant_time": grant.grantTime or 0,
    }
