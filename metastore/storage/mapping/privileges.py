"""Privileges from rows."""

from __future__ import annotations

from typing import Any

from thrift_idl.gen.hive_metastore.ttypes import HiveObjectPrivilege, HiveObjectRef, PrivilegeGrantInfo


def object_privilege(row: Any) -> HiveObjectPrivilege:
    """Converts a row of `privileges`, joined with the names of its object (catalog, database, table,
    partition_values).
    """
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
