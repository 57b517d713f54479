"""The indexes of Hive 2, for schema 2.3. Later schemas have the tables, but Hive cannot drop a table with rows there.

Hive drops an index with its descriptor, so the export gives each index a descriptor of its own, from its encoded form.
In the views, the index has the descriptor of its index table. Its ids are above those of partitions, and below those
of tables.
"""

from __future__ import annotations

from typing import Final

from metastore.storage.export.tables import Exported

_DESCRIPTORS: Final = """
    WITH owned AS (
        SELECT i.id, 2251799813685248 + i.id AS sd_id, 2251799813685248 + i.id AS cd_id,
               hive.thrift_field(i.encoded, 8) AS sd
        FROM table_indexes i JOIN tables t ON t.id = i.table_id WHERE t.database_id IS NOT NULL
    )
"""


def _index(name: str, query: str, sequence: str = "") -> Exported:
    return Exported(name, sequence, rows={"2.3": f"({_DESCRIPTORS} {query})"}, until="2.3")


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
    _index("CDS", 'SELECT cd_id AS "CD_ID" FROM owned', "MColumnDescriptor"),
    _index(
        "COLUMNS_V2",
        """SELECT o.cd_id AS "CD_ID", hive.text_of(c.field -> '3') AS "COMMENT",
                  hive.text_of(c.field -> '1') AS "COLUMN_NAME", hive.text_of(c.field -> '2') AS "TYPE_NAME",
                  c.position - 1 AS "INTEGER_IDX" """
        + _ITEMS.format(field=1),
    ),
    _index(
        "SERDES",
        """SELECT sd_id AS "SERDE_ID", hive.text_of(sd -> '7' -> '1') AS "NAME",
                  hive.text_of(sd -> '7' -> '2') AS "SLIB" FROM owned""",
        "MSerDeInfo",
    ),
    _index("SERDE_PARAMS", _PAIRS.format(id="SERDE_ID", path="-> '7' -> '3'")),
    _index(
        "SDS",
        """SELECT sd_id AS "SD_ID", hive.text_of(sd -> '3') AS "INPUT_FORMAT",
                  coalesce((sd ->> '5')::boolean, false) AS "IS_COMPRESSED", hive.text_of(sd -> '2') AS "LOCATION",
                  coalesce((sd ->> '6')::bigint, 0) AS "NUM_BUCKETS", hive.text_of(sd -> '4') AS "OUTPUT_FORMAT",
                  sd_id AS "SERDE_ID", cd_id AS "CD_ID",
                  coalesce((sd ->> '12')::boolean, false) AS "IS_STOREDASSUBDIRECTORIES" FROM owned""",
        "MStorageDescriptor",
    ),
    _index("SD_PARAMS", _PAIRS.format(id="SD_ID", path="-> '10'")),
    _index(
        "BUCKETING_COLS",
        'SELECT o.sd_id AS "SD_ID", hive.text_of(c.field) AS "BUCKET_COL_NAME", c.position - 1 AS "INTEGER_IDX"'
        + _ITEMS.format(field=8),
    ),
    _index(
        "SORT_COLS",
        """SELECT o.sd_id AS "SD_ID", hive.text_of(c.field -> '1') AS "COLUMN_NAME",
                  (c.field ->> '2')::bigint AS "ORDER", c.position - 1 AS "INTEGER_IDX" """
        + _ITEMS.format(field=9),
    ),
    Exported("IDXS", "MIndex", {"INDEX_ID": 'v."INDEX_ID"', "SD_ID": '2251799813685248 + v."INDEX_ID"'}, until="2.3"),
    Exported("INDEX_PARAMS", until="2.3"),
)
