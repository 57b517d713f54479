"""Roles, privileges and transactions through Thrift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Final

from metastore.domain.names import DatabaseName, TableName
from metastore.importing.sources.objects import Batch, MasterKey, Selection, Token, TransactionState
from metastore.importing.sources.replies import shown_object
from metastore.importing.sources.thrift_calls import in_catalog
from metastore.importing.sources.thrift_listing import ThriftListing
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPrincipalsInRoleRequest,
    GetValidWriteIdsRequest,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    Role,
    RolePrincipalGrant,
    Table,
)

INVALID_WRITES: Final = "aborted writes that Thrift does not name"


class AccessReader:
    """Reads roles, privileges and high-water marks."""

    def __init__(self, listing: ThriftListing) -> None:
        self._listing = listing
        self._calls = listing.calls
        self.principals: set[tuple[str, int]] = set()
        """Further principals whose privileges are listed."""

    def roles(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the roles. The owner and the time are known only for roles with members."""
        roles: list[Role] = []
        names = self._names()
        for name in names or ():
            member = next(iter(self._members(name) or ()), None)
            granted = self._calls.quiet("list_roles", member.principalName, member.principalType) if member else ()
            roles.append(next((role for role in granted or () if role.roleName == name), Role(name, 0, None)))
        yield Batch(roles, "all", is_partial=names is None)

    def role_grants(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the members of roles."""
        names = self._names()
        members = {name: self._members(name) for name in names or ()}
        grants = [grant for some in members.values() for grant in some or ()]
        yield Batch(grants, "all", is_partial=names is None or None in members.values())

    def privileges(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the privileges: those on databases and tables, then all others of every principal that is known.

        Only a call for one column or partition lists its privileges for all principals, so these are found by
        principal.
        """
        by_identity: dict[Any, HiveObjectPrivilege] = {}
        on_everything = self._on(HiveObjectRef(HiveObjectType.GLOBAL))
        self._add(by_identity, on_everything or (), selection)
        is_partial = on_everything is None
        principals = set(self.principals)
        for database in self._listing.databases(selection):
            name = in_catalog(database.catalog, database.name)
            raw = self._calls.quiet("get_database", name)
            if raw and raw.ownerName:
                principals.add((raw.ownerName, raw.ownerType or PrincipalType.USER))
            refs = [HiveObjectRef(HiveObjectType.DATABASE, name)]
            refs += [HiveObjectRef(HiveObjectType.TABLE, name, one) for one in self._listing.table_names(database)]
            for ref in refs:
                found = self._on(ref)
                is_partial = is_partial or found is None
                self._add(by_identity, found or (), selection, database)
        principals |= {(one.principalName, one.principalType) for one in by_identity.values()}
        for grant in next(self.role_grants("", selection)).objects:
            principals |= {(grant.roleName, PrincipalType.ROLE), (grant.principalName, grant.principalType)}
        principals |= {(name, PrincipalType.ROLE) for name in self._names() or ()}
        for principal, kind in sorted(principals):
            found = self._listed(f"privileges of {principal}", principal, kind, HiveObjectRef(None))
            is_partial = is_partial or found is None
            self._add(by_identity, found or (), selection)
        yield Batch(list(by_identity.values()), "all", is_partial=is_partial)

    def transactions(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the high-water marks."""
        reply = self._calls.one("transactions", "get_open_txns")
        if reply is None:
            return
        marks: dict[TableName, int] = {}
        findings: list[Finding] = []
        if reply.open_txns:
            detail = "open or aborted; later writes of these transactions are not imported"
            findings.append(Finding(INVALID_WRITES, f"{len(reply.open_txns)} transactions", detail))
        for _, tables, _ in self._listing.tables("", selection):
            for table in filter(_is_transactional, tables):
                name = TableName(table.catName, table.dbName, table.tableName)
                request = GetValidWriteIdsRequest([f"{table.dbName}.{table.tableName}"])
                valid = self._calls.one(f"write ids of {name}", "get_valid_write_ids", request)
                marks[name] = reply.txn_high_water_mark
                for ids in (valid and valid.tblValidWriteIds) or ():
                    marks[name] = ids.writeIdHighWaterMark
                    if ids.invalidWriteIds:
                        detail = f"write ids {ids.invalidWriteIds[:20]}: import from the source's database"
                        findings.append(Finding(INVALID_WRITES, str(name), detail))
        yield Batch([TransactionState(reply.txn_high_water_mark, marks)], "all", findings)

    def master_keys(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the keys of delegation tokens, without their numbers. Nothing if the server does not allow it."""
        keys = self._calls.optional("get_master_keys")
        if keys is not None:
            yield Batch([MasterKey(0, key) for key in keys], "all")

    def tokens(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        """Yields the delegation tokens. Nothing if the server does not allow it."""
        identifiers = self._calls.optional("get_all_token_identifiers")
        if identifiers is not None:
            yield Batch([Token(name, self._calls.optional("get_token", name) or "") for name in identifiers], "all")

    def _names(self) -> list[str] | None:
        """Lists the roles, ascending; None if the server does not allow it."""
        names = self._calls.listed("roles", "get_role_names")
        return None if names is None else sorted(names)

    def _members(self, role: str) -> list[RolePrincipalGrant] | None:
        """Returns the members of a role, none if it was dropped meanwhile; None if the server does not allow it."""
        request = GetPrincipalsInRoleRequest(role)
        return self._calls.listed(
            f"members of the role {role}", "get_principals_in_role", request, items=attrgetter("principalGrants")
        )

    def _on(self, target: HiveObjectRef) -> list[HiveObjectPrivilege] | None:
        """Returns the privileges on an object, none if it was dropped meanwhile; None if the call is rejected."""
        name = ".".join(filter(None, (target.dbName, target.objectName))) or "everything"
        return self._listed(f"privileges on {name}", None, None, target)

    def _listed(self, what: str, *arguments: Any) -> list[HiveObjectPrivilege] | None:
        return self._calls.listed(
            what, "list_privileges", *arguments, key=lambda _, one: shown_object("privilege", one)
        )

    def _add(
        self,
        by_identity: dict[Any, HiveObjectPrivilege],
        privileges: Iterable[HiveObjectPrivilege],
        selection: Selection,
        database: DatabaseName | None = None,
    ) -> None:
        for one in privileges:
            target = one.hiveObject
            if target.dbName:
                target.catName = target.catName or (database.catalog if database else self._catalog_of(target.dbName))
                if not selection.has(DatabaseName(target.catName, target.dbName)):
                    continue
            info = one.grantInfo
            identity = (
                target.objectType,
                target.catName,
                target.dbName,
                target.objectName,
                tuple(target.partValues or ()),
                target.columnName,
                one.principalName,
                one.principalType,
                info.privilege,
                info.grantor,
                one.authorizer,
            )
            by_identity[identity] = one

    def _catalog_of(self, database: str) -> str:
        names = self._listing.databases(Selection())
        return next((name.catalog for name in names if name.name == database), "hive")


def _is_transactional(table: Table) -> bool:
    return (table.parameters or {}).get("transactional", "").lower() == "true"
