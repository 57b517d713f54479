"""The tables of Hive's schema, in an order that its foreign keys allow, and the queries of their rows.

Most rows come from the views of the schema `hive`. Rows that several of our objects share are repeated: Hive deletes
the column list, the format and the skewed values of a descriptor together with it. So the export gives these new
numbers:

    | of                 | SD_ID, SERDE_ID | CD_ID                                                         |
    | ------------------ | --------------- | ------------------------------------------------------------- |
    | the partition n    | 3 n             | even: one for each table and list of columns; a partition     |
    | the table n        | 3 n + 1         | with the columns of its table shares the table's CD_ID        |
    | the index n        | 3 n + 2         | 2 n + 1 (`indexes.py`)                                        |
"""

from __future__ import annotations

from typing import Final, NamedTuple

MODEL: Final = "org.apache.hadoop.hive.metastore.model."


class Exported(NamedTuple):
    """A table of Hive's schema.

    Attributes:
        name: in upper case.
        query: the rows; the columns have Hive's names, in upper case.
        sequence: the class whose ids the first column has, for SEQUENCE_TABLE.
        since: the first version of the schema to which the query applies.
        until: the last one.
        seeded: Hive's script inserts rows, which the export replaces.
        transactional: its name is in lower case on PostgreSQL before schema 4.0, as for most tables of transactions.
    """

    name: str
    query: str
    sequence: str = ""
    since: str = "2.3"
    until: str = "4.0"
    seeded: bool = False
    transactional: bool = False


_DESCRIPTORS: Final = """
    WITH owned AS (
        SELECT 3 * t.id + 1 AS sd_id, t.id AS table_id, t.location, d.columns_id, d.format_id, d.skew_id
        FROM tables t JOIN storage_descriptors d ON d.id = t.descriptor_id WHERE t.database_id IS NOT NULL
        UNION ALL
        SELECT 3 * p.id, p.table_id, p.location, d.columns_id, d.format_id, d.skew_id
        FROM partitions p JOIN tables t ON t.id = p.table_id JOIN storage_descriptors d ON d.id = p.descriptor_id
        WHERE t.database_id IS NOT NULL
    )
"""
_LISTS: Final = (
    _DESCRIPTORS.rstrip()
    + """, lists AS (
        SELECT 2 * row_number() OVER (ORDER BY table_id, columns_id) AS cd_id, table_id, columns_id
        FROM (SELECT DISTINCT table_id, columns_id FROM owned) pairs
    )
"""
)
_VALUES: Final = (
    _DESCRIPTORS.rstrip()
    + """, chosen AS (
        SELECT o.sd_id, v.position, v.value, 2 * row_number() OVER (ORDER BY o.sd_id, v.position) AS list_id
        FROM owned o JOIN skew_values v ON v.skew_id = o.skew_id
    ), located AS (
        SELECT CASE WHEN l.partition_id IS NULL THEN 3 * l.table_id + 1 ELSE 3 * l.partition_id END AS sd_id,
               l.location, l.value, 2 * l.id + 1 AS list_id
        FROM skewed_locations l JOIN tables t ON t.id = l.table_id WHERE t.database_id IS NOT NULL
    )
"""
)
_OF_DESCRIPTOR: Final = """
    SELECT o.sd_id AS "SD_ID", {columns}
    FROM owned o JOIN storage_formats f ON f.id = o.format_id, {items}
"""
_NAMED: Final = "row_number() OVER ()"


def _view(name: str, **replaced: str) -> str:
    """Returns the query of a view; `replaced`: expressions for columns, which come first."""
    columns = ", ".join(f'{expression} AS "{column}"' for column, expression in replaced.items())
    return f'SELECT {columns + ", " if columns else ""}v.* FROM hive."{name}" v'


_STATISTICS: Final = {"CS_ID": _NAMED}

TABLES: Final = (
    Exported(
        "CTLGS",
        _view(
            "CTLGS",
            CTLG_ID='(SELECT count(*) FROM catalogs c WHERE c.name <= v."NAME")',
            CREATE_TIME='(SELECT create_time FROM catalogs c WHERE c.name = v."NAME")',
        ),
        "MCatalog",
        since="3.1",
        seeded=True,
    ),
    Exported(
        "DBS",
        """SELECT v.*, d.create_time AS "CREATE_TIME", hive.text_of(f -> '10') AS "DB_MANAGED_LOCATION_URI",
                  CASE f ->> '11' WHEN '2' THEN 'REMOTE' ELSE 'NATIVE' END AS "TYPE",
                  hive.text_of(f -> '12') AS "DATACONNECTOR_NAME", hive.text_of(f -> '13') AS "REMOTE_DBNAME"
           FROM hive."DBS" v JOIN databases d ON d.id = v."DB_ID", hive.thrift_struct(d.encoded) f""",
        "MDatabase",
    ),
    Exported("DATABASE_PARAMS", _view("DATABASE_PARAMS")),
    Exported("CDS", _LISTS + 'SELECT cd_id AS "CD_ID" FROM lists', "MColumnDescriptor"),
    Exported(
        "COLUMNS_V2",
        _LISTS
        + """SELECT l.cd_id AS "CD_ID", c."COMMENT", c."COLUMN_NAME", c."TYPE_NAME", c."INTEGER_IDX"
             FROM lists l JOIN hive."COLUMNS_V2" c ON c."CD_ID" = l.columns_id""",
    ),
    Exported(
        "SERDES",
        _DESCRIPTORS.rstrip()
        + """, decoded AS MATERIALIZED (
                 SELECT id, serde_name, serde_library, hive.thrift_field(encoded, 7) AS serde FROM storage_formats
             )
             SELECT o.sd_id AS "SERDE_ID", s.serde_name AS "NAME", s.serde_library AS "SLIB",
                    hive.text_of(serde -> '4') AS "DESCRIPTION", hive.text_of(serde -> '5') AS "SERIALIZER_CLASS",
                    hive.text_of(serde -> '6') AS "DESERIALIZER_CLASS", (serde ->> '7')::int AS "SERDE_TYPE"
             FROM owned o JOIN decoded s ON s.id = o.format_id""",
        "MSerDeInfo",
    ),
    Exported(
        "SERDE_PARAMS",
        _DESCRIPTORS
        + """SELECT o.sd_id AS "SERDE_ID", p.key AS "PARAM_KEY", p.value AS "PARAM_VALUE"
             FROM owned o JOIN storage_formats f ON f.id = o.format_id, jsonb_each_text(f.serde_parameters) p""",
    ),
    Exported(
        "SDS",
        _LISTS
        + """SELECT o.sd_id AS "SD_ID", f.input_format AS "INPUT_FORMAT",
                    coalesce(f.compressed, false) AS "IS_COMPRESSED", o.location AS "LOCATION",
                    coalesce(f.bucket_count, 0)::bigint AS "NUM_BUCKETS", f.output_format AS "OUTPUT_FORMAT",
                    o.sd_id AS "SERDE_ID", l.cd_id AS "CD_ID",
                    coalesce(f.stored_as_sub_directories, false) AS "IS_STOREDASSUBDIRECTORIES"
             FROM owned o JOIN lists l USING (table_id, columns_id) JOIN storage_formats f ON f.id = o.format_id""",
        "MStorageDescriptor",
    ),
    Exported(
        "SD_PARAMS",
        _DESCRIPTORS
        + _OF_DESCRIPTOR.format(
            columns='p.key AS "PARAM_KEY", p.value AS "PARAM_VALUE"', items="jsonb_each_text(f.parameters) p"
        ),
    ),
    Exported(
        "BUCKETING_COLS",
        _DESCRIPTORS
        + _OF_DESCRIPTOR.format(
            columns='c.name AS "BUCKET_COL_NAME", c.position - 1 AS "INTEGER_IDX"',
            items="unnest(f.bucket_columns) WITH ORDINALITY AS c(name, position)",
        ),
    ),
    Exported(
        "SORT_COLS",
        _DESCRIPTORS
        + _OF_DESCRIPTOR.format(
            columns="""c.field ->> 'column' AS "COLUMN_NAME", (c.field ->> 'order')::bigint AS "ORDER",
                       c.position - 1 AS "INTEGER_IDX" """,
            items="jsonb_array_elements(f.sort_columns) WITH ORDINALITY AS c(field, position)",
        ),
    ),
    Exported(
        "SKEWED_COL_NAMES",
        _DESCRIPTORS
        + """SELECT o.sd_id AS "SD_ID", c.name AS "SKEWED_COL_NAME", c.position - 1 AS "INTEGER_IDX"
             FROM owned o JOIN skew_specifications k ON k.id = o.skew_id,
                  unnest(k.column_names) WITH ORDINALITY AS c(name, position)""",
    ),
    Exported(
        "SKEWED_STRING_LIST",
        _VALUES + 'SELECT list_id AS "STRING_LIST_ID" FROM chosen UNION ALL SELECT list_id FROM located',
        "MStringList",
    ),
    Exported(
        "SKEWED_STRING_LIST_VALUES",
        _VALUES
        + """SELECT l.list_id AS "STRING_LIST_ID", v.value AS "STRING_LIST_VALUE", v.position - 1 AS "INTEGER_IDX"
             FROM (SELECT list_id, value FROM chosen UNION ALL SELECT list_id, value FROM located) l,
                  unnest(l.value) WITH ORDINALITY AS v(value, position)""",
    ),
    Exported(
        "SKEWED_VALUES",
        _VALUES
        + """SELECT sd_id AS "SD_ID_OID", list_id AS "STRING_LIST_ID_EID", position::bigint AS "INTEGER_IDX"
             FROM chosen""",
    ),
    Exported(
        "SKEWED_COL_VALUE_LOC_MAP",
        _VALUES + """SELECT sd_id AS "SD_ID", list_id AS "STRING_LIST_ID_KID", location AS "LOCATION" FROM located""",
    ),
    Exported("TBLS", _view("TBLS", TBL_ID='v."TBL_ID"', SD_ID='3 * v."TBL_ID" + 1'), "MTable"),
    Exported("TABLE_PARAMS", _view("TABLE_PARAMS")),
    Exported("PARTITION_KEYS", _view("PARTITION_KEYS")),
    Exported("PARTITIONS", _view("PARTITIONS", PART_ID='v."PART_ID"', SD_ID='3 * v."PART_ID"'), "MPartition"),
    Exported("PARTITION_PARAMS", _view("PARTITION_PARAMS")),
    Exported("PARTITION_KEY_VALS", _view("PARTITION_KEY_VALS")),
    Exported("TAB_COL_STATS", _view("TAB_COL_STATS", **_STATISTICS), "MTableColumnStatistics", until="3.1"),
    Exported("PART_COL_STATS", _view("PART_COL_STATS", **_STATISTICS), "MPartitionColumnStatistics", until="3.1"),
    Exported("TAB_COL_STATS", _view("table_statistics", **_STATISTICS), "MTableColumnStatistics", since="4.0"),
    Exported("PART_COL_STATS", _view("partition_statistics", **_STATISTICS), "MPartitionColumnStatistics", since="4.0"),
    Exported("FUNCS", _view("FUNCS"), "MFunction"),
    Exported("FUNC_RU", _view("FUNC_RU")),
    Exported(
        "KEY_CONSTRAINTS",
        _LISTS
        + """SELECT c.cd_id AS "CHILD_CD_ID", p.cd_id AS "PARENT_CD_ID", v.* FROM hive."KEY_CONSTRAINTS" v
             LEFT JOIN lists c ON c.table_id = v."CHILD_TBL_ID" AND c.columns_id = v."CHILD_CD_ID"
             LEFT JOIN lists p ON p.table_id = v."PARENT_TBL_ID" AND p.columns_id = v."PARENT_CD_ID" """,
    ),
    Exported("TYPES", _view("TYPES", TYPES_ID='(SELECT count(*) FROM types t WHERE t.name <= v."TYPE_NAME")'), "MType"),
    Exported(
        "TYPE_FIELDS",
        """SELECT (SELECT count(*) FROM types t WHERE t.name <= o.name) AS "TYPE_NAME", v.*
           FROM hive."TYPE_FIELDS" v JOIN types o ON hive.name_id(o.name) = v."TYPE_NAME" """,
    ),
    Exported("ROLES", _view("ROLES", ROLE_ID='(SELECT count(*) FROM roles r WHERE r.name <= v."ROLE_NAME")'), "MRole"),
    Exported(
        "ROLE_MAP",
        f"""SELECT {_NAMED} AS "ROLE_GRANT_ID", (SELECT count(*) FROM roles r WHERE r.name <= o.name) AS "ROLE_ID", v.*
            FROM hive."ROLE_MAP" v JOIN roles o ON hive.name_id(o.name) = v."ROLE_ID" """,
        "MRoleMap",
    ),
    Exported("GLOBAL_PRIVS", _view("GLOBAL_PRIVS"), "MGlobalPrivilege"),
    Exported("DB_PRIVS", _view("DB_PRIVS"), "MDBPrivilege"),
    Exported("TBL_PRIVS", _view("TBL_PRIVS"), "MTablePrivilege"),
    Exported("PART_PRIVS", _view("PART_PRIVS"), "MPartitionPrivilege"),
    Exported("TBL_COL_PRIVS", _view("TBL_COL_PRIVS"), "MTableColumnPrivilege"),
    Exported("PART_COL_PRIVS", _view("PART_COL_PRIVS"), "MPartitionColumnPrivilege"),
    Exported("MV_CREATION_METADATA", _view("MV_CREATION_METADATA"), "MCreationMetadata", since="3.1"),
    Exported("MV_TABLES_USED", _view("MV_TABLES_USED"), since="3.1"),
    Exported("PARTITION_EVENTS", _view("PARTITION_EVENTS", PART_NAME_ID=_NAMED), "MPartitionEvent"),
    Exported("RUNTIME_STATS", _view("RUNTIME_STATS"), "MRuntimeStat", since="3.1", transactional=True),
    Exported("NOTIFICATION_LOG", _view("NOTIFICATION_LOG"), "MNotificationLog"),
    Exported("NOTIFICATION_SEQUENCE", _view("NOTIFICATION_SEQUENCE"), seeded=True),
)
"""All tables except those of transactions."""
