"""Queries of guides and forums, beside those that public tools bring (`tests/interop/hive_schema/public_queries.py`).

Each exists in many forms in the documentation of Hive, Trino, Ranger and Spark, in notes of administrators and in
answers of forums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, text

from tests.bench.hive_sql.catalog import DATABASES
from tests.interop.hive_schema import public_queries

_NAMED = '"TBLS" t JOIN "DBS" d ON d."DB_ID" = t."DB_ID"'
_STORED = f'{_NAMED} JOIN "SDS" s ON s."SD_ID" = t."SD_ID"'
_ONE = """ WHERE d."NAME" = :database AND t."TBL_NAME" = :table"""
_CONSTRAINED = """
    SELECT d."NAME", t."TBL_NAME", k."CONSTRAINT_NAME", k."CONSTRAINT_TYPE", k."POSITION", c."COLUMN_NAME"
    FROM "KEY_CONSTRAINTS" k JOIN "TBLS" t ON t."TBL_ID" = k."PARENT_TBL_ID" JOIN "DBS" d ON d."DB_ID" = t."DB_ID"
         LEFT JOIN "COLUMNS_V2" c ON c."CD_ID" = k."PARENT_CD_ID" AND c."INTEGER_IDX" = k."PARENT_INTEGER_IDX"
"""
_FOREIGN = """
    SELECT k."CONSTRAINT_NAME", p."TBL_NAME", pc."COLUMN_NAME", c."TBL_NAME", cc."COLUMN_NAME", k."ENABLE_VALIDATE_RELY"
    FROM "KEY_CONSTRAINTS" k
         JOIN "TBLS" p ON p."TBL_ID" = k."PARENT_TBL_ID" JOIN "TBLS" c ON c."TBL_ID" = k."CHILD_TBL_ID"
         LEFT JOIN "COLUMNS_V2" pc ON pc."CD_ID" = k."PARENT_CD_ID" AND pc."INTEGER_IDX" = k."PARENT_INTEGER_IDX"
         LEFT JOIN "COLUMNS_V2" cc ON cc."CD_ID" = k."CHILD_CD_ID" AND cc."INTEGER_IDX" = k."CHILD_INTEGER_IDX"
"""
_SIZE = """coalesce(sum(q."PARAM_VALUE"::numeric), 0)"""

GUIDES = {
    "constraints of a table": f"{_CONSTRAINED}{_ONE}",
    "constraints of all tables": _CONSTRAINED,
    "constraints without their columns": 'SELECT * FROM "KEY_CONSTRAINTS"',
    "primary keys": f'{_CONSTRAINED} WHERE k."CONSTRAINT_TYPE" = 0',
    "foreign keys of a table": f"""{_FOREIGN} JOIN "DBS" d ON d."DB_ID" = c."DB_ID"
        WHERE d."NAME" = :database AND c."TBL_NAME" = :table""",
    "foreign keys of all tables": _FOREIGN,
    "names of all tables": f'SELECT d."NAME", t."TBL_NAME", t."TBL_TYPE" FROM {_NAMED} ORDER BY 1, 2',
    "number of tables of each database": f'SELECT d."NAME", count(*) FROM {_NAMED} GROUP BY 1',
    "columns of a table": f"""SELECT c."COLUMN_NAME", c."TYPE_NAME" FROM {_STORED}
        JOIN "COLUMNS_V2" c ON c."CD_ID" = s."CD_ID" {_ONE} ORDER BY c."INTEGER_IDX" """,
    "columns of all tables": f"""SELECT d."NAME", t."TBL_NAME", c."COLUMN_NAME", c."TYPE_NAME" FROM {_STORED}
        JOIN "COLUMNS_V2" c ON c."CD_ID" = s."CD_ID" """,
    "tables that have a column": f"""SELECT d."NAME", t."TBL_NAME" FROM {_STORED}
        JOIN "COLUMNS_V2" c ON c."CD_ID" = s."CD_ID" WHERE c."COLUMN_NAME" = 'only_77'""",
    "location of a table": f'SELECT s."LOCATION" FROM {_STORED}{_ONE}',
    "locations of all tables": f'SELECT d."NAME", t."TBL_NAME", s."LOCATION" FROM {_STORED}',
    "locations below a directory": """SELECT "SD_ID", "LOCATION" FROM "SDS" WHERE "LOCATION" LIKE '%/db_7.db/%'""",
    "table of a location": f'SELECT t."TBL_NAME" FROM {_STORED} WHERE s."LOCATION" = :location',
    "tables by input format": """SELECT "INPUT_FORMAT", count(*) FROM "TBLS" JOIN "SDS" USING ("SD_ID") GROUP BY 1""",
    "serde of a table": f"""SELECT z."SLIB", y."PARAM_KEY", y."PARAM_VALUE" FROM {_STORED}
        JOIN "SERDES" z ON z."SERDE_ID" = s."SERDE_ID" LEFT JOIN "SERDE_PARAMS" y ON y."SERDE_ID" = z."SERDE_ID"
        {_ONE}""",
    "parameters of a table": f"""SELECT q."PARAM_KEY", q."PARAM_VALUE" FROM {_NAMED}
        JOIN "TABLE_PARAMS" q ON q."TBL_ID" = t."TBL_ID" {_ONE}""",
    "size of each database": f"""SELECT d."NAME", {_SIZE} FROM {_NAMED}
        JOIN "TABLE_PARAMS" q ON q."TBL_ID" = t."TBL_ID" WHERE q."PARAM_KEY" = 'totalSize' GROUP BY 1""",
    "tables of Spark's formats": """SELECT t."TBL_NAME", q."PARAM_VALUE" FROM "TBLS" t
        JOIN "TABLE_PARAMS" q USING ("TBL_ID") WHERE q."PARAM_KEY" = 'spark.sql.sources.provider'""",
    "tables of an owner": """SELECT "TBL_NAME" FROM "TBLS" WHERE "OWNER" = 'nobody'""",
    "tables since a day": """SELECT "TBL_NAME" FROM "TBLS" WHERE "CREATE_TIME" > 4000000000""",
    "partitions of a table": f"""SELECT p."PART_NAME" FROM {_NAMED}
        JOIN "PARTITIONS" p ON p."TBL_ID" = t."TBL_ID" {_ONE}""",
    "locations of a table's partitions": f"""SELECT p."PART_NAME", s."LOCATION" FROM {_NAMED}
        JOIN "PARTITIONS" p ON p."TBL_ID" = t."TBL_ID" JOIN "SDS" s ON s."SD_ID" = p."SD_ID" {_ONE}""",
    "tables with most partitions": f"""SELECT d."NAME", t."TBL_NAME", count(*) FROM {_NAMED}
        JOIN "PARTITIONS" p ON p."TBL_ID" = t."TBL_ID" GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20""",
    "partition keys": f"""SELECT d."NAME", t."TBL_NAME", k."PKEY_NAME" FROM {_NAMED}
        JOIN "PARTITION_KEYS" k ON k."TBL_ID" = t."TBL_ID" """,
    "rows of a table's partitions": f"""SELECT p."PART_NAME", q."PARAM_VALUE" FROM {_NAMED}
        JOIN "PARTITIONS" p ON p."TBL_ID" = t."TBL_ID" JOIN "PARTITION_PARAMS" q ON q."PART_ID" = p."PART_ID"
        {_ONE} AND q."PARAM_KEY" = 'numRows'""",
    "statistics of a table": f"""SELECT x."COLUMN_NAME", x."NUM_DISTINCTS", x."NUM_NULLS" FROM {_NAMED}
        JOIN "TAB_COL_STATS" x ON x."TBL_ID" = t."TBL_ID" {_ONE}""",
    "grants on tables": f"""SELECT d."NAME", t."TBL_NAME", v."PRINCIPAL_NAME", v."TBL_PRIV" FROM {_NAMED}
        JOIN "TBL_PRIVS" v ON v."TBL_ID" = t."TBL_ID" """,
}
_TABLE = DATABASES + 1  # partitioned, with statistics, a grant and a foreign key


def queries(connection: Connection) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields the name of each query, and a function that runs it and returns its rows."""
    name, database = f"t_{_TABLE}", f"db_{_TABLE % DATABASES}"
    asked = public_queries.Asked((database,), name, ("ds=2026-01-01", "ds=x"), 1)
    yield from public_queries.queries(connection, asked)
    values = {"database": database, "table": name, "location": f"file:/warehouse/{database}.db/{name}"}
    for title, query in GUIDES.items():
        yield f"guides: {title}", _run(connection, query, {key: values[key] for key in values if f":{key}" in query})


def _run(connection: Connection, query: str, values: dict[str, str]) -> Callable[[], Any]:
    return lambda: [tuple(row) for row in connection.execute(text(query), values)]
