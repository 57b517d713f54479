"""Creating, dropping, granting and revoking roles."""

from __future__ import annotations

from metastore.domain.privileges import PUBLIC
from metastore.errors import AlreadyExistsError, InvalidObjectError, InvalidOperationError, NotFoundError
from metastore.services.rules.lookup import taken
from metastore.services.service import ClockedService
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType, Role, RolePrincipalGrant

ADMIN = "admin"


class RoleService(ClockedService):
    """Rules of roles (Hive's HMSHandler, ObjectStore). `kind`: a PrincipalType."""

    def create(self, role: Role) -> None:
        """Creates a role. Raises AlreadyExistsError, InvalidOperationError (public), InvalidObjectError."""
        if not role.roleName:
            raise InvalidObjectError("A role needs a name.")
        if role.roleName == PUBLIC:
            raise InvalidOperationError(f"{PUBLIC} role implicitly exists. It can't be created.")
        with taken(AlreadyExistsError(f"Role {role.roleName} already exists.")), self._store.transaction() as work:
            work.roles.insert(Role(role.roleName, self._clock(), role.ownerName))

    def drop(self, name: str) -> None:
        """Drops a role and its grants. As in Hive, no error if it does not exist.

        Raises InvalidOperationError for the roles admin and public.
        """
        if name in (ADMIN, PUBLIC):
            raise InvalidOperationError(f"{PUBLIC},{ADMIN} roles can't be dropped.")
        with self._store.transaction() as work:
            work.change_privileges()
            work.privileges.delete_of_role(name)
            work.roles.delete(name)

    def names(self) -> list[str]:
        """Lists roles, ascending."""
        with self._store.read() as work:
            return work.roles.names()

    def grant(self, grant: RolePrincipalGrant) -> None:
        """Grants a role. Raises NotFoundError, AlreadyExistsError, InvalidOperationError (public; a cycle of roles)."""
        role, principal, kind = grant.roleName, grant.principalName, grant.principalType
        if role == PUBLIC:
            raise InvalidOperationError(
                f"No user can be added to {PUBLIC}. Since all users implicitly belong to {PUBLIC} role."
            )
        if not principal or kind is None:
            raise InvalidObjectError(f"Cannot grant role {role}: set the name and the type of the principal.")
        grant.grantTime = self._clock()
        exists = AlreadyExistsError(f"Principal {principal} already has the role {role}")
        with taken(exists), self._store.transaction() as work:
            if role not in work.roles.exist([role]):
                raise NotFoundError(f"{role} role can not be found.")
            if kind == PrincipalType.ROLE:
                work.roles.lock_hierarchy()
                if principal not in work.roles.exist([principal]):
                    raise NotFoundError(f"Role {principal} does not exist")
                if work.roles.is_above(principal, role):
                    raise InvalidOperationError(
                        f"Cannot grant role {principal} to {role} as {role} already belongs to the role "
                        f"{principal}. (no cycles allowed)"
                    )
            work.change_privileges()
            work.roles.grant(grant)

    def revoke(self, role: str, principal: str, kind: int, *, option_only: bool = False) -> None:
        """Revokes a role. As in Hive, no error if the principal does not have it. `option_only`: only its grant option.

        Raises NotFoundError, InvalidOperationError (public; `option_only` if there is no grant option).
        """
        if role == PUBLIC:
            raise InvalidOperationError(f"{PUBLIC} role can't be revoked.")
        with self._store.transaction() as work:
            if role not in work.roles.exist([role]):
                raise NotFoundError(f"{role} role can not be found.")
            work.change_privileges()
            if not option_only:
                work.roles.revoke(role, principal, kind)
            elif not work.roles.revoke_option(role, principal, kind):
                raise InvalidOperationError(f"User {principal} does not have grant option with role {role}")

    def of_principal(self, principal: str, kind: int) -> list[Role]:
        """Returns the roles granted to the principal itself. Every user has `public`."""
        with self._store.read() as work:
            roles = work.roles.of_principal(principal, kind)
        return [*roles, Role(PUBLIC, 0, PUBLIC)] if kind == PrincipalType.USER else roles

    def grants_to(self, principal: str, kind: int) -> list[RolePrincipalGrant]:
        """Returns the grants of the roles that `of_principal` returns."""
        with self._store.read() as work:
            grants = work.roles.grants_to(principal, kind)
        public = RolePrincipalGrant(PUBLIC, principal, kind, grantOption=False, grantTime=0)
        return [*grants, public] if kind == PrincipalType.USER else grants

    def members(self, role: str) -> list[RolePrincipalGrant]:
        """Lists the grants of the role; none of `public`."""
        with self._store.read() as work:
            return work.roles.members(role)
