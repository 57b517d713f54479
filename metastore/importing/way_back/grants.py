"""Changes roles and privileges of the source to match this server's, as far as they concern the returned databases."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from metastore.domain.names import DatabaseName
from metastore.encoding.structs import shallow_copy
from metastore.errors import InvalidOperationError, NotFoundError
from metastore.importing.identities import identity_of
from metastore.importing.sources.objects import Selection, Stage
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import UnsupportedCallError
from metastore.importing.way_back.fence import FencedCalls
from metastore.storage.importing.imports import Finding
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectPrivilege, PrivilegeBag, Role, RolePrincipalGrant

REJECTED: Final = "grant that the source rejects"


class GrantWriter:
    """Adds roles and their members, and never removes any: databases that do not go back may need them."""

    def __init__(self, ours: Source, theirs: Source, calls: FencedCalls) -> None:
        self._ours = ours
        self._theirs = theirs
        self._calls = calls
        self.findings: list[Finding] = []

    def apply(self, owned: Collection[DatabaseName]) -> None:
        """Adds roles and members, then adds and removes privileges on databases and what is in them.

        Raises UnavailableError. `findings` names the privileges that the source rejects.
        """
        for stage in (Stage.ROLES, Stage.ROLE_GRANTS, Stage.PRIVILEGES):
            selection = Selection(frozenset(owned))
            ours, theirs = (self._read(side, stage, selection) for side in (self._ours, self._theirs))
            for identity, one in ours.items():
                if identity not in theirs or _option(one) != _option(theirs[identity]):
                    self._attempt(one, self._grant)
            if stage is Stage.PRIVILEGES:
                for identity in theirs.keys() - ours.keys():
                    self._attempt(theirs[identity], self._revoke)

    def check_visible(self, work: UnitOfWork, owned: Collection[DatabaseName]) -> None:
        """Raises InvalidOperationError if this server hides privileges that the source has: they would be removed."""
        ours, theirs = (
            self._read(side, Stage.PRIVILEGES, Selection(frozenset(owned))) for side in (self._ours, self._theirs)
        )
        missing = theirs.keys() - ours.keys()
        principals = {(theirs[identity].principalName, theirs[identity].principalType) for identity in missing}
        stored = {identity_of(one) for principal in principals for one in work.privileges.select(None, *principal)}
        if missing & stored:
            raise InvalidOperationError(
                "This server hides privileges from the user of this command, and they would be removed at the source. "
                "No privilege was changed: run the command as an administrator of this server (METASTORE_ADMINS)"
            )

    @staticmethod
    def _read(side: Source, stage: Stage, selection: Selection) -> dict[Any, Any]:
        objects = (one for batch in side.read(stage, "", selection) for one in batch.objects)
        if stage is Stage.PRIVILEGES:
            objects = (one for one in objects if one.hiveObject.dbName)
        return {identity: one for one in objects if (identity := identity_of(one)) is not None}

    def _attempt(self, one: Any, change: Callable[[Any], None]) -> None:
        try:
            change(one)
        except (UnsupportedCallError, NotFoundError) as error:
            self._calls.call("get_all_databases")  # raises UnavailableError if the source is broken
            self.findings.append(Finding(REJECTED, str(identity_of(one)), str(error)))

    def _grant(self, one: Role | RolePrincipalGrant | HiveObjectPrivilege) -> None:
        if isinstance(one, Role):
            self._calls.call("create_role", one)
        elif isinstance(one, RolePrincipalGrant):
            arguments = (one.roleName, one.principalName, one.principalType, one.grantorName, one.grantorPrincipalType)
            self._calls.call("grant_role", *arguments, bool(one.grantOption))
        else:
            self._calls.call("grant_privileges", PrivilegeBag([_sent(one)]))

    def _revoke(self, one: HiveObjectPrivilege) -> None:
        self._calls.call("revoke_privileges", PrivilegeBag([_sent(one)]))


def _option(one: Any) -> bool:
    """Returns whether the grantee may grant it to others."""
    info = one.grantInfo if isinstance(one, HiveObjectPrivilege) else one
    return bool(getattr(info, "grantOption", None))


def _sent(one: HiveObjectPrivilege) -> HiveObjectPrivilege:
    """Returns a privilege as a client sends it: Hive's server rejects empty lists of values."""
    sent = shallow_copy(one)
    sent.hiveObject = shallow_copy(one.hiveObject)
    sent.hiveObject.partValues = sent.hiveObject.partValues or None
    return sent
