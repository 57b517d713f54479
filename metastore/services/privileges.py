"""Granting, revoking and listing privileges. `services.authorization` decides who may change them."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.names import DatabaseName
from metastore.domain.privileges import Duty
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, InvalidOperationError
from metastore.services.authorization.authorization import Authorization
from metastore.services.rules.privileges import (
    ObjectName,
    RequestedPrivilege,
    check_new_rules,
    found_targets,
    grants_of,
    privilege_set,
)
from metastore.services.service import Clock, ClockedService
from metastore.storage.repositories.privileges import Grant, Target
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectPrivilege, HiveObjectType, PrincipalPrivilegeSet


class PrivilegeService(ClockedService):
    """Rules of privileges (Hive's HMSHandler, ObjectStore)."""

    def __init__(self, store: Store, clock: Clock, rights: Authorization) -> None:
        super().__init__(store, clock)
        self._rights = rights

    def grant(self, requests: Sequence[RequestedPrivilege]) -> None:
        """Grants all of the privileges, or none. Raises NotFoundError, AlreadyExistsError, InvalidObjectError."""
        if not requests:
            return
        grants: list[Grant] = []
        try:
            with self._store.transaction() as work:
                grants = grants_of(work, requests, self._clock())
                check_new_rules(grants)
                work.privileges.insert(grants)
        except AlreadyExistsError:
            first, more = grants[0], f" or one of {len(grants) - 1} more" if len(grants) > 1 else ""
            raise AlreadyExistsError(f"{first.privilege} is already granted by {first.grantor}{more}") from None

    def revoke(self, requests: Sequence[RequestedPrivilege], *, option_only: bool = False) -> None:
        """Revokes all of the privileges, or none. `option_only`: revokes only their grant options.

        With authorization, only administrators and owners of all of the objects revoke what others have granted.

        Raises NotFoundError for an object, InvalidObjectError for a privilege that was not granted,
        InvalidOperationError (`option_only`) for a privilege without the grant option.
        """
        if not requests:
            return
        owns = self._owns(requests)
        with self._store.transaction() as work:
            grants = grants_of(work, requests, self._clock())
            ids = []
            for grant, found in zip(grants, work.privileges.find(grants), strict=True):
                if found is None or not (found.is_own or owns):
                    raise InvalidObjectError(f"No grant ({grant.privilege}) of {grant.principal} found")
                if option_only and not found.option:
                    raise InvalidOperationError(
                        f"User {grant.principal} does not have grant option with privilege {grant.privilege}"
                    )
                ids.append(found.id)
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
            added = [grant for key, grant in new.items() if key not in old]
            check_new_rules(added)
            work.privileges.insert(added)

    def select(self, principal: str | None, kind: int | None, name: ObjectName) -> list[HiveObjectPrivilege]:
        """Lists the privileges of a principal (None: of all) on an object, or on all objects if it has no kind.

        An object without a database means all objects of its kind. An object that does not exist has none. Without a
        principal, its kind does not count, as in Hive.
        """
        kind = None if principal is None else kind
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

    def _owns(self, requests: Sequence[RequestedPrivilege]) -> bool:
        """Returns whether the caller administers privileges, or owns all of the objects."""
        grants = self._rights.grants()
        if grants.is_admin or Duty.SECURITY in grants.duties:
            return True
        homes = [(DatabaseName(one.object.catalog, one.object.database or ""), one.object) for one in requests]
        names = {home if on.kind == HiveObjectType.DATABASE else home.table(on.table or "") for home, on in homes}
        return self._rights.owned(names) >= names


def _without_time(grant: Grant) -> Grant:
    return grant._replace(create_time=0)
