"""The indexes of Hive 2. Each has a descriptor of its own, which is stored only in its encoded form."""

from __future__ import annotations

from typing import Final

from metastore.exporting.tables import Exported

_DESCRIPTORS: Final = """
    WITH owned AS (
        SELECT i.id, 3 * i.id + 2 AS sd_id, 2 * i.id + 1 AS cd_id, hive.thrift_field(i.encoded, 8) AS sd
        FROM table_indexes i JOIN tables t ON t.id = i.table_id WHERE t.database_id IS NOT NULL
    )
"""
_PAIRS: Final = """
    SELECT o.sd_id AS "{id}", hive.text_of(p.pairs -> (2 * n)) AS "PARAM_KEY",
           hive.text_of(p.pairs -> (2 * n + 1)) AS "PARAM_VALUE"
    FROM owned o, LATERAL (SELECT o.sd {path} AS pairs) p,
         LATERAL generate_series(0, jsonb_array_length(p.pairs) / 2 - 1) n
"""
_ITEMS: Final = """
    FROM owned o, jsonb_array_elements(o.sd -> '{field}') WITH ORDINALITY AS c(field, position)
"""

INDEXES: Final = (
    Exported("CDS", _DESCRIPTORS + 'SELECT cd_id AS "CD_ID" FROM owned', "MColumnDescriptor"),
    Exported(
        "COLUMNS_V2",
        _DESCRIPTORS
        + """SELECT o.cd_id AS "CD_ID", hive.text_of(c.field -> '3') AS "COMMENT",
                    hive.text_of(c.field -> '1') AS "COLUMN_NAME", hive.text_of(c.field -> '2') AS "TYPE_NAME",
                    c.position - 1 AS "INTEGER_IDX" """
        + _ITEMS.format(field=1),
    ),
    Exported(
        "SERDES",
        _DESCRIPTORS
        + """SELECT sd_id AS "SERDE_ID", hive.text_of(sd -> '7' -> '1') AS "NAME",
                    hive.text_of(sd -> '7' -> '2') AS "SLIB" FROM owned""",
        "MSerDeInfo",
    ),
    Exported("SERDE_PARAMS", _DESCRIPTORS + _PAIRS.format(id="SERDE_ID", path="-> '7' -> '3'")),
    Exported(
        "SDS",
        _DESCRIPTORS
        + """SELECT sd_id AS "SD_ID", hive.text_of(sd -> '3') AS "INPUT_FORMAT",
                    coalesce((sd ->> '5')::boolean, false) AS "IS_COMPRESSED", hive.text_of(sd -> '2') AS "LOCATION",
                    coalesce((sd ->> '6')::bigint, 0) AS "NUM_BUCKETS", hive.text_of(sd -> '4') AS "OUTPUT_FORMAT",
                    sd_id AS "SERDE_ID", cd_id AS "CD_ID",
                    coalesce((sd ->> '12')::boolean, false) AS "IS_STOREDASSUBDIRECTORIES" FROM owned""",
        "MStorageDescriptor",
    ),
    Exported("SD_PARAMS", _DESCRIPTORS + _PAIRS.format(id="SD_ID", path="-> '10'")),
    Exported(
        "BUCKETING_COLS",
        _DESCRIPTORS
        + """SELECT o.sd_id AS "SD_ID", hive.text_of(c.field) AS "BUCKET_COL_NAME", c.position - 1 AS "INTEGER_IDX" """
        + _ITEMS.format(field=8),
    ),
    Exported(
        "SORT_COLS",
        _DESCRIPTORS
        + """SELECT o.sd_id AS "SD_ID", hive.text_of(c.field -> '1') AS "COLUMN_NAME",
                    (c.field ->> '2')::bigint AS "ORDER", c.position - 1 AS "INTEGER_IDX" """
        + _ITEMS.format(field=9),
    ),
    Exported("IDXS", 'SELECT v."INDEX_ID", 3 * v."INDEX_ID" + 2 AS "SD_ID", v.* FROM hive."IDXS" v', "MIndex"),
    Exported("INDEX_PARAMS", 'SELECT v.* FROM hive."INDEX_PARAMS" v'),
)
"""For schema 2.3. Later schemas have the tables, but Hive cannot drop a table with rows there."""
