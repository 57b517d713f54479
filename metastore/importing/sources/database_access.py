"""Roles, privileges, tokens, transactions and events from a source's database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.domain.transactions import ABORTED, OPEN
from metastore.importing.sources.aggregates import as_list
from metastore.importing.sources.broken import UNKNOWN_PRINCIPAL, present
from metastore.importing.sources.connections import SourceConnection, chosen
from metastore.importing.sources.database_tables import (
    ORPHAN,
    TableReader,
    int32,
    principal_type,
)
from metastore.importing.sources.objects import (
    Batch,
    MasterKey,
    OpenTransaction,
    Selection,
    Token,
    TransactionState,
)
from metastore.importing.sources.source import LogState
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import (
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    NotificationEvent,
    PrivilegeGrantInfo,
    Role,
    RolePrincipalGrant,
)

_ROWS: Final = 5_000
_STATES: Final = {"o": OPEN, "a": ABORTED}


class _Grants(NamedTuple):
    """A table of privileges. `owner`: the column that names the object; `column`: the one that names its column."""

    table: str
    id: str
    privilege: str
    kind: int
    owner: str | None = None
    column: str | None = None


_GRANTS: Final = (
    _Grants("GLOBAL_PRIVS", "USER_GRANT_ID", "USER_PRIV", HiveObjectType.GLOBAL),
    _Grants("DB_PRIVS", "DB_GRANT_ID", "DB_PRIV", HiveObjectType.DATABASE, "DB_ID"),
    _Grants("TBL_PRIVS", "TBL_GRANT_ID", "TBL_PRIV", HiveObjectType.TABLE, "TBL_ID"),
    _Grants("TBL_COL_PRIVS", "TBL_COLUMN_GRANT_ID", "TBL_COL_PRIV", HiveObjectType.COLUMN, "TBL_ID", "COLUMN_NAME"),
    _Grants("PART_PRIVS", "PART_GRANT_ID", "PART_PRIV", HiveObjectType.PARTITION, "PART_ID"),
    _Grants("PART_COL_PRIVS", "PART_COLUMN_GRANT_ID", "PART_COL_PRIV", HiveObjectType.COLUMN, "PART_ID", "COLUMN_NAME"),
)


class AccessReader:
    """Reads roles, privileges, tokens and keys."""

    def __init__(self, connection: SourceConnection, tables: TableReader) -> None:
        self._connection = connection
        self._tables = tables

    def roles(self) -> Iterator[Batch]:
        """Yields all roles."""
        if self._connection.schema.has("ROLES"):
            query = 'SELECT "ROLE_ID", "ROLE_NAME", "CREATE_TIME", "OWNER_NAME" FROM "ROLES" ORDER BY 2'
            built = self._connection.broken.built
            roles = [
                built(f"ROLES.ROLE_ID={number}", Role, name, int32(created), owner)
                for number, name, created, owner in self._connection.rows(query)
            ]
            yield Batch(present(roles), "all")

    def role_grants(self) -> Iterator[Batch]:
        """Yields all members of roles."""
        if not self._connection.schema.has("ROLE_MAP"):
            return
        rows = self._connection.rows("""
            SELECT m."ROLE_GRANT_ID", r."ROLE_NAME", m."PRINCIPAL_NAME", m."PRINCIPAL_TYPE", m."GRANT_OPTION",
                m."ADD_TIME", m."GRANTOR", m."GRANTOR_TYPE"
            FROM "ROLE_MAP" m JOIN "ROLES" r ON r."ROLE_ID" = m."ROLE_ID" ORDER BY m."ROLE_GRANT_ID"
        """)
        batch = Batch([], "all")
        for number, role, name, kind, option, added, grantor, grantor_type in rows:
            if (known := principal_type(kind)) is None:
                detail = f"the {kind} {name} is not imported as a member of {role}"
                batch.findings.append(Finding(UNKNOWN_PRINCIPAL, f"ROLE_MAP {number}", detail))
                continue
            grant = self._connection.broken.built(
                f"ROLE_MAP.ROLE_GRANT_ID={number}",
                RolePrincipalGrant,
                roleName=role,
                principalName=name,
                principalType=known,
                grantOption=self._connection.flag(option),
                grantTime=int32(added),
                grantorName=grantor,
                grantorPrincipalType=principal_type(grantor_type),
            )
            batch.objects += present([grant])
        yield batch

    def privileges(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the privileges, table by table. The cursor is the number of the table and the last id."""
        first, _, last_id = after.partition(":")
        for number in range(int(first or 0), len(_GRANTS)):
            grants, last = _GRANTS[number], int(last_id or -1) if str(number) == first else -1
            while self._connection.schema.has(grants.table) and (rows := self._rows(grants, last)):
                last = rows[-1][0]
                batch = Batch([], f"{number}:{last}")
                self._add(grants, rows, selection, batch)
                yield batch

    def master_keys(self) -> Iterator[Batch]:
        """Yields the keys that sign delegation tokens."""
        if self._connection.schema.has("MASTER_KEYS"):
            rows = self._connection.rows('SELECT "KEY_ID", "MASTER_KEY" FROM "MASTER_KEYS" ORDER BY "KEY_ID"')
            yield Batch(self._secrets("MASTER_KEYS.KEY_ID", MasterKey, rows), "all")

    def tokens(self) -> Iterator[Batch]:
        """Yields the delegation tokens."""
        if self._connection.schema.has("DELEGATION_TOKENS"):
            rows = self._connection.rows(
                'SELECT "TOKEN_IDENT", "TOKEN" FROM "DELEGATION_TOKENS" ORDER BY "TOKEN_IDENT"'
            )
            yield Batch(self._secrets("DELEGATION_TOKENS.TOKEN_IDENT", Token, rows), "all")

    def _secrets(self, key: str, kind: Callable[..., Any], rows: list[tuple[Any, ...]]) -> list[Any]:
        def secret(row: tuple[Any, ...]) -> Any:
            if None in row:
                raise ValueError("a column is null")
            return kind(*row)

        return present([self._connection.broken.built(f"{key}={row[0]}", secret, row) for row in rows])

    def _rows(self, grants: _Grants, last: int) -> list[tuple[Any, ...]]:
        authorizer = '"AUTHORIZER"' if self._connection.schema.has(grants.table, "AUTHORIZER") else "NULL"
        owner, column = (f'"{name}"' if name else "NULL" for name in (grants.owner, grants.column))
        return self._connection.rows(
            f"""
            SELECT "{grants.id}", {owner}, {column}, "PRINCIPAL_NAME", "PRINCIPAL_TYPE", "{grants.privilege}",
                "CREATE_TIME", "GRANTOR", "GRANTOR_TYPE", "GRANT_OPTION", {authorizer}
            FROM "{grants.table}" WHERE "{grants.id}" > %s ORDER BY "{grants.id}" LIMIT %s
            """,  # noqa: S608 - constants
            last,
            _ROWS,
        )

    def _add(self, grants: _Grants, rows: list[tuple[Any, ...]], selection: Selection, batch: Batch) -> None:
        targets = self._targets(grants, {row[1] for row in rows if row[1] is not None})
        for row in rows:
            _, owner, column, principal, kind, privilege, created, grantor, grantor_type, option, authorizer = row
            target = targets.get(owner) if grants.owner else HiveObjectRef(catName=None)
            if target is None:
                detail = f"{privilege} of {principal} on an object that does not exist is not imported"
                batch.findings.append(Finding(ORPHAN, f"{grants.table} {row[0]}", detail))
                continue
            if target.dbName and not selection.has(DatabaseName(target.catName, target.dbName)):
                continue
            if (known := principal_type(kind)) is None:
                detail = f"{privilege} of the {kind} {principal} is not imported"
                batch.findings.append(Finding(UNKNOWN_PRINCIPAL, f"{grants.table} {row[0]}", detail))
                continue
            reference = HiveObjectRef(
                grants.kind, target.dbName, target.objectName, target.partValues, column, target.catName
            )
            info = PrivilegeGrantInfo(
                privilege, int32(created), grantor, principal_type(grantor_type), self._connection.flag(option)
            )
            arguments = (reference, principal, known, info, authorizer)
            key = f"{grants.table}.{grants.id}={row[0]}"
            batch.objects += present([self._connection.broken.built(key, HiveObjectPrivilege, *arguments)])

    def _targets(self, grants: _Grants, ids: set[int]) -> dict[int, HiveObjectRef]:
        """Returns the objects by the ids of databases, tables or partitions."""
        if grants.owner == "DB_ID" and ids:
            catalog = '"CTLG_NAME"' if self._connection.schema.has("DBS", "CTLG_NAME") else f"'{DEFAULT_CATALOG}'"
            condition, values = chosen('"DB_ID"', ids)
            query = f'SELECT "DB_ID", {catalog}, "NAME" FROM "DBS" WHERE {condition}'  # noqa: S608 - constants
            rows = self._connection.rows(query, *values)
            return {row[0]: HiveObjectRef(catName=row[1].lower(), dbName=row[2].lower()) for row in rows}
        known = self._tables.known
        if grants.owner == "TBL_ID":
            return {number: _table_ref(known[number].name) for number in ids if number in known}
        if grants.owner == "PART_ID" and ids:
            condition, bound = chosen('"PART_ID"', ids)
            query = f'SELECT "PART_ID", "TBL_ID" FROM "PARTITIONS" WHERE {condition}'  # noqa: S608 - constants
            owners = {number: table for number, table in self._connection.rows(query, *bound) if table in known}
            pairs = self._connection.key_values
            query = f'SELECT "PART_ID", {pairs} FROM "PARTITION_KEY_VALS" WHERE {condition} GROUP BY "PART_ID"'  # noqa: S608 - constants
            decode = self._connection.texts("PARTITION_KEY_VALS", "PART_KEY_VAL")
            return {
                number: _table_ref(known[owners[number]].name, as_list(values, decode))
                for number, values in self._connection.maps(query, *bound).items()
                if number in owners
            }
        return {}


def _table_ref(name: TableName, values: list[str] | None = None) -> HiveObjectRef:
    return HiveObjectRef(dbName=name.database, objectName=name.name, partValues=values, catName=name.catalog)


class TransactionReader:
    """Reads high-water marks and unfinished transactions, and the notification log."""

    def __init__(self, connection: SourceConnection, tables: TableReader) -> None:
        self._connection = connection
        self._tables = tables

    def state(self, selection: Selection) -> Iterator[Batch]:
        """Yields the state of transactions as one object."""
        if not self._connection.schema.has("TXNS"):
            return
        rows = self._connection.rows("""
            SELECT "TXN_ID", "TXN_STATE", "TXN_USER", "TXN_HOST" FROM "TXNS" WHERE "TXN_STATE" IN ('a', 'o')
            ORDER BY "TXN_ID"
        """)
        written = self._written(selection)
        unfinished = [
            OpenTransaction(
                number, OPEN if state == "o" else ABORTED, 0, user or "", host or "", written.get(number, [])
            )
            for number, state, user, host in rows
        ]
        findings = [
            Finding("open transaction", f"transaction {one.id} of {one.user}", "it is imported as aborted")
            for one in unfinished
            if one.state == OPEN
        ]
        yield Batch([TransactionState(self._last(), self._marks(selection), unfinished)], "all", findings)

    def _last(self) -> int:
        """Returns the last transaction id: of the counter before 4.0, else of the table, which keeps the newest."""
        if self._connection.schema.has("NEXT_TXN_ID"):
            rows = self._connection.rows('SELECT MAX("NTXN_NEXT") FROM "NEXT_TXN_ID"')
            return int(rows[0][0] or 1) - 1
        return int(self._connection.rows('SELECT MAX("TXN_ID") FROM "TXNS"')[0][0] or 0)

    def _marks(self, selection: Selection) -> dict[TableName, int]:
        """Returns the last write id of each table. Before 3.0, files carry transaction ids."""
        if self._connection.schema.has("NEXT_WRITE_ID"):
            rows = self._connection.rows('SELECT "NWI_DATABASE", "NWI_TABLE", "NWI_NEXT" FROM "NEXT_WRITE_ID"')
            marks = {_of_default_catalog(database, table): int(following) - 1 for database, table, following in rows}
        else:
            last = self._last()
            query = 'SELECT "TBL_ID" FROM "TABLE_PARAMS" WHERE "PARAM_KEY" = %s AND LOWER("PARAM_VALUE") = %s'
            ids = [row[0] for row in self._connection.rows(query, "transactional", "true")]
            known = self._tables.known
            marks = {known[number].name: last for number in ids if number in known}
        return {name: last for name, last in marks.items() if selection.has(name.parent)}

    def _written(self, selection: Selection) -> dict[int, list[tuple[TableName, int]]]:
        """Returns the write ids of transactions, by transaction."""
        if self._connection.schema.has("TXN_TO_WRITE_ID"):
            query = """
                SELECT w."T2W_TXNID", w."T2W_DATABASE", w."T2W_TABLE", w."T2W_WRITEID" FROM "TXN_TO_WRITE_ID" w
                JOIN "TXNS" t ON t."TXN_ID" = w."T2W_TXNID" WHERE t."TXN_STATE" IN ('a', 'o')
            """
        elif self._connection.schema.has("TXN_COMPONENTS"):
            query = """
                SELECT DISTINCT "TC_TXNID", "TC_DATABASE", "TC_TABLE", "TC_TXNID" FROM "TXN_COMPONENTS"
                WHERE "TC_TABLE" IS NOT NULL
            """
        else:
            return {}
        written: dict[int, list[tuple[TableName, int]]] = {}
        for transaction, database, table, write_id in self._connection.rows(query):
            name = _of_default_catalog(database, table)
            if selection.has(name.parent):
                written.setdefault(transaction, []).append((name, write_id))
        return written

    def open_transactions(self) -> list[int]:
        """Returns the ids of open transactions."""
        if not self._connection.schema.has("TXNS"):
            return []
        query = 'SELECT "TXN_ID" FROM "TXNS" WHERE "TXN_STATE" = %s ORDER BY "TXN_ID"'
        return [int(number) for (number,) in self._connection.rows(query, "o")]

    def log(self) -> LogState | None:
        """Returns the state of the notification log. A log without any event may have no listener."""
        if not self._connection.schema.has("NOTIFICATION_SEQUENCE"):
            return None
        rows = self._connection.rows('SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE" ORDER BY "NNI_ID" LIMIT 1')
        sequence = int(rows[0][0]) - 1 if rows else 0
        oldest, newest = (
            self._connection.rows(f'SELECT "EVENT_ID", "EVENT_TIME" FROM "NOTIFICATION_LOG" ORDER BY {order} LIMIT 1')  # noqa: S608 - constants
            for order in ('"EVENT_ID"', '"EVENT_ID" DESC')
        )
        if not sequence and not oldest:
            return None
        first, first_time = oldest[0] if oldest else (None, None)
        last = max([sequence, *(number for number, _ in newest)])
        return LogState(last, first, None if first_time is None else int32(first_time), sequence)

    def events(self, after: int, limit: int) -> list[NotificationEvent]:
        """Returns the next events."""
        has = self._connection.schema.has
        catalog = '"CAT_NAME"' if has("NOTIFICATION_LOG", "CAT_NAME") else f"'{DEFAULT_CATALOG}'"
        message_format = '"MESSAGE_FORMAT"' if has("NOTIFICATION_LOG", "MESSAGE_FORMAT") else "NULL"
        rows = self._connection.rows(
            f"""
            SELECT "EVENT_ID", "EVENT_TIME", "EVENT_TYPE", {catalog}, "DB_NAME", "TBL_NAME", "MESSAGE", {message_format}
            FROM "NOTIFICATION_LOG" WHERE "EVENT_ID" > %s ORDER BY "EVENT_ID" LIMIT %s
            """,  # noqa: S608 - constants
            after,
            limit,
        )
        events = [
            self._connection.broken.built(
                f"NOTIFICATION_LOG.EVENT_ID={number}",
                NotificationEvent,
                eventId=number,
                eventTime=int32(time),
                eventType=kind,
                catName=catalog_name,
                dbName=database,
                tableName=table,
                message=message,
                messageFormat=form,
            )
            for number, time, kind, catalog_name, database, table, message, form in rows
        ]
        found = present(events)
        return found if found or not rows else self.events(rows[-1][0], limit)


def _of_default_catalog(database: str, table: str) -> TableName:
    """Returns the table for a name in Hive's transaction tables, which do not know catalogs."""
    return TableName(DEFAULT_CATALOG, database.lower(), table.lower())
