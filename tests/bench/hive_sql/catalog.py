"""Fills Hive's schema 3.1 with many tables: partitioned ones, views of Hive and of Presto, constraints, statistics and
grants. Each table has twelve columns, of which one has a name of its own, and six parameters.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from tests.wire.builders import PARQUET

DATABASES = 20
PRESTO_VIEW = "/* Presto View */"
_VIEW = "n / 20 % 10 = 9"
_PRESTO = "n / 20 % 30 = 9"
_PARTITIONED = f"n % 2 = 1 AND NOT {_VIEW}"
_WHOLE = f"generate_series(0, :tables - 1) n WHERE NOT {_VIEW}"
_PARTED = f"generate_series(0, :tables - 1) n, generate_series(1, 5) day WHERE {_PARTITIONED}"
_PART_ID = "5 * n + day"
# One sequence numbers the descriptors of tables and partitions, so that they alternate.
_TABLE_SD = "10 * n + 1"
_PART_SD = f"{_TABLE_SD} + day"
_TABLES = "generate_series(0, :tables - 1) n"
_QUERY = "'SELECT c0, sum(c2) FROM db_1.t_1 WHERE c3 > ' || n || ' GROUP BY c0 -- ' || repeat('x', 200)"

STATEMENTS = (
    """INSERT INTO "DBS" SELECT n + 1, 'Tables of a department', 'file:/warehouse/db_' || n || '.db', 'db_' || n, 'ann',
           'USER', 'hive' FROM generate_series(0, 19) n""",
    """INSERT INTO "DATABASE_PARAMS" SELECT n + 1, 'team', 'x' FROM generate_series(0, 19) n""",
    """INSERT INTO "CDS" SELECT n + 1 FROM generate_series(0, :tables - 1) n""",
    """INSERT INTO "COLUMNS_V2" ("CD_ID", "COMMENT", "COLUMN_NAME", "TYPE_NAME", "INTEGER_IDX")
       SELECT n + 1, CASE WHEN i % 2 = 0 THEN 'what c' || i || ' is about' END,
              CASE i WHEN 11 THEN 'only_' || n ELSE 'c' || i END,
              CASE WHEN i = 11 THEN 'decimal(18,2)' WHEN i % 3 = 0 THEN 'bigint' ELSE 'string' END, i
       FROM generate_series(0, :tables - 1) n, generate_series(0, 11) i""",
    f"""INSERT INTO "SERDES" ("SERDE_ID", "SLIB") SELECT {_TABLE_SD}, '{PARQUET[2]}' FROM {_TABLES}
        UNION ALL SELECT {_PART_SD}, '{PARQUET[2]}' FROM {_PARTED}""",
    f"""INSERT INTO "SERDE_PARAMS" SELECT {_TABLE_SD}, 'serialization.format', '1' FROM {_TABLES}
        UNION ALL SELECT {_PART_SD}, 'serialization.format', '1' FROM {_PARTED}""",
    f"""INSERT INTO "SDS" ("SD_ID", "INPUT_FORMAT", "IS_COMPRESSED", "LOCATION", "NUM_BUCKETS", "OUTPUT_FORMAT",
                           "SERDE_ID", "CD_ID", "IS_STOREDASSUBDIRECTORIES")
        SELECT {_TABLE_SD}, '{PARQUET[0]}', false,
               CASE WHEN NOT {_VIEW} THEN 'file:/warehouse/db_' || n % 20 || '.db/t_' || n END,
               -1, '{PARQUET[1]}', {_TABLE_SD}, n + 1, false
        FROM generate_series(0, :tables - 1) n
        UNION ALL SELECT {_PART_SD}, '{PARQUET[0]}', false,
               'file:/warehouse/db_' || n % 20 || '.db/t_' || n || '/ds=2026-01-0' || day, -1, '{PARQUET[1]}',
               {_PART_SD}, n + 1, false FROM {_PARTED}""",
    f"""INSERT INTO "TBLS" ("TBL_ID", "CREATE_TIME", "DB_ID", "LAST_ACCESS_TIME", "OWNER", "OWNER_TYPE", "RETENTION",
                            "SD_ID", "TBL_NAME", "TBL_TYPE", "VIEW_EXPANDED_TEXT", "VIEW_ORIGINAL_TEXT",
                            "IS_REWRITE_ENABLED")
        SELECT n + 1, 1700000000 + n, n % 20 + 1, 0, 'ann', 'USER', 0, {_TABLE_SD}, 't_' || n,
               CASE WHEN {_VIEW} THEN 'VIRTUAL_VIEW' ELSE 'MANAGED_TABLE' END,
               CASE WHEN {_PRESTO} THEN '{PRESTO_VIEW}' WHEN {_VIEW} THEN {_QUERY} END,
               CASE WHEN {_VIEW} THEN {_QUERY} END, false
        FROM generate_series(0, :tables - 1) n""",
    """INSERT INTO "TABLE_PARAMS"
       SELECT n + 1, p.key, p.value FROM generate_series(0, :tables - 1) n, LATERAL (VALUES
           ('comment', 'the table ' || n), ('numFiles', (n % 300)::text), ('numRows', (n * 1000)::text),
           ('totalSize', (n * 100000::bigint)::text), ('transient_lastDdlTime', (1700000000 + n)::text),
           ('spark.sql.sources.provider', 'parquet')) p(key, value)""",
    f"""INSERT INTO "PARTITION_KEYS" SELECT n + 1, NULL, 'ds', 'string', 0
        FROM generate_series(0, :tables - 1) n WHERE {_PARTITIONED}""",
    f"""INSERT INTO "PARTITIONS" SELECT {_PART_ID}, 1700000000, 0, 'ds=2026-01-0' || day, {_PART_SD}, n + 1
        FROM {_PARTED}""",
    f"""INSERT INTO "PARTITION_KEY_VALS" SELECT {_PART_ID}, '2026-01-0' || day, 0 FROM {_PARTED}""",
    f"""INSERT INTO "PARTITION_PARAMS" SELECT {_PART_ID}, 'numRows', '7' FROM {_PARTED}""",
    f"""INSERT INTO "KEY_CONSTRAINTS" ("PARENT_CD_ID", "PARENT_INTEGER_IDX", "PARENT_TBL_ID", "POSITION",
                                       "CONSTRAINT_NAME", "CONSTRAINT_TYPE", "ENABLE_VALIDATE_RELY")
        SELECT n + 1, 0, n + 1, 1, 'pk_' || n, 0, 1 FROM {_WHOLE}
        UNION ALL SELECT n + 1, 2, n + 1, 1, 'nn_' || n, 3, 7 FROM {_WHOLE}""",
    f"""INSERT INTO "KEY_CONSTRAINTS"
        SELECT n + 1, 3, n + 1, n - 19, 0, n - 19, 1, 'fk_' || n, 1, 0, 0, 0
        FROM {_WHOLE} AND n >= 20 AND (n / 20 - 1) % 10 <> 9""",
    """INSERT INTO "TAB_COL_STATS" ("CS_ID", "CAT_NAME", "DB_NAME", "TABLE_NAME", "COLUMN_NAME", "COLUMN_TYPE",
                                   "TBL_ID", "LONG_LOW_VALUE", "LONG_HIGH_VALUE", "NUM_NULLS", "NUM_DISTINCTS",
                                   "LAST_ANALYZED")
       SELECT 12 * n + i + 1, 'hive', 'db_' || n % 20, 't_' || n, 'c' || i, 'bigint', n + 1, -5, n, 0, 7, 1700000000
       FROM generate_series(1, :tables - 1, 20) n, generate_series(0, 3, 3) i""",
    """INSERT INTO "TBL_PRIVS" SELECT n + 1, 1700000000, 0, 'ann', 'USER', 'bob', 'USER', 'SELECT', n + 1, 'SQL'
       FROM generate_series(1, :tables - 1, 20) n""",
)


def fill(connection: Connection, tables: int) -> None:
    """Inserts 20 databases with this many tables: each tenth is a view, each second has five partitions."""
    for statement in STATEMENTS:
        connection.execute(text(statement), {"tables": tables} if ":tables" in statement else {})
