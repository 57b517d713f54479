"""The columns and widths that differ between versions of Hive's schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSIONS: Final = ("2.3", "3.1", "4.0")

_GRANTED: Final = ("GLOBAL_PRIVS", "DB_PRIVS", "TBL_PRIVS", "PART_PRIVS", "TBL_COL_PRIVS", "PART_COL_PRIVS")

_SINCE_4: Final[Mapping[str, frozenset[str]]] = {
    "CTLGS": frozenset({"CREATE_TIME"}),
    "DBS": frozenset({"CREATE_TIME", "DB_MANAGED_LOCATION_URI", "TYPE", "DATACONNECTOR_NAME", "REMOTE_DBNAME"}),
}
MISSING: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "2.3": {
        "DBS": _SINCE_4["DBS"] | {"CTLG_NAME"},
        "TBLS": frozenset({"OWNER_TYPE"}),
        "SERDES": frozenset({"DESCRIPTION", "SERIALIZER_CLASS", "DESERIALIZER_CLASS", "SERDE_TYPE"}),
        "TAB_COL_STATS": frozenset({"CAT_NAME", "BIT_VECTOR"}),
        "PART_COL_STATS": frozenset({"CAT_NAME", "BIT_VECTOR"}),
        "KEY_CONSTRAINTS": frozenset({"DEFAULT_VALUE"}),
        "NOTIFICATION_LOG": frozenset({"CAT_NAME"}),
        "PARTITION_EVENTS": frozenset({"CAT_NAME"}),
        **{name: frozenset({"AUTHORIZER"}) for name in _GRANTED},
    },
    "3.1": _SINCE_4,
    "4.0": {},
}
"""Columns that a version lacks, by version and table."""

WIDTHS: Final = {
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
    return WIDTHS.get(column)
