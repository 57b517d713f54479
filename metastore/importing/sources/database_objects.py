"""Functions, constraints and indexes from a source's database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.importing.sources.broken import present
from metastore.importing.sources.connections import SourceConnection, chosen, with_keys
from metastore.importing.sources.database_tables import ORPHAN, TableReader, int32, owner_of
from metastore.importing.sources.objects import Batch, Selection, SourceConstraint
from metastore.importing.sources.shapes import SD_COLUMNS, SD_JOIN, ShapeReader
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import (
    Function,
    Index,
    ResourceUri,
    SQLCheckConstraint,
    SQLDefaultConstraint,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    SQLUniqueConstraint,
)

_PRIMARY, _FOREIGN, _UNIQUE, _NOT_NULL, _DEFAULT, _CHECK = range(6)  # Hive's MConstraint


class ObjectReader:
    """Reads objects of databases and tables. Each kind is one batch, because there are few of them."""

    def __init__(self, connection: SourceConnection, shapes: ShapeReader, tables: TableReader) -> None:
        self._connection = connection
        self._shapes = shapes
        self._tables = tables
        self._primary: dict[tuple[int, ...], str] = {}  # names of primary keys, by table and position of the column

    def functions(self, selection: Selection) -> Iterator[Batch]:
        """Yields the functions."""
        if not self._connection.schema.has("FUNCS"):
            return
        catalog = 'd."CTLG_NAME"' if self._connection.schema.has("DBS", "CTLG_NAME") else f"'{DEFAULT_CATALOG}'"
        rows = self._connection.rows(f"""
            SELECT f."FUNC_ID", {catalog}, d."NAME", f."FUNC_NAME", f."CLASS_NAME", f."OWNER_NAME", f."OWNER_TYPE",
                f."CREATE_TIME", f."FUNC_TYPE"
            FROM "FUNCS" f LEFT JOIN "DBS" d ON d."DB_ID" = f."DB_ID" ORDER BY f."FUNC_ID"
        """)  # noqa: S608 - constants
        resources: dict[int, list[ResourceUri]] = {}
        query = 'SELECT "FUNC_ID", "RESOURCE_TYPE", "RESOURCE_URI" FROM "FUNC_RU" ORDER BY "FUNC_ID", "INTEGER_IDX"'
        for number, kind, uri in self._connection.rows(query):
            resources.setdefault(number, []).append(ResourceUri(kind, uri))
        batch = Batch([], "all")
        for number, catalog_name, database, name, class_name, owner, owner_type, created, kind in rows:
            if database is None:
                batch.findings.append(Finding(ORPHAN, name, "the function has no database and is not imported"))
            elif selection.has(DatabaseName((catalog_name or DEFAULT_CATALOG).lower(), database.lower())):
                owner, owner_kind = owner_of(owner, owner_type, f"{database}.{name}", batch.findings)
                function = self._connection.broken.built(
                    f"FUNCS.FUNC_ID={number} ({database}.{name})",
                    Function,
                    functionName=name and name.lower(),
                    dbName=database.lower(),
                    className=class_name,
                    ownerName=owner,
                    ownerType=owner_kind,
                    createTime=int32(created),
                    functionType=kind,
                    resourceUris=resources.get(number, []),
                    catName=(catalog_name or DEFAULT_CATALOG).lower(),
                )
                batch.objects += present([function])
        yield batch

    def constraints(self, selection: Selection) -> Iterator[Batch]:
        """Yields the constraints, a column each."""
        if not self._connection.schema.has("KEY_CONSTRAINTS"):
            return
        default = '"DEFAULT_VALUE"' if self._connection.schema.has("KEY_CONSTRAINTS", "DEFAULT_VALUE") else "NULL"
        rows = self._connection.rows(f"""
            SELECT "CONSTRAINT_TYPE", "CONSTRAINT_NAME", "POSITION", "PARENT_TBL_ID", "PARENT_CD_ID",
                "PARENT_INTEGER_IDX", "CHILD_TBL_ID", "CHILD_CD_ID", "CHILD_INTEGER_IDX", "UPDATE_RULE", "DELETE_RULE",
                "ENABLE_VALIDATE_RELY", {default}
            FROM "KEY_CONSTRAINTS" ORDER BY "PARENT_TBL_ID", "CONSTRAINT_NAME", "POSITION"
        """)  # noqa: S608 - constants
        self._shapes.load_columns({number for row in rows for number in (row[4], row[7]) if number is not None})
        self._primary = {tuple(row[3:6:2]): row[1] for row in rows if row[0] == _PRIMARY}
        batch = Batch([], "all")
        positions: dict[tuple[int, str], int] = {}
        for row in rows:
            kind, name, _, parent, *_ = row
            owner = row[6] if kind == _FOREIGN else parent
            position = positions[owner, name] = positions.get((owner, name), 0) + 1
            if owner not in self._tables.known or parent not in self._tables.known:
                batch.findings.append(Finding(ORPHAN, name, "the constraint has no table and is not imported"))
                continue
            table = self._tables.known[owner].name
            if selection.has(table.parent):
                of_parent = self._tables.known[parent].name
                key = f"KEY_CONSTRAINTS.PARENT_TBL_ID={parent} ({name})"
                struct = self._connection.broken.built(key, self._constraint, row, table, of_parent)
                if struct is not None:
                    owner_of_key = of_parent if kind == _FOREIGN else None
                    batch.objects.append(SourceConstraint(table, position, struct, owner_of_key))
        yield batch

    def _constraint(self, row: tuple[Any, ...], table: TableName, parent: TableName) -> Any:
        kind, name, position = row[:3]
        on_update, on_delete, enable_validate_rely, default = row[9:13]
        bits = int(enable_validate_rely or 0)
        flags: dict[str, Any] = {
            "enable_cstr": bool(bits & 4),
            "validate_cstr": bool(bits & 2),
            "rely_cstr": bool(bits & 1),
        }
        own = self._column(row[3], row[4], row[5])
        names: dict[str, Any] = {
            "table_db": table.database,
            "table_name": table.name,
            "column_name": own,
            "catName": table.catalog,
        }
        makers: Mapping[int, Callable[[], Any]] = {
            _PRIMARY: lambda: SQLPrimaryKey(key_seq=position, pk_name=name, **names, **flags),
            _UNIQUE: lambda: SQLUniqueConstraint(key_seq=position, uk_name=name, **names, **flags),
            _NOT_NULL: lambda: SQLNotNullConstraint(nn_name=name, **names, **flags),
            _DEFAULT: lambda: SQLDefaultConstraint(dc_name=name, default_value=default, **names, **flags),
            _CHECK: lambda: SQLCheckConstraint(dc_name=name, check_expression=default, **names, **flags),
            _FOREIGN: lambda: SQLForeignKey(
                pktable_db=parent.database,
                pktable_name=parent.name,
                pkcolumn_name=own,
                fktable_db=table.database,
                fktable_name=table.name,
                fkcolumn_name=self._column(row[6], row[7], row[8]),
                key_seq=position,
                update_rule=on_update,
                delete_rule=on_delete,
                fk_name=name,
                pk_name=self._primary.get((row[3], row[5])),
                catName=table.catalog,
                **flags,
            ),
        }
        return makers[kind]()

    def _column(self, table_id: int, columns_id: int | None, index: int | None) -> str | None:
        """Returns the name of a column. Hive counts partition columns on their own, without a list of columns."""
        if index is None:
            return None
        if columns_id is not None:
            columns = self._shapes.columns(columns_id)
            return columns[index].name if index < len(columns) else None
        query = 'SELECT "PKEY_NAME" FROM "PARTITION_KEYS" WHERE "TBL_ID" = %s AND "INTEGER_IDX" = %s'
        rows = self._connection.rows(query, table_id, index)
        return str(rows[0][0]) if rows else None

    def indexes(self, selection: Selection) -> Iterator[Batch]:
        """Yields the indexes of Hive 2."""
        if not self._connection.schema.has("IDXS"):
            return
        rows = self._connection.rows(f"""
            SELECT i."INDEX_ID", i."INDEX_NAME", i."ORIG_TBL_ID", i."INDEX_TBL_ID", i."INDEX_HANDLER_CLASS",
                i."CREATE_TIME", i."LAST_ACCESS_TIME", i."DEFERRED_REBUILD", {SD_COLUMNS}
            FROM "IDXS" i {SD_JOIN.format(owner="i")} ORDER BY i."INDEX_ID"
        """)  # noqa: S608 - constants
        parameters: dict[int, dict[str, str]] = {}
        if rows:
            pairs = self._connection.parameters
            condition, bound = chosen('"INDEX_ID"', [row[0] for row in rows])
            query = f'SELECT "INDEX_ID", {pairs} FROM "INDEX_PARAMS" WHERE {with_keys(condition)} GROUP BY "INDEX_ID"'  # noqa: S608 - constants
            for number, values in self._connection.maps(query, *bound).items():
                parameters[number] = self._connection.map_of("INDEX_PARAMS", values)
        described = self._shapes.read([row[8:] for row in rows])
        batch = Batch([], "all")
        known = self._tables.known
        for row, one in zip(rows, described, strict=True):
            number, name, table_id, index_table_id, handler, created, accessed, deferred = row[:8]
            if table_id not in known or index_table_id not in known:
                batch.findings.append(Finding(ORPHAN, name, "the index has no table and is not imported"))
                continue
            table = known[table_id].name
            if not selection.has(table.parent):
                continue
            index = self._connection.broken.built(
                f"IDXS.INDEX_ID={number} ({table} {name})",
                Index,
                indexName=name and name.lower(),
                indexHandlerClass=handler,
                dbName=table.database,
                origTableName=table.name,
                createTime=int32(created),
                lastAccessTime=int32(accessed),
                indexTableName=known[index_table_id].name.name,
                sd=one.whole(),
                parameters=parameters.get(number, {}),
                deferredRebuild=self._connection.flag(deferred),
            )
            batch.objects += present([index])
        yield batch
