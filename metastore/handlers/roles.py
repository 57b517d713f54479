"""Handlers of roles."""

from __future__ import annotations

from metastore.handlers.arguments import is_revocation
from metastore.operations.answer_filters import role_grants, role_names, roles
from metastore.operations.audit_details import granted_role
from metastore.operations.operation import change, from_fields, operation, security_administrator
from metastore.operations.requirements.privileges import dropped_role, principal, role_administration, role_members
from metastore.services.roles import RoleService
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPrincipalsInRoleRequest,
    GetPrincipalsInRoleResponse,
    GetRoleGrantsForPrincipalRequest,
    GetRoleGrantsForPrincipalResponse,
    GrantRevokeRoleRequest,
    GrantRevokeRoleResponse,
    Role,
    RolePrincipalGrant,
)

_GRANT_ROLE = change(
    "role_name",
    from_fields(role_administration, "role_name", "principal_type", "principal_name"),
    audit_detail=from_fields(granted_role, "role_name", "principal_name", "principal_type"),
)


class RoleHandlers:
    """`*_role*`."""

    def __init__(self, roles: RoleService) -> None:
        self._roles = roles

    @change("role.roleName", security_administrator)
    def create_role(self, role: Role) -> bool:
        self._roles.create(role)
        return True

    @change("role_name", from_fields(dropped_role, "role_name"))
    def drop_role(self, name: str) -> bool:
        self._roles.drop(name)
        return True

    @operation(None, answer_filter=role_names)
    def get_role_names(self) -> list[str]:
        return self._roles.names()

    @_GRANT_ROLE
    def grant_role(
        self, role: str, principal: str, kind: int, grantor: str | None, grantor_type: int | None, option: bool
    ) -> bool:
        self._roles.grant(RolePrincipalGrant(role, principal, kind, bool(option), None, grantor, grantor_type))
        return True

    @_GRANT_ROLE
    def revoke_role(self, role: str, principal: str, kind: int) -> bool:
        self._roles.revoke(role, principal, kind)
        return True

    @change(
        "request.roleName",
        from_fields(role_administration, "request.roleName", "request.principalType", "request.principalName"),
        audit_detail=from_fields(
            granted_role, "request.roleName", "request.principalName", "request.principalType", "request.requestType"
        ),
    )
    def grant_revoke_role(self, request: GrantRevokeRoleRequest) -> GrantRevokeRoleResponse:
        role, principal, kind = request.roleName, request.principalName, request.principalType
        if is_revocation(request.requestType):
            self._roles.revoke(role, principal, kind, option_only=bool(request.grantOption))
        else:
            self.grant_role(role, principal, kind, request.grantor, request.grantorType, bool(request.grantOption))
        return GrantRevokeRoleResponse(success=True)

    @operation(
        "principal_name",
        from_fields(principal, "principal_name", "principal_type"),
        answer_filter=from_fields(roles, "principal_name", "principal_type"),
    )
    def list_roles(self, principal: str, kind: int) -> list[Role]:
        return self._roles.of_principal(principal, kind)

    @operation("request.roleName", from_fields(role_members, "request.roleName"))
    def get_principals_in_role(self, request: GetPrincipalsInRoleRequest) -> GetPrincipalsInRoleResponse:
        return GetPrincipalsInRoleResponse(principalGrants=self._roles.members(request.roleName))

    @operation(
        "request.principal_name",
        from_fields(principal, "request.principal_name", "request.principal_type"),
        answer_filter=from_fields(role_grants, "request.principal_name", "request.principal_type"),
    )
    def get_role_grants_for_principal(
        self, request: GetRoleGrantsForPrincipalRequest
    ) -> GetRoleGrantsForPrincipalResponse:
        grants = self._roles.grants_to(request.principal_name, request.principal_type)
        return GetRoleGrantsForPrincipalResponse(principalGrants=grants)
