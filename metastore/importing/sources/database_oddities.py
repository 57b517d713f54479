"""Values of a source's database that an import leaves out or changes, with the keys of their rows."""

from __future__ import annotations

from typing import Final

from metastore.importing.sources.connections import SourceConnection
from metastore.storage.importing.imports import Finding

NO_VALUE: Final = "parameter without a value"
OVERFLOW: Final = "number beyond 32 bits"
CONTRADICTION: Final = "names that contradict each other"
_MOST: Final = 1_000  # findings of one query
_PARAMETERS: Final = {
    "DATABASE_PARAMS": "DB_ID",
    "TABLE_PARAMS": "TBL_ID",
    "PARTITION_PARAMS": "PART_ID",
    "SERDE_PARAMS": "SERDE_ID",
    "SD_PARAMS": "SD_ID",
    "INDEX_PARAMS": "INDEX_ID",
}
_TIMES: Final = (
    ("TBLS", "TBL_ID", ("CREATE_TIME", "LAST_ACCESS_TIME", "RETENTION")),
    ("PARTITIONS", "PART_ID", ("CREATE_TIME", "LAST_ACCESS_TIME")),
    ("DBS", "DB_ID", ("CREATE_TIME",)),
    ("FUNCS", "FUNC_ID", ("CREATE_TIME",)),
    ("ROLES", "ROLE_ID", ("CREATE_TIME",)),
    ("ROLE_MAP", "ROLE_GRANT_ID", ("ADD_TIME",)),
    ("GLOBAL_PRIVS", "USER_GRANT_ID", ("CREATE_TIME",)),
    ("DB_PRIVS", "DB_GRANT_ID", ("CREATE_TIME",)),
    ("TBL_PRIVS", "TBL_GRANT_ID", ("CREATE_TIME",)),
    ("TBL_COL_PRIVS", "TBL_COLUMN_GRANT_ID", ("CREATE_TIME",)),
    ("PART_PRIVS", "PART_GRANT_ID", ("CREATE_TIME",)),
    ("PART_COL_PRIVS", "PART_COLUMN_GRANT_ID", ("CREATE_TIME",)),
)


def oddities(connection: SourceConnection) -> list[Finding]:
    """Returns parameters without a value, numbers that are too large, and statistics with the name of another table."""
    return [*_without_value(connection), *_overflows(connection), *_contradictions(connection)]


def _without_value(connection: SourceConnection) -> list[Finding]:
    findings = []
    for table, owner in _PARAMETERS.items():
        if not connection.schema.has(table):
            continue
        query = f"""
            SELECT "{owner}", "PARAM_KEY" FROM "{table}" WHERE "PARAM_VALUE" IS NULL OR "PARAM_KEY" IS NULL
            ORDER BY 1, 2 LIMIT %s
        """  # noqa: S608 - constants
        detail = "Hive returns no such parameter; it is not imported"
        findings += [
            Finding(NO_VALUE, f"{table}.{owner}={number} {key}", detail)
            for number, key in connection.rows(query, _MOST)
        ]
    return findings


def _overflows(connection: SourceConnection) -> list[Finding]:
    findings = []
    for table, key, columns in _TIMES:
        for column in columns:
            if not connection.schema.has(table, column):
                continue
            query = f"""
                SELECT "{key}", "{column}" FROM "{table}"
                WHERE "{column}" > 2147483647 OR "{column}" < -2147483648 ORDER BY 1 LIMIT %s
            """  # noqa: S608 - constants
            detail = "it is cut to 32 bits, as Hive's server does"
            findings += [
                Finding(OVERFLOW, f"{table}.{key}={number} {column}", f"{value}: {detail}")
                for number, value in connection.rows(query, _MOST)
            ]
    return findings


def _contradictions(connection: SourceConnection) -> list[Finding]:
    """Returns statistics whose names are not those of their table. Schemas since 4.1 have no such names."""
    if not connection.schema.has("TAB_COL_STATS", "TABLE_NAME"):
        return []
    query = """
        SELECT c."CS_ID", c."DB_NAME", c."TABLE_NAME", d."NAME", t."TBL_NAME" FROM "TAB_COL_STATS" c
        JOIN "TBLS" t ON t."TBL_ID" = c."TBL_ID" JOIN "DBS" d ON d."DB_ID" = t."DB_ID"
        WHERE LOWER(c."TABLE_NAME") <> LOWER(t."TBL_NAME") OR LOWER(c."DB_NAME") <> LOWER(d."NAME")
        ORDER BY 1 LIMIT %s
    """
    return [
        Finding(
            CONTRADICTION,
            f"TAB_COL_STATS.CS_ID={number}",
            f"it names {database}.{table} and belongs to {of_database}.{of_table}: it is imported for that table",
        )
        for number, database, table, of_database, of_table in connection.rows(query, _MOST)
    ]
