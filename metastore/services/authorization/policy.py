"""Authorization by a policy engine: it decides about rights on objects, instead of the privileges in the database.

Everything else is as with grants: administrators, owners of new objects, locations, locks, writes, hidden objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from metastore.domain.names import MAX_OBJECT_NAME, DatabaseName, TableName
from metastore.domain.permissions import RequiredPrivilege, Requirement
from metastore.domain.privileges import (
    OWNER_RIGHTS,
    Administrators,
    CallerGrants,
    CatalogName,
    Right,
    Securable,
    WholeMetastore,
    rights,
)
from metastore.encoding.binary import EncodedStruct
from metastore.errors import HiddenError, UnavailableError
from metastore.policy.decisions import Resource
from metastore.policy.engine import PolicyEngine
from metastore.services.authorization.authorization import (
    Authorization,
    ReadWithRights,
    Result,
    without_secrets,
)
from metastore.services.rules.lookup import missing_table
from metastore.storage.queries.visibility import EVERYTHING, NOTHING, Scope
from metastore.storage.repositories.access import ReadTable
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table

_ATTEMPTS: Final = 10
_answers: ContextVar[dict[Resource, frozenset[str]]] = ContextVar("answers", default={})  # noqa: B039 - never changed
"""Decisions of the current call. They remain valid for it even if nothing is cached."""


class _UndecidedError(Exception):
    """The engine has to be queried about these resources, without a database connection."""

    def __init__(self, grants: CallerGrants, resources: list[Resource]) -> None:
        super().__init__()
        self.grants = grants
        self.resources = list(dict.fromkeys(resources))


class PolicyAuthorization(Authorization):
    """Decides with a policy engine. Methods raise UnavailableError if it does not answer: the call is rejected.

    Missing objects are queried as well, so that a call about a hidden object costs the same.
    """

    def __init__(self, store: Store, admins: Administrators, roots: Roots, engine: PolicyEngine) -> None:
        super().__init__(store, admins, roots, by_policy=True)
        self._engine = engine

    def for_call(self, grants: CallerGrants, requirements: Iterable[Requirement]) -> CallerGrants:
        """Adds the rights on the catalogs and on everything that the requirements are about."""
        if grants.is_admin:
            return grants
        wanted = [each.securable for each in requirements if isinstance(each, RequiredPrivilege)]
        above = [name for name in wanted if isinstance(name, CatalogName | WholeMetastore)]
        if not above:
            return grants
        held = dict(zip(above, self._rights(grants, map(_resource_above, above)), strict=True))
        catalogs = {name.name: granted for name, granted in held.items() if isinstance(name, CatalogName)}
        everywhere = next((granted for name, granted in held.items() if isinstance(name, WholeMetastore)), frozenset())
        return replace(grants, catalogs=catalogs, everywhere=everywhere)

    def find(
        self, work: UnitOfWork, grants: CallerGrants, names: Sequence[TableName | DatabaseName]
    ) -> list[Securable | None]:
        """Looks up objects as Authorization does. `granted` holds the rights that the engine returns."""
        securables = super().find(work, grants, names)
        if grants.is_admin or not names:
            return securables
        resources = [_resource(name, securable) for name, securable in zip(names, securables, strict=True)]
        return [
            securable and securable._replace(granted=tuple(sorted(held)), within=False)
            for securable, held in zip(securables, self._rights(grants, resources), strict=True)
        ]

    def _read(self, question: Callable[[UnitOfWork], Result]) -> Result:
        """Runs a query with its own connection. If a decision is missing, returns the connection, queries the engine,
        and repeats the query with its answer.
        """
        try:
            return super()._read(question)
        except _UndecidedError as undecided:
            missing = undecided
        token = _answers.set({})
        try:
            for _ in range(_ATTEMPTS):
                held = self._engine.rights(missing.grants.user, missing.grants.groups, missing.resources)
                _answers.set(_answers.get() | dict(zip(missing.resources, held, strict=True)))
                try:
                    return super()._read(question)
                except _UndecidedError as undecided:
                    missing = undecided
        finally:
            _answers.reset(token)
        raise UnavailableError("The objects of the call change faster than the policy engine decides; try again")

    def _table(self, work: UnitOfWork, name: TableName) -> EncodedStruct[Table]:
        """Reads a table as Authorization does, in one statement."""
        read, _, granted = self._decided(work, name)
        encoded = work.access.encoded(read)
        return encoded if Right.OWNERSHIP in granted else without_secrets(encoded)

    def _table_with_rights(self, work: UnitOfWork, name: TableName) -> ReadWithRights:
        """Reads a table and the rights on it as Authorization does, in one statement."""
        read, grants, granted = self._decided(work, name)
        held = rights(grants, read.securable._replace(granted=granted))
        return ReadWithRights(read.securable.table_id or 0, work.access.encoded(read), grants, held)

    def _decided(self, work: UnitOfWork, name: TableName) -> tuple[ReadTable, CallerGrants, frozenset[str]]:
        """Returns the table and the rights that the engine returns. Raises NotFoundError if it does not exist or is
        hidden.
        """
        grants, read = self.cached(work), work.access.read_table(name)
        granted = OWNER_RIGHTS
        if not grants.is_admin:
            (granted,) = self._rights(grants, [_resource(name, read.securable if read else None)])
        if read is None:
            raise missing_table(name)
        if not granted:
            raise HiddenError(str(missing_table(name)))
        return read, grants, granted

    def visible_catalogs(self, names: Iterable[str]) -> set[str]:
        unique = sorted(set(names))

        def visible(work: UnitOfWork) -> set[str]:
            grants = self.current(work)
            if grants.is_admin:
                return set(unique)
            held = self._rights(grants, [Resource(name) for name in unique])
            return {name for name, granted in zip(unique, held, strict=True) if granted}

        return self._read(visible)

    def caller_and_scope(self) -> tuple[str | None, bool, Scope]:
        """Returns the caller and the scope of searches, which are SQL statements and cannot query the engine: only
        administrators find something.
        """
        grants = self.grants()
        return grants.user, grants.is_admin, EVERYTHING if grants.is_admin else NOTHING

    def _rights(self, grants: CallerGrants, resources: Iterable[Resource]) -> list[frozenset[str]]:
        """Returns the rights on each resource. Raises _UndecidedError for those that are not known yet."""
        wanted, answers = list(resources), _answers.get()
        known = self._engine.known(grants.user, grants.groups, wanted)
        held = [
            answers.get(each, decided) if _may_exist(each) else frozenset[str]()
            for each, decided in zip(wanted, known, strict=True)
        ]
        if None in held:
            raise _UndecidedError(grants, [each for each, decided in zip(wanted, held, strict=True) if decided is None])
        return [decided for decided in held if decided is not None]


def _resource(name: TableName | DatabaseName, securable: Securable | None) -> Resource:
    """Describes an object to the engine, with its owner if it exists."""
    if isinstance(name, DatabaseName):
        owner = (securable.database_owner, securable.database_owner_kind) if securable else (None, None)
        return Resource(name.catalog, name.name, None, *owner)
    exists = securable is not None and securable.table_id is not None
    owner = (securable.owner, securable.owner_kind) if securable is not None and exists else (None, None)
    return Resource(name.catalog, name.database, name.name, *owner)


def _may_exist(resource: Resource) -> bool:
    """Returns whether an object can have such a name. Others would fill the cache and the requests with their names."""
    return max(len(name or "") for name in resource[:3]) <= MAX_OBJECT_NAME


def _resource_above(name: CatalogName | WholeMetastore) -> Resource:
    return Resource(name.name) if isinstance(name, CatalogName) else Resource()
