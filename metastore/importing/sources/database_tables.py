"""Catalogs, databases and tables from a source's database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.importing.sources.broken import UNKNOWN_PRINCIPAL, present
from metastore.importing.sources.connections import SourceConnection, chosen, with_keys
from metastore.importing.sources.objects import Batch, Selection, type_of
from metastore.importing.sources.shapes import SD_COLUMNS, SD_JOIN, Described, ShapeReader
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import Catalog, Database, FieldSchema, PrincipalType, Table

_TABLES: Final = 500
ORPHAN: Final = "orphan"
DUPLICATE: Final = "names that differ in case only"


class SourceTable(NamedTuple):
    """The identity of a table in the source. `columns_id`: of its list of columns, for constraints."""

    id: int
    name: TableName
    columns_id: int | None


def principal_type(text: str | None) -> int | None:
    """Returns Hive's PrincipalType for its name; None for another text."""
    return PrincipalType._NAMES_TO_VALUES.get((text or "").strip().upper())  # noqa: SLF001 - generated


def owner_of(name: str | None, kind: str | None, what: str, findings: list[Finding]) -> tuple[str | None, int | None]:
    """Returns an owner and its PrincipalType. An owner of a kind that this server does not know becomes no owner: as a
    user, somebody else of this name would get its rights.
    """
    known = principal_type(kind)
    if not name or known is not None or not (kind or "").strip():
        return name, known
    findings.append(Finding(UNKNOWN_PRINCIPAL, what, f"its owner {name} is a {kind}: it is imported without an owner"))
    return None, None


def int32(number: int | None) -> int:
    """Returns the number as Hive's server sends it: cut to 32 bits, and 0 for null."""
    return 0 if number is None else number if -(2**31) <= number < 2**31 else (number + 2**31) % 2**32 - 2**31


class TableReader:
    """Reads databases and tables, and knows the tables by their ids."""

    def __init__(self, connection: SourceConnection, shapes: ShapeReader) -> None:
        self._connection = connection
        self._shapes = shapes
        name = f"""COALESCE(d."CTLG_NAME", '{DEFAULT_CATALOG}')"""
        self._catalog = name if connection.schema.has("DBS", "CTLG_NAME") else f"'{DEFAULT_CATALOG}'"
        self._known: dict[int, SourceTable] | None = None
        self._first: dict[TableName, int] = {}
        self._reachable: dict[int, TableName] = {}
        self._read: dict[TableName, int] = {}  # the ids of tables that `named` has read

    @property
    def known(self) -> dict[int, SourceTable]:
        """All tables whose database exists, by id."""
        if self._known is None:
            rows = self._connection.rows(f"""
                SELECT t."TBL_ID", {self._catalog}, d."NAME", t."TBL_NAME", s."CD_ID"
                FROM "TBLS" t JOIN "DBS" d ON d."DB_ID" = t."DB_ID" LEFT JOIN "SDS" s ON s."SD_ID" = t."SD_ID"
                WHERE t."TBL_NAME" <> '' AND d."NAME" <> ''
            """)  # noqa: S608 - constants
            self._known = {
                number: SourceTable(number, _table_name(catalog, database, name), columns)
                for number, catalog, database, name, columns in rows
            }
            self._first = {}
            for table in self._known.values():
                self._first[table.name] = min(table.id, self._first.get(table.name, table.id))
            self._reachable = {number: name for name, number in self._first.items()}
        return self._known

    @property
    def reachable(self) -> dict[int, TableName]:
        """The names of the tables that clients reach, by id: the oldest of each name."""
        return self._reachable if self.known else {}

    def id_of(self, name: TableName) -> int | None:
        """Returns the id of the table that this name refers to. Does not list the other tables."""
        if name not in self._read and self._known is not None:
            return self._first.get(name)
        if name not in self._read:
            self.named([name])
        return self._read.get(name)

    def names(self, database: DatabaseName) -> list[str]:
        """Lists the tables of a database, ascending."""
        rows = self._connection.rows(
            f"""
            SELECT t."TBL_NAME" FROM "TBLS" t JOIN "DBS" d ON d."DB_ID" = t."DB_ID"
            WHERE t."TBL_NAME" <> '' AND LOWER(d."NAME") IN %s AND LOWER({self._catalog}) = %s
            """,  # noqa: S608 - constants
            tuple(map(str.lower, self._connection.spellings([database.name]))),
            database.catalog,
        )
        return sorted({name.lower() for (name,) in rows})

    def catalogs(self, selection: Selection) -> Iterator[Batch]:
        """Yields the catalogs with databases of the selection."""
        has = self._connection.schema.has
        if not has("CTLGS"):
            return
        created = '"CREATE_TIME"' if has("CTLGS", "CREATE_TIME") else "0"
        query = f'SELECT "NAME", "DESC", "LOCATION_URI", {created} FROM "CTLGS" ORDER BY "NAME"'  # noqa: S608 - constants
        wanted = None if selection.databases is None else {name.catalog for name in selection.databases}
        catalogs = [
            Catalog(name.lower(), description, location, int32(created_at), {})
            for name, description, location, created_at in self._connection.rows(query)
            if wanted is None or name.lower() in wanted
        ]
        yield Batch(catalogs, "all")

    def databases(self, selection: Selection) -> Iterator[Batch]:
        """Yields the selected databases."""
        has = self._connection.schema.has
        created = 'd."CREATE_TIME"' if has("DBS", "CREATE_TIME") else "NULL"
        managed = 'd."DB_MANAGED_LOCATION_URI"' if has("DBS", "DB_MANAGED_LOCATION_URI") else "NULL"
        kind = 'd."TYPE"' if has("DBS", "TYPE") else "'NATIVE'"
        rows = self._connection.rows(f"""
            SELECT d."DB_ID", {self._catalog}, d."NAME", d."DESC", d."DB_LOCATION_URI", d."OWNER_NAME", d."OWNER_TYPE",
                {created}, {managed}, {kind}
            FROM "DBS" d ORDER BY d."DB_ID"
        """)  # noqa: S608 - constants
        parameters = self._parameters("DATABASE_PARAMS", "DB_ID", [row[0] for row in rows])
        databases, findings, seen = [], [], set[DatabaseName]()
        for number, catalog, name, description, location, owner, owner_type, created_at, managed_at, kind_of in rows:
            if not name:
                findings.append(Finding(ORPHAN, f"database {number}", "it has no name and is not imported"))
                continue
            identity = DatabaseName((catalog or DEFAULT_CATALOG).lower(), name.lower())
            if not selection.has(identity):
                continue
            if identity in seen:
                findings.append(Finding(DUPLICATE, name, f"the database {name} is not imported"))
                continue
            seen.add(identity)
            if kind_of == "REMOTE":
                findings.append(Finding("remote database", name, "its data connector is not imported"))
            owner, owner_kind = owner_of(owner, owner_type, str(identity), findings)
            databases += present(
                [
                    self._connection.broken.built(
                        f"DBS.DB_ID={number} ({identity})",
                        Database,
                        name=identity.name,
                        description=description,
                        locationUri=location,
                        parameters=parameters.get(number, {}),
                        ownerName=owner,
                        ownerType=owner_kind,
                        catalogName=identity.catalog,
                        createTime=created_at,
                        managedLocationUri=managed_at,
                    )
                ]
            )
        yield Batch(databases, "all", findings)

    def tables(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the tables of the selection by their ids. The cursor is the last id."""
        last = int(after or -1)
        while rows := self._rows('t."TBL_ID" > %s ORDER BY t."TBL_ID" LIMIT %s', last, _TABLES):
            last = rows[-1][0]
            batch = Batch([], str(last))
            wanted = [row for row in rows if self._is_wanted(row, selection, batch.findings)]
            batch.objects = present(self._structs(wanted, batch.findings))
            yield batch

    def named(self, names: Sequence[TableName]) -> dict[TableName, Table]:
        """Returns the named tables that exist: of those that differ in case, the oldest."""
        tables: dict[TableName, Table] = {}
        for start in range(0, len(names), _TABLES):
            some = names[start : start + _TABLES]
            rows: dict[TableName, tuple[Any, ...]] = {}
            condition = 'LOWER(t."TBL_NAME") IN %s AND LOWER(d."NAME") IN %s ORDER BY t."TBL_ID"'
            sets: tuple[set[str], set[str]] = {name.name for name in some}, {name.database for name in some}
            values = (tuple(map(str.lower, self._connection.spellings(one))) for one in sets)
            for row in self._rows(condition, *values):
                rows.setdefault(_table_name(*row[1:4]), row)
            wanted = {name: rows[name] for name in some if name in rows}
            for name in some:
                self._read.pop(name, None)
            self._read |= {name: row[0] for name, row in wanted.items()}
            structs = zip(wanted, self._structs(list(wanted.values()), []), strict=True)
            tables |= {name: table for name, table in structs if table is not None}
        return tables

    def _rows(self, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        has = self._connection.schema.has
        owner_type = 't."OWNER_TYPE"' if has("TBLS", "OWNER_TYPE") else "NULL"
        write_id = 't."WRITE_ID"' if has("TBLS", "WRITE_ID") else "NULL"
        rewrite = 't."IS_REWRITE_ENABLED"' if has("TBLS", "IS_REWRITE_ENABLED") else "NULL"
        return self._connection.rows(
            f"""
            SELECT t."TBL_ID", {self._catalog}, d."NAME", t."TBL_NAME", t."TBL_TYPE", t."OWNER", {owner_type},
                t."CREATE_TIME", t."LAST_ACCESS_TIME", t."RETENTION", t."VIEW_ORIGINAL_TEXT", t."VIEW_EXPANDED_TEXT",
                {rewrite}, {write_id}, {SD_COLUMNS}
            FROM "TBLS" t LEFT JOIN "DBS" d ON d."DB_ID" = t."DB_ID" {SD_JOIN.format(owner="t")} WHERE {condition}
            """,  # noqa: S608 - constants
            *values,
        )

    def _is_wanted(self, row: Sequence[Any], selection: Selection, findings: list[Finding]) -> bool:
        number, catalog, database, name = row[:4]
        if not database or not name:
            lacks = "name" if database else "database"
            findings.append(Finding(ORPHAN, name or f"table {number}", f"it has no {lacks} and is not imported"))
            return False
        if not selection.has(DatabaseName(catalog.lower(), database.lower())):
            return False
        if number not in self.reachable:
            text = f"{database}.{name}"
            findings.append(Finding(DUPLICATE, text, "the name is taken by an older table; it is not imported"))
            return False
        return True

    def _structs(self, rows: Sequence[tuple[Any, ...]], findings: list[Finding]) -> list[Table | None]:
        ids = [row[0] for row in rows]
        parameters = self._parameters("TABLE_PARAMS", "TBL_ID", ids)
        keys = self._keys(ids)
        described = self._shapes.read([row[14:] for row in rows])
        return [
            self._built(row, one, parameters.get(row[0], {}), keys.get(row[0], []), findings)
            for row, one in zip(rows, described, strict=True)
        ]

    def _built(self, row: tuple[Any, ...], one: Described, *others: Any) -> Table | None:
        key = f"TBLS.TBL_ID={row[0]} ({row[2]}.{row[3]})"
        if one.shape.problem:
            self._connection.broken.add(key, one.shape.problem)
            return None
        return self._connection.broken.built(key, self._struct, row, one.whole(), *others)

    def _struct(
        self,
        row: tuple[Any, ...],
        sd: Any,
        parameters: dict[str, str],
        keys: list[FieldSchema],
        findings: list[Finding],
    ) -> Table:
        _, catalog, database, name, kind, owner, owner_type, created, accessed, retention, original, expanded = row[:12]
        rewrite, write_id = row[12:14]
        names = _table_name(catalog, database, name)
        owner, owner_kind = owner_of(owner, owner_type, str(names), findings)
        return Table(
            tableName=names.name,
            dbName=names.database,
            catName=names.catalog,
            owner=owner,
            ownerType=owner_kind,
            createTime=int32(created),
            lastAccessTime=int32(accessed),
            retention=int32(retention),
            sd=sd,
            partitionKeys=keys,
            parameters=parameters,
            viewOriginalText=original,
            viewExpandedText=expanded,
            tableType=kind or type_of(parameters, original),
            rewriteEnabled=None if rewrite is None else self._connection.flag(rewrite),
            temporary=None,
            writeId=write_id,
        )

    def _keys(self, ids: Sequence[int]) -> dict[int, list[FieldSchema]]:
        keys: dict[int, list[FieldSchema]] = {}
        condition, values = chosen('"TBL_ID"', ids)
        query = f"""
            SELECT "TBL_ID", "PKEY_NAME", "PKEY_TYPE", "PKEY_COMMENT" FROM "PARTITION_KEYS" WHERE {condition}
            ORDER BY "TBL_ID", "INTEGER_IDX"
        """  # noqa: S608 - constants
        for number, name, kind, text in self._connection.rows(query, *values):
            keys.setdefault(number, []).append(FieldSchema(name, kind, text))
        return keys

    def _parameters(self, table: str, owner: str, ids: Sequence[int]) -> dict[int, dict[str, str]]:
        pairs = self._connection.parameters
        condition, values = chosen(f'"{owner}"', ids)
        condition = with_keys(condition)
        query = f'SELECT "{owner}", {pairs} FROM "{table}" WHERE {condition} GROUP BY "{owner}"'  # noqa: S608 - constants
        return {
            number: self._connection.map_of(table, texts)
            for number, texts in self._connection.maps(query, *values).items()
        }


def _table_name(catalog: str, database: str, name: str) -> TableName:
    return TableName(catalog.lower(), database.lower(), name.lower())
