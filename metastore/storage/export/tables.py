"""The tables of Hive's schema, in an order that its foreign keys allow. Their rows come from the views in `hive`.

This list has only what the views do not say: the order, the sequences, the versions of Hive's schema, and the columns
whose values differ from the views'. Objects share column lists and skewed values in the views. Hive deletes both
together with a table, so the export numbers them anew:

    | id                                | in the export                                                             |
    | --------------------------------- | ------------------------------------------------------------------------- |
    | CD_ID                             | one for each table and list of columns; a partition with the columns of   |
    |                                   | its table shares the table's                                              |
    | STRING_LIST_ID of a skewed value  | one for each descriptor and value, above all ids of skewed locations      |

An open transaction is exported as aborted: its client cannot continue it elsewhere. A running compaction is exported as
waiting for a worker, for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

MODEL: Final = "org.apache.hadoop.hive.metastore.model."
VERSIONS: Final = ("2.3", "3.1", "4.0")


@dataclass(frozen=True, slots=True)
class Exported:
    """A table of Hive's schema.

    Attributes:
        name: in upper case.
        sequence: the class whose ids the first column has, for SEQUENCE_TABLE.
        columns: expressions for columns that differ from those of the view, which is `v`.
        rest: the text after the view: joins and conditions.
        given: a WITH clause before the query.
        since: the first version of the schema that has rows for this table.
        until: the last one.
        lacks: columns that schema 2.3 does not have.
        adds: expressions for columns that schema 4.0 has in addition.
        rows: the source of the rows by version, if it is not the view of the same name.
        seeded: Hive's script inserts rows, which the export replaces.
        transactional: its name is in lower case on PostgreSQL before schema 4.0, as for most tables of transactions.
    """

    name: str
    sequence: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""
    given: str = ""
    since: str = "2.3"
    until: str = "4.0"
    lacks: tuple[str, ...] = ()
    adds: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    seeded: bool = False
    transactional: bool = False

    def query(self, version: str) -> str:
        """Returns the query of the rows. Of two columns with the same name, the first one counts."""
        chosen = {**self.columns, **(self.adds if version == VERSIONS[-1] else {})}
        shown = "".join(f'{expression} AS "{column}", ' for column, expression in chosen.items())
        return f"{self.given} SELECT {shown}v.* FROM {self.rows.get(version, self.view)} v {self.rest}"

    @property
    def view(self) -> str:
        """The name of the view with the same name."""
        return f'hive."{self.name}"'


_LISTS: Final = """
    WITH lists AS (
        SELECT row_number() OVER (ORDER BY table_id, columns_id) AS cd_id, table_id, columns_id
        FROM (SELECT DISTINCT d.table_id, s."CD_ID" AS columns_id
              FROM hive."SDS" s JOIN hive.descriptors d ON d.sd_id = s."SD_ID") pairs
    )
"""
_LIST: Final = 'JOIN lists l ON l.columns_id = v."CD_ID"'
_STRING_LIST: Final = '4503599627370496 + row_number() OVER (ORDER BY v."SD_ID_OID", v."INTEGER_IDX")'
_STRING_LISTS: Final = f"""
    WITH lists AS (
        SELECT {_STRING_LIST} AS id, v."STRING_LIST_ID_EID" AS shared_id FROM hive."SKEWED_VALUES" v
        UNION ALL SELECT "STRING_LIST_ID_KID", "STRING_LIST_ID_KID" FROM hive."SKEWED_COL_VALUE_LOC_MAP"
    )
"""
_OF_STRING_LIST: Final = 'JOIN lists l ON l.shared_id = v."STRING_LIST_ID"'
_OF_SERDE: Final = 'WHERE EXISTS (SELECT FROM hive."SDS" s WHERE s."SD_ID" = v."SERDE_ID")'
_CONSTRAINT: Final = (
    'LEFT JOIN lists c ON c.table_id = v."CHILD_TBL_ID" AND c.columns_id = v."CHILD_CD_ID" '
    'LEFT JOIN lists p ON p.table_id = v."PARENT_TBL_ID" AND p.columns_id = v."PARENT_CD_ID"'
)
_DATABASE: Final = 'JOIN databases d ON d.id = v."DB_ID", hive.thrift_struct(d.encoded) f'
_LAST_TRANSACTION: Final = """
    (TABLE hive."TXNS" UNION ALL
     SELECT "NTXN_NEXT" - 1, 'c', 0, 0, '', '', NULL, NULL, NULL, NULL FROM hive."NEXT_TXN_ID"
     WHERE NOT EXISTS (SELECT FROM hive."TXNS" WHERE "TXN_ID" = "NTXN_NEXT" - 1))
"""  # the row with the highest id replaces NEXT_TXN_ID: Hive continues to count from it


def _statistics(name: str, sequence: str, all_engines: str) -> Exported:
    """The ids of the views are hashes, which may be equal in many rows. Before 4.0, Hive knows one engine."""
    columns = {"CS_ID": "row_number() OVER ()"}
    rows = {"4.0": f"hive.{all_engines}"}
    return Exported(name, sequence, columns, lacks=("CAT_NAME", "BIT_VECTOR"), rows=rows)


def _privileges(name: str, sequence: str) -> Exported:
    return Exported(name, sequence, lacks=("AUTHORIZER",))


def _counter(name: str, until: str = "4.0") -> Exported:
    return Exported(name, until=until, seeded=True, transactional=True)


def _transactional(name: str, sequence: str = "", columns: Mapping[str, str] | None = None) -> Exported:
    return Exported(name, sequence, columns or {}, since="3.1", transactional=True)


TABLES: Final = (
    Exported(
        "CTLGS",
        "MCatalog",
        since="3.1",
        adds={"CTLG_ID": 'v."CTLG_ID"', "CREATE_TIME": '(SELECT create_time FROM catalogs c WHERE c.name = v."NAME")'},
        seeded=True,
    ),
    Exported(
        "DBS",
        "MDatabase",
        {"DB_ID": 'v."DB_ID"'},
        rest=_DATABASE,
        lacks=("CTLG_NAME",),
        adds={
            "CREATE_TIME": "d.create_time",
            "DB_MANAGED_LOCATION_URI": "hive.text_of(f -> '10')",
            "TYPE": "CASE f ->> '11' WHEN '2' THEN 'REMOTE' ELSE 'NATIVE' END",
            "DATACONNECTOR_NAME": "hive.text_of(f -> '12')",
            "REMOTE_DBNAME": "hive.text_of(f -> '13')",
        },
    ),
    Exported("DATABASE_PARAMS"),
    Exported("CDS", "MColumnDescriptor", {"CD_ID": "l.cd_id"}, _LIST, _LISTS),
    Exported("COLUMNS_V2", "", {"CD_ID": "l.cd_id"}, _LIST, _LISTS),
    Exported(
        "SERDES",
        "MSerDeInfo",
        rest=_OF_SERDE,
        lacks=("DESCRIPTION", "SERIALIZER_CLASS", "DESERIALIZER_CLASS", "SERDE_TYPE"),
    ),
    Exported("SERDE_PARAMS", rest=_OF_SERDE),
    Exported(
        "SDS",
        "MStorageDescriptor",
        {"SD_ID": 'v."SD_ID"', "CD_ID": "l.cd_id"},
        f'JOIN hive.descriptors d ON d.sd_id = v."SD_ID" {_LIST} AND l.table_id = d.table_id',
        _LISTS,
    ),
    Exported("SD_PARAMS"),
    Exported("BUCKETING_COLS"),
    Exported("SORT_COLS"),
    Exported("SKEWED_COL_NAMES"),
    Exported("SKEWED_STRING_LIST", "MStringList", {"STRING_LIST_ID": "l.id"}, _OF_STRING_LIST, _STRING_LISTS),
    Exported("SKEWED_STRING_LIST_VALUES", "", {"STRING_LIST_ID": "l.id"}, _OF_STRING_LIST, _STRING_LISTS),
    Exported("SKEWED_VALUES", "", {"STRING_LIST_ID_EID": _STRING_LIST}),
    Exported("SKEWED_COL_VALUE_LOC_MAP"),
    Exported("TBLS", "MTable", lacks=("OWNER_TYPE",)),
    Exported("TABLE_PARAMS"),
    Exported("PARTITION_KEYS"),
    Exported("PARTITIONS", "MPartition"),
    Exported("PARTITION_PARAMS"),
    Exported("PARTITION_KEY_VALS"),
    _statistics("TAB_COL_STATS", "MTableColumnStatistics", "table_statistics"),
    _statistics("PART_COL_STATS", "MPartitionColumnStatistics", "partition_statistics"),
    Exported("FUNCS", "MFunction"),
    Exported("FUNC_RU"),
    Exported(
        "KEY_CONSTRAINTS",
        "",
        {"CHILD_CD_ID": "c.cd_id", "PARENT_CD_ID": "p.cd_id"},
        _CONSTRAINT,
        _LISTS,
        lacks=("DEFAULT_VALUE",),
        rows={"2.3": '(SELECT * FROM hive."KEY_CONSTRAINTS" WHERE "CONSTRAINT_TYPE" <= 1)'},  # keys
    ),
    Exported("TYPES", "MType"),
    Exported("TYPE_FIELDS"),
    Exported("ROLES", "MRole"),
    Exported("ROLE_MAP", "MRoleMap"),
    _privileges("GLOBAL_PRIVS", "MGlobalPrivilege"),
    _privileges("DB_PRIVS", "MDBPrivilege"),
    _privileges("TBL_PRIVS", "MTablePrivilege"),
    _privileges("PART_PRIVS", "MPartitionPrivilege"),
    _privileges("TBL_COL_PRIVS", "MTableColumnPrivilege"),
    _privileges("PART_COL_PRIVS", "MPartitionColumnPrivilege"),
    Exported("MV_CREATION_METADATA", "MCreationMetadata", since="3.1"),
    Exported("MV_TABLES_USED", since="3.1"),
    Exported("PARTITION_EVENTS", "MPartitionEvent", lacks=("CAT_NAME",)),
    _transactional("RUNTIME_STATS", "MRuntimeStat"),
    Exported("NOTIFICATION_LOG", "MNotificationLog", lacks=("CAT_NAME",)),
    Exported("NOTIFICATION_SEQUENCE", seeded=True),
    _counter("NEXT_TXN_ID", until="3.1"),
    Exported(
        "TXNS",
        columns={"TXN_STATE": """CASE v."TXN_STATE" WHEN 'c' THEN 'c' ELSE 'a' END"""},
        since="3.1",
        rows={"4.0": _LAST_TRANSACTION},
        seeded=True,
        transactional=True,
    ),
    _transactional("TXN_COMPONENTS"),
    _transactional("COMPLETED_TXN_COMPONENTS"),
    _transactional("TXN_TO_WRITE_ID"),
    _transactional("NEXT_WRITE_ID"),
    _counter("NEXT_LOCK_ID"),
    _counter("NEXT_COMPACTION_QUEUE_ID"),
    _transactional(
        "COMPACTION_QUEUE",
        columns={
            "CQ_STATE": """CASE "CQ_STATE" WHEN 'w' THEN 'i' ELSE "CQ_STATE" END""",
            "CQ_WORKER_ID": "NULL::text",
            "CQ_START": "NULL::bigint",
            "CQ_HADOOP_JOB_ID": "NULL::text",
        },
    ),
    _transactional("COMPLETED_COMPACTIONS"),
)
