"""Granting, revoking and listing privileges. `services.authorization` decides who may change them."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, InvalidOperationError
from metastore.services.rules.privileges import ObjectName, RequestedPrivilege, found_targets, grants_of, privilege_set
from metastore.services.service import ClockedService
from metastore.storage.repositories.privileges import Grant, Target
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectPrivilege, HiveObjectType, PrincipalPrivilegeSet


class PrivilegeService(ClockedService):
    """Rules of privileges (Hive's HMSHandler, ObjectStore)."""

    def grant(self, requests: Sequence[RequestedPrivilege]) -> None:
        """Grants all of the privileges, or none. Raises NotFoundError, AlreadyExistsError, InvalidObjectError."""
        if not requests:
            return
        grants: list[Grant] = []
        try:
            with self._store.transaction() as work:
                grants = grants_of(work, requests, self._clock())
                work.privileges.insert(grants)
        except AlreadyExistsError:
            first, more = grants[0], f" or one of {len(grants) - 1} more" if len(grants) > 1 else ""
            raise AlreadyExistsError(f"{first.privilege} is already granted by {first.grantor}{more}") from None

    def revoke(self, requests: Sequence[RequestedPrivilege], *, option_only: bool = False) -> None:
        """Revokes all of the privileges, or none. `option_only`: revokes only their grant options.

        Raises NotFoundError for an object, InvalidObjectError for a privilege that was not granted,
        InvalidOperationError (`option_only`) for a privilege without the grant option.
        """
        if not requests:
            return
        with self._store.transaction() as work:
            grants = grants_of(work, requests, self._clock())
            ids = []
            for grant, (grant_id, option) in zip(grants, work.privileges.find(grants), strict=True):
                if grant_id is None:
                    raise InvalidObjectError(f"No grant ({grant.privilege}) of {grant.principal} found")
                if option_only and not option:
                    raise InvalidOperationError(
                        f"User {grant.principal} does not have grant option with privilege {grant.privilege}"
                    )
                ids.append(grant_id)
            if option_only:
                work.privileges.delete_option(ids)
            else:
                work.privileges.delete(ids)

    def refresh(self, name: ObjectName, authorizer: str | None, requests: Sequence[RequestedPrivilege]) -> None:
        """Replaces all privileges of one authorizer on an object by these.

        For a COLUMN without a name: on all columns of its table. Raises as `grant`.
        """
        with self._store.transaction() as work:
            (target,) = found_targets(work, [name])
            if target is None:
                return
            work.change_privileges()
            new = {_without_time(grant): grant for grant in grants_of(work, requests, self._clock())}
            old = {_without_time(stored.grant): stored.id for stored in work.privileges.granted_by(authorizer, target)}
            work.privileges.delete([number for grant, number in old.items() if grant not in new])
            work.privileges.insert([grant for key, grant in new.items() if key not in old])

    def select(self, principal: str | None, kind: int | None, name: ObjectName) -> list[HiveObjectPrivilege]:
        """Lists the privileges of a principal (None: of all) on an object, or on all objects if it has no kind.

        An object without a database means all objects of its kind. An object that does not exist has none.
        """
        with self._store.read() as work:
            if name.kind is None:
                return work.privileges.select(None, principal, kind)
            if name.database is None:
                return work.privileges.select(Target(name.kind), principal, kind)
            (target,) = found_targets(work, [name])
            return work.privileges.select(target, principal, kind) if target else []

    def set_of(self, name: ObjectName, user: str | None, groups: Sequence[str] | None) -> PrincipalPrivilegeSet:
        """Returns the privileges of a user, its groups and all of their roles on an object."""
        if name.kind is None:
            raise InvalidInputError("get_privilege_set needs the type of an object")
        with self._store.read() as work:
            # As in Hive, global privileges of roles are not included.
            roles = work.roles.all_of(user, groups or []) if name.kind != HiveObjectType.GLOBAL else None
            (target,) = found_targets(work, [name])
            privileges = work.privileges.select_of(target, user, groups or [], roles or []) if target else []
        return privilege_set(privileges, user, groups or [], roles or [])


def _without_time(grant: Grant) -> Grant:
    return grant._replace(create_time=0)
