"""Counts the objects in a source's database, and the errors in it: one SELECT for each count."""

from __future__ import annotations

from collections import Counter
from typing import Final

from metastore.domain.names import is_object_name
from metastore.importing.sources.connections import SourceConnection
from metastore.importing.sources.source import Root, Survey
from metastore.importing.sources.texts import NUL
from metastore.storage.importing.imports import Finding

_COUNTED: Final = {
    "databases": "DBS",
    "tables": "TBLS",
    "partitions": "PARTITIONS",
    "columns with statistics of tables": "TAB_COL_STATS",
    "columns with statistics of partitions": "PART_COL_STATS",
    "functions": "FUNCS",
    "columns of constraints": "KEY_CONSTRAINTS",
    "indexes": "IDXS",
    "roles": "ROLES",
    "grants of roles": "ROLE_MAP",
    "privileges on databases": "DB_PRIVS",
    "privileges on tables": "TBL_PRIVS",
    "privileges on columns": "TBL_COL_PRIVS",
    "privileges on partitions": "PART_PRIVS",
    "privileges on columns of partitions": "PART_COL_PRIVS",
    "global privileges": "GLOBAL_PRIVS",
    "master keys": "MASTER_KEYS",
    "delegation tokens": "DELEGATION_TOKENS",
    "events": "NOTIFICATION_LOG",
}
_LEFT_OUT: Final = {
    "held locks": "HIVE_LOCKS",
    "requested compactions": "COMPACTION_QUEUE",
    "events of files (TXN_WRITE_NOTIFICATION_LOG)": "TXN_WRITE_NOTIFICATION_LOG",
    "sources of materialized views": "MV_TABLES_USED",
    "named types": "TYPES",
    "marks on partitions": "PARTITION_EVENTS",
    "resource plans": "WM_RESOURCEPLAN",
    "schemas of the registry": "I_SCHEMA",
    "runtime statistics": "RUNTIME_STATS",
    "data connectors": "DATACONNECTORS",
    "scheduled queries": "SCHEDULED_QUERIES",
    "stored procedures": "STORED_PROCS",
    "packages": "PACKAGES",
    "replication metrics": "REPLICATION_METRICS",
}
# Broken rows and odd values: the class, the objects that are counted, and the query of their number.
_QUESTIONS: Final = (
    ("orphan", "tables without a database", "TBLS", '"DBS"', '"DB_ID"'),
    ("orphan", "partitions without a table", "PARTITIONS", '"TBLS"', '"TBL_ID"'),
    ("orphan", "partitions without a storage descriptor", "PARTITIONS", '"SDS"', '"SD_ID"'),
    ("orphan", "statistics of tables that do not exist", "TAB_COL_STATS", '"TBLS"', '"TBL_ID"'),
    ("orphan", "statistics of partitions that do not exist", "PART_COL_STATS", '"PARTITIONS"', '"PART_ID"'),
    ("orphan", "privileges on tables that do not exist", "TBL_PRIVS", '"TBLS"', '"TBL_ID"'),
    ("orphan", "privileges on databases that do not exist", "DB_PRIVS", '"DBS"', '"DB_ID"'),
    ("orphan", "functions without a database", "FUNCS", '"DBS"', '"DB_ID"'),
)
_FREE_TEXTS: Final = (
    ("TABLE_PARAMS", "PARAM_VALUE"),
    ("PARTITION_PARAMS", "PARAM_VALUE"),
    ("SERDE_PARAMS", "PARAM_VALUE"),
    ("COLUMNS_V2", "COMMENT"),
    ("PARTITION_KEY_VALS", "PART_KEY_VAL"),
)
"""Columns that can contain any text of a client."""
_KNOWN_VERSIONS: Final = ("2.3.0", "3.0.0", "3.1.0", "4.0.0", "4.1.0", "4.2.0")


def survey(connection: SourceConnection) -> Survey:
    """Returns the survey of a source's database."""
    return Survey(
        _counts(connection, _COUNTED),
        _roots(connection),
        {kind: number for kind, number in _counts(connection, _LEFT_OUT).items() if number},
        [
            *_version(connection),
            *_broken(connection),
            *_misnamed(connection),
            *_odd(connection),
            *_with_nul(connection),
            *_transactions(connection),
        ],
    )


def _counts(connection: SourceConnection, tables: dict[str, str]) -> dict[str, int]:
    present = {kind: table for kind, table in tables.items() if connection.schema.has(table)}
    return {
        kind: int(connection.rows(f'SELECT COUNT(*) FROM "{table}"')[0][0])  # noqa: S608 - constants
        for kind, table in present.items()
    }


def _roots(connection: SourceConnection) -> list[Root]:
    """Returns scheme and authority of all locations, with the numbers of their objects."""
    objects_by_root: Counter[str] = Counter()
    queries = ['SELECT "DB_LOCATION_URI" AS l FROM "DBS"', 'SELECT "LOCATION" AS l FROM "SDS"']
    if connection.schema.has("SKEWED_COL_VALUE_LOC_MAP"):
        queries.append('SELECT "LOCATION" AS l FROM "SKEWED_COL_VALUE_LOC_MAP"')
    prefix = connection.prefix_of("l")
    for query in queries:
        grouped = f"SELECT {prefix}, COUNT(*) FROM ({query}) x WHERE l IS NOT NULL GROUP BY 1"  # noqa: S608 - constants
        objects_by_root.update({str(root): int(number) for root, number in connection.rows(grouped)})
    return [Root(root, number) for root, number in objects_by_root.most_common()]


def _version(connection: SourceConnection) -> list[Finding]:
    """Returns a finding if the source does not name a version of Hive that fits its columns."""
    if not connection.schema.has("VERSION"):
        return [Finding("version", "VERSION", "the table does not exist; the version was derived from the columns")]
    rows = connection.rows('SELECT "SCHEMA_VERSION" FROM "VERSION"')
    written = str(rows[0][0]) if rows else "none"
    by_columns = connection.schema.version
    if written in _KNOWN_VERSIONS and (written.startswith(by_columns) or by_columns == "4.1"):
        return []
    vendor = "possibly a vendor's schema. Check the comparison carefully"
    detail = f"the source calls itself {written}, and has the columns of {by_columns}: {vendor}"
    return [Finding("version", "VERSION", detail)]


def _broken(connection: SourceConnection) -> list[Finding]:
    findings = []
    for kind, what, table, owner, key in _QUESTIONS:
        if not connection.schema.has(table):
            continue
        query = f"""
            SELECT COUNT(*) FROM "{table}" c LEFT JOIN {owner} o ON o.{key} = c.{key} WHERE o.{key} IS NULL
        """  # noqa: S608 - constants
        if table == "PARTITIONS" and owner == '"SDS"':
            query = query.replace("WHERE", 'JOIN "TBLS" t ON t."TBL_ID" = c."TBL_ID" WHERE')
        if number := int(connection.rows(query)[0][0]):
            findings.append(Finding(kind, f"{number} {what}", "they are not imported"))
    return findings


def _misnamed(connection: SourceConnection) -> list[Finding]:
    """Returns objects without a name, with names that differ in case only, and texts in another encoding."""
    findings = []
    for what, table, column in (
        ("databases", "DBS", "NAME"),
        ("tables", "TBLS", "TBL_NAME"),
        ("partitions", "PARTITIONS", "PART_NAME"),
    ):
        if number := int(connection.rows(f'SELECT COUNT(*) FROM "{table}" WHERE "{column}" IS NULL')[0][0]):  # noqa: S608 - constants
            findings.append(Finding("orphan", f"{number} {what} without a name", "they are not imported"))
    twins = (
        ("databases", 'SELECT COUNT(*) FROM "DBS" GROUP BY LOWER("NAME"){catalog} HAVING COUNT(*) > 1'),
        ("tables", 'SELECT COUNT(*) FROM "TBLS" GROUP BY "DB_ID", LOWER("TBL_NAME") HAVING COUNT(*) > 1'),
        ("partitions", 'SELECT COUNT(*) FROM "PARTITIONS" GROUP BY "TBL_ID", LOWER("PART_NAME") HAVING COUNT(*) > 1'),
    )
    catalog = ', "CTLG_NAME"' if connection.schema.has("DBS", "CTLG_NAME") else ""
    for what, query in twins:
        if rows := connection.rows(query.format(catalog=catalog)):
            detail = "both are kept" if what == "partitions" else "clients reach only the oldest one, which is imported"
            findings.append(Finding("names that differ in case only", f"{len(rows)} names of {what}", detail))
    return findings + connection.texts_findings()


def _odd(connection: SourceConnection) -> list[Finding]:
    findings = []
    untimed = int(connection.rows('SELECT COUNT(*) FROM "TBLS" WHERE "CREATE_TIME" = 0')[0][0])
    if untimed:
        findings.append(Finding("creation time 0", f"{untimed} tables", "kept unchanged"))
    for (name,) in connection.rows('SELECT "TBL_NAME" FROM "TBLS" WHERE "TBL_NAME" IS NOT NULL'):
        if not is_object_name(name):
            findings.append(Finding("name that this server rejects", name, "imported unchanged"))
    if connection.schema.has("SKEWED_COL_NAMES"):
        skewed = int(connection.rows('SELECT COUNT(DISTINCT "SD_ID") FROM "SKEWED_COL_NAMES"')[0][0])
        if skewed:
            detail = "Hive 2.3 on PostgreSQL cannot read them through Thrift; the database can"
            findings.append(Finding("skew", f"{skewed} storage descriptors", detail))
    return findings


def _with_nul(connection: SourceConnection) -> list[Finding]:
    """Returns the columns of MySQL with NUL characters. PostgreSQL has none."""
    findings = []
    for table, column in _FREE_TEXTS:
        if (condition := connection.has_nul(f'"{column}"')) is None:
            return []
        query = f'SELECT COUNT(*) FROM "{table}" WHERE {condition}'  # noqa: S608 - constants
        if number := int(connection.rows(query)[0][0]):
            findings.append(Finding(NUL, f"{number} rows of {table}", "it is replaced by U+2400"))
    return findings


def _transactions(connection: SourceConnection) -> list[Finding]:
    if not connection.schema.has("TXNS"):
        return []
    findings = []
    for state, text in (("o", "open"), ("a", "aborted")):
        number = int(connection.rows('SELECT COUNT(*) FROM "TXNS" WHERE "TXN_STATE" = %s', state)[0][0])
        if number:
            detail = "imported as aborted: end them before the switch" if state == "o" else "imported with their writes"
            findings.append(Finding("transactions", f"{number} {text}", detail))
    query = 'SELECT COUNT(*) FROM "TABLE_PARAMS" WHERE "PARAM_KEY" = %s AND LOWER("PARAM_VALUE") = %s'
    acid = int(connection.rows(query, "transactional", "true")[0][0])
    if acid:
        findings.append(
            Finding("transactional tables", f"{acid} tables", "write ids and high-water marks are imported")
        )
    return findings
