"""The widths of the columns of Hive's schema, and how they differ between versions and databases."""

from __future__ import annotations

from typing import Final

_WIDTHS: Final = {
    "DATABASE_PARAMS.PARAM_KEY": 180,
    "DATABASE_PARAMS.PARAM_VALUE": 4000,
    "DBS.DESC": 4000,
    "DBS.DB_LOCATION_URI": 4000,
    "DBS.NAME": 128,
    "COLUMNS_V2.COMMENT": 4000,
    "COLUMNS_V2.COLUMN_NAME": 767,
    "SERDES.NAME": 128,
    "SDS.LOCATION": 4000,
    "SKEWED_STRING_LIST_VALUES.STRING_LIST_VALUE": 256,
    "SKEWED_COL_VALUE_LOC_MAP.LOCATION": 4000,
    "TBLS.OWNER": 767,
    "TBLS.TBL_NAME": 256,
    "TABLE_PARAMS.PARAM_KEY": 256,
    "PARTITION_KEYS.PKEY_COMMENT": 4000,
    "PARTITION_KEYS.PKEY_NAME": 128,
    "PARTITIONS.PART_NAME": 767,
    "PARTITION_KEY_VALS.PART_KEY_VAL": 256,
    "PARTITION_PARAMS.PARAM_KEY": 256,
    "PARTITION_PARAMS.PARAM_VALUE": 4000,
    "FUNCS.FUNC_NAME": 128,
    "TAB_COL_STATS.COLUMN_TYPE": 128,
    "PART_COL_STATS.COLUMN_TYPE": 128,
    "KEY_CONSTRAINTS.CONSTRAINT_NAME": 400,
    "KEY_CONSTRAINTS.DEFAULT_VALUE": 400,
}
"""Maximum characters of the columns of Hive's schema, if our values can be longer. `width` has the exceptions."""


def width(version: str, dialect: str, column: str) -> int | None:
    """Returns the characters that a column such as TBLS.OWNER takes, or None if it has no limit."""
    if column == "COLUMNS_V2.COMMENT" and dialect == "mysql" and version != "4.0":
        return 256
    if column == "PARTITION_PARAMS.PARAM_VALUE" and version == "4.0":
        return None
    return _WIDTHS.get(column)
