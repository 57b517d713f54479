"""Rows in a Hive database on MariaDB that no server of Hive writes, and that old sites have.

They are copies of other rows, so that they have the columns of every version.
"""

from __future__ import annotations

from tests.wire.importing.moving import opened

TEXT = "Größe ☃"
OFF = "SET foreign_key_checks = 0; "


def _copied(table: str, condition: str, **changes: str) -> str:
    """Returns statements that add a copy of a row. `changes`: SQL of columns that differ."""
    changed = ", ".join(f"{column} = {value}" for column, value in changes.items())
    return (
        f"{OFF}CREATE TEMPORARY TABLE copied SELECT * FROM {table} WHERE {condition} LIMIT 1; "
        f"UPDATE copied SET {changed}; INSERT INTO {table} SELECT * FROM copied;"
    )


def _partition(number: int, **changes: str) -> list[str]:
    """Returns statements that copy the partition `ds=2026-01/n=0` of `sales.big`, with its values."""
    condition = "PART_NAME = 'ds=2026-01/n=0'"
    values = f"""
        {OFF}INSERT INTO PARTITION_KEY_VALS SELECT {number}, PART_KEY_VAL, INTEGER_IDX FROM PARTITION_KEY_VALS
        WHERE PART_ID = (SELECT PART_ID FROM PARTITIONS WHERE {condition});
    """
    return [_copied("PARTITIONS", condition, PART_ID=str(number), **changes), values]


PLAIN = "TBL_NAME = 'plain_0'"
ODD_ROWS = [
    _copied("TBLS", PLAIN, TBL_ID="900001", TBL_NAME="'PLAIN_0'"),
    _copied("TBLS", PLAIN, TBL_ID="900002", TBL_NAME="'odd/name'"),
    _copied("TBLS", PLAIN, TBL_ID="900003", TBL_NAME="'lost'", DB_ID="999999"),
    *_partition(900011, PART_NAME="'DS=2026-01/N=0'"),
    *_partition(900013, PART_NAME="'ds=lost/n=0'", TBL_ID="999999"),
    _copied("TBL_PRIVS", "TBL_PRIV = 'SELECT'", TBL_GRANT_ID="900021", TBL_ID="999999"),
    _copied("TAB_COL_STATS", "CS_ID > 0", CS_ID="900031", TBL_ID="999999"),
    f"""
        INSERT INTO TABLE_PARAMS SELECT TBL_ID, 'utf8', CONVERT(x'{TEXT.encode().hex()}' USING binary)
        FROM TBLS WHERE {PLAIN};
    """,
    _copied("TBLS", PLAIN, TBL_ID="900004", TBL_NAME="NULL"),
    *_partition(900012, PART_NAME="NULL"),
    *_partition(900014, PART_NAME="'ds=none/n=0'", SD_ID="NULL"),
]
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


def missing_findings(target: str) -> dict[str, set[str]]:
    """Returns the expected findings that an import did not report, by kind."""
    with opened(target) as store, store.read() as work:
        (state,) = work.imports.all()
        found = {(one.kind, one.object) for one in work.imports.findings(state.id)}
    missing = {kind: {name for name in names if (kind, name) not in found} for kind, names in FOUND.items()}
    return {kind: names for kind, names in missing.items() if names}
