"""Rows in a Hive database, on PostgreSQL or MariaDB, that no server of Hive writes, and that old sites have.

They are copies of other rows, so that they have the columns of every version.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.wire.importing.moving import opened

TEXT = "Größe ☃"
PREPARED = {
    "postgresql": "SET session_replication_role = replica;",
    "mysql": "SET foreign_key_checks = 0; SET sql_mode = 'ANSI_QUOTES';",
}
"""Statements that let a session write rows without their owners."""
BYTES = {"postgresql": f"'{TEXT}'", "mysql": f"CONVERT(x'{TEXT.encode().hex()}' USING binary)"}
"""A text as UTF-8, in a column that is latin1 on MariaDB."""


def statements(dialect: str) -> str:
    """Returns the statements that add the rows. `dialect`: postgresql or mysql."""
    return "\n".join([PREPARED[dialect], *_rows(dialect)])


def _rows(dialect: str) -> Iterator[str]:
    plain = "\"TBL_NAME\" = 'plain_0'"
    yield copied("TBLS", plain, TBL_ID="900001", TBL_NAME="'PLAIN_0'")
    yield copied("TBLS", plain, TBL_ID="900002", TBL_NAME="'odd/name'")
    yield copied("TBLS", plain, TBL_ID="900003", TBL_NAME="'lost'", DB_ID="999999")
    yield copied("TBLS", plain, TBL_ID="900005", TBL_NAME="'untimed'", CREATE_TIME="0")
    yield _partition(900011, PART_NAME="'DS=2026-01/N=0'")
    yield _partition(900013, PART_NAME="'ds=lost/n=0'", TBL_ID="999999")
    yield copied("TBL_PRIVS", "\"TBL_PRIV\" = 'SELECT'", TBL_GRANT_ID="900021", TBL_ID="999999")
    yield copied("TAB_COL_STATS", '"CS_ID" > 0', CS_ID="900031", TBL_ID="999999")
    yield _parameter("utf8", BYTES[dialect])
    yield _parameter("transactional", "'true'")
    if dialect == "mysql":
        yield _parameter("nul", "CONCAT('a', CHAR(0), 'b')")
    yield copied("TBLS", plain, TBL_ID="900004", TBL_NAME="NULL")
    yield _partition(900012, PART_NAME="NULL")
    yield _partition(900014, PART_NAME="'ds=none/n=0'", SD_ID="NULL")


def copied(table: str, condition: str, **changes: str) -> str:
    """Returns statements that add a copy of a row. `changes`: SQL of columns that differ."""
    changed = ", ".join(f'"{column}" = {value}' for column, value in changes.items())
    return (
        f'CREATE TEMPORARY TABLE copied AS SELECT * FROM "{table}" WHERE {condition} LIMIT 1; '
        f'UPDATE copied SET {changed}; INSERT INTO "{table}" SELECT * FROM copied; DROP TABLE copied;'
    )


def _partition(number: int, **changes: str) -> str:
    """Returns statements that copy the partition `ds=2026-01/n=0` of `sales.big`, with its values."""
    condition = "\"PART_NAME\" = 'ds=2026-01/n=0'"
    values = f"""
        INSERT INTO "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")
        SELECT {number}, "PART_KEY_VAL", "INTEGER_IDX" FROM "PARTITION_KEY_VALS"
        WHERE "PART_ID" = (SELECT "PART_ID" FROM "PARTITIONS" WHERE {condition});
    """
    return values + copied("PARTITIONS", condition, PART_ID=str(number), **changes)


def _parameter(key: str, value: str) -> str:
    """Returns a statement that adds a parameter to `sales.plain_0`."""
    return f"""
        INSERT INTO "TABLE_PARAMS" ("TBL_ID", "PARAM_KEY", "PARAM_VALUE")
        SELECT "TBL_ID", '{key}', {value} FROM "TBLS" WHERE "TBL_NAME" = 'plain_0';
    """


FOUND = {
    "orphan": {
        "lost",
        "ds=none/n=0",
        "partition 900012",
        "table 900004",
        "TBL_PRIVS 900021",
        "statistics of 1 columns, owner 999999",
    },
    "names that differ in case only": {"sales.PLAIN_0"},
    "object that this server's rules reject": {"sales.odd/name", "sales.big/DS=2026-01/N=0"},
}
"""What an import reports, by kind."""
PLANNED = {
    "creation time 0",
    "name that this server rejects",
    "names that differ in case only",
    "orphan",
    "skew",
    "transactional tables",
}
PLANNED_ON_MARIADB = {"latin1", "NUL character"}
"""The kinds of findings in a plan."""


def missing_findings(target: str) -> dict[str, set[str]]:
    """Returns the expected findings that an import did not report, by kind."""
    with opened(target) as store, store.read() as work:
        (state,) = work.imports.all()
        found = {(one.kind, one.object) for one in work.imports.findings(state.id)}
    missing = {kind: {name for name in names if (kind, name) not in found} for kind, names in FOUND.items()}
    return {kind: names for kind, names in missing.items() if names}
