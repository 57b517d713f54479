"""Handlers of privileges."""

from __future__ import annotations

from metastore.domain.names import fold_column
from metastore.errors import InvalidInputError
from metastore.handlers.arguments import database_name, is_revocation
from metastore.operations.answer_filters import privileges
from metastore.operations.assignments import set_grantor
from metastore.operations.audit_details import granted
from metastore.operations.fields import TableFields
from metastore.operations.operation import change, from_fields, operation
from metastore.operations.requirements.privileges import grantable, ownership_of, principals_on, visible_object
from metastore.services.privileges import PrivilegeService
from metastore.services.rules.privileges import ObjectName, RequestedPrivilege, folded
from thrift_idl.gen.hive_metastore.ttypes import (
    GrantRevokePrivilegeRequest,
    GrantRevokePrivilegeResponse,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalPrivilegeSet,
    PrivilegeBag,
)

_PRIVILEGES_TABLE = TableFields(
    "privileges.privileges.0.hiveObject.dbName", "privileges.privileges.0.hiveObject.objectName"
)
_HIVE_OBJECT_TABLE = TableFields("hiveObject.dbName", "hiveObject.objectName", "hiveObject.catName")
_GRANT_PRIVILEGES = change(
    _PRIVILEGES_TABLE,
    from_fields(grantable, "privileges"),
    assignments=from_fields(set_grantor, "privileges"),
    audit_detail=from_fields(granted, "privileges"),
)


class PrivilegeHandlers:
    """`*_privilege*`."""

    def __init__(self, privileges: PrivilegeService) -> None:
        self._privileges = privileges

    @_GRANT_PRIVILEGES
    def grant_privileges(self, bag: PrivilegeBag) -> bool:
        self._privileges.grant(_requested(bag))
        return True

    @_GRANT_PRIVILEGES
    def revoke_privileges(self, bag: PrivilegeBag) -> bool:
        self._privileges.revoke(_requested(bag))
        return True

    @change(
        TableFields(
            "request.privileges.privileges.0.hiveObject.dbName", "request.privileges.privileges.0.hiveObject.objectName"
        ),
        from_fields(grantable, "request.privileges"),
        assignments=from_fields(set_grantor, "request.privileges"),
        audit_detail=from_fields(granted, "request.privileges", "request.requestType"),
    )
    def grant_revoke_privileges(self, request: GrantRevokePrivilegeRequest) -> GrantRevokePrivilegeResponse:
        if is_revocation(request.requestType):
            self._privileges.revoke(_requested(request.privileges), option_only=bool(request.revokeGrantOption))
        else:
            self._privileges.grant(_requested(request.privileges))
        return GrantRevokePrivilegeResponse(success=True)

    @change(
        TableFields("objToRefresh.dbName", "objToRefresh.objectName", "objToRefresh.catName"),
        from_fields(ownership_of, "objToRefresh"),
        from_fields(grantable, "grantRequest.privileges"),
        assignments=from_fields(set_grantor, "grantRequest.privileges"),
        audit_detail=from_fields(granted, "grantRequest.privileges", "grantRequest.requestType"),
    )
    def refresh_privileges(
        self, ref: HiveObjectRef, authorizer: str | None, request: GrantRevokePrivilegeRequest
    ) -> GrantRevokePrivilegeResponse:
        self._privileges.refresh(_object(ref), authorizer, _requested(request.privileges))
        return GrantRevokePrivilegeResponse(success=True)

    @operation(
        _HIVE_OBJECT_TABLE,
        from_fields(visible_object, "hiveObject"),
        answer_filter=privileges,
        missing_ok=True,
        missing_answer=list,
    )
    def list_privileges(self, principal: str | None, kind: int | None, ref: HiveObjectRef) -> list[HiveObjectPrivilege]:
        return self._privileges.select(principal, kind, _object(ref))

    @operation(_HIVE_OBJECT_TABLE, from_fields(principals_on, "hiveObject", "user_name", "group_names"))
    def get_privilege_set(
        self, ref: HiveObjectRef, user: str | None, groups: list[str] | None
    ) -> PrincipalPrivilegeSet:
        return self._privileges.set_of(_object(ref), user, groups)


def _requested(bag: PrivilegeBag | None) -> list[RequestedPrivilege]:
    privileges = (bag.privileges or []) if bag else []
    if any(privilege is None or privilege.hiveObject is None for privilege in privileges):
        raise InvalidInputError("A privilege names no object")
    return [RequestedPrivilege(_object(privilege.hiveObject), privilege) for privilege in privileges]


def _object(ref: HiveObjectRef) -> ObjectName:
    database = database_name(ref.dbName, ref.catName)
    return ObjectName(
        ref.objectType,
        database.catalog,
        None if ref.dbName is None else database.name,
        ref.objectName if ref.objectType == HiveObjectType.GLOBAL else folded(ref.objectName),
        tuple(ref.partValues or ()),
        None if ref.columnName is None else fold_column(ref.columnName),
    )
