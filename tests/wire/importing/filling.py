"""Rows of a source as old sites have them: one for each kind of finding."""

from __future__ import annotations

from base64 import b64encode
from gzip import compress

from tests.fixtures.hive_schema import HiveDatabase

ORPHANS = 8
"""Objects that are not imported: a table, a partition, statistics, a privilege, a function, three without a name."""


def fill(source: HiveDatabase, root: str, *, transactions: bool = True) -> None:
    """Fills a source whose files are in the folder `root`. `transactions`: also their tables."""
    sales = source.database("sales", f"{root}/sales.db", DESC="Umsätze")
    source.insert("DATABASE_PARAMS", DB_ID=sales, PARAM_KEY="k", PARAM_VALUE="v")
    source.database("default", root)
    if source.version >= "3.1":
        source.insert("CTLGS", CTLG_ID=1, NAME="hive", DESC="Default catalog", LOCATION_URI=root)
    _tables(source, sales, root)
    _partitions(source, sales, root)
    _objects(source, sales)
    _access(source)
    _events(source)
    if transactions:
        _transactions(source)
    _orphans(source, sales)


def _tables(source: HiveDatabase, sales: int, root: str) -> None:
    columns = source.columns_list(("a", "int", "größe"), ("b", "string", None), ("d", "decimal(10,2)", None))
    source.table(
        sales,
        "plain",
        f"{root}/sales.db/plain",
        CREATE_TIME=0,
        columns=columns,
        parameters={"comment": "Größe", "x": "é\n\t\\"},
    )
    source.table(sales, "far", "wasbs://c@account/far", TBL_TYPE="EXTERNAL_TABLE", parameters={"EXTERNAL": "TRUE"})
    source.table(sales, "odd/name", f"{root}/sales.db/odd")
    view = {"VIEW_ORIGINAL_TEXT": "/* Presto View: eyJ9 */", "VIEW_EXPANDED_TEXT": "/* Presto View */"}
    source.table(sales, "v", None, TBL_TYPE="VIRTUAL_VIEW", parameters={"presto_view": "true"}, **view)
    iceberg = {"table_type": "ICEBERG", "metadata_location": "s3a://b/t/metadata/7.json", "EXTERNAL": "TRUE"}
    source.table(sales, "ice", "s3a://b/t", TBL_TYPE="EXTERNAL_TABLE", parameters=iceberg)
    spark = {f"spark.sql.sources.schema.part.{number}": "x" * 3_900 for number in range(3)}
    table, _ = source.table(sales, "spark", f"{root}/sales.db/spark", parameters=spark)
    descriptor = source.rows(f'SELECT "SD_ID" FROM "TBLS" WHERE "TBL_ID" = {table}')[0][0]
    source.insert("SERDE_PARAMS", SERDE_ID=descriptor, PARAM_KEY="path", PARAM_VALUE=f"{root}/sales.db/spark")
    table, _ = source.table(
        sales, "skewed", f"{root}/sales.db/skewed", descriptor={"IS_STOREDASSUBDIRECTORIES": True, "NUM_BUCKETS": 4}
    )
    descriptor = source.rows(f'SELECT "SD_ID" FROM "TBLS" WHERE "TBL_ID" = {table}')[0][0]
    source.skew(descriptor, "b", {"x": f"{root}/sales.db/skewed/b=x", "a/b": "s3://elsewhere/b"})
    source.insert("BUCKETING_COLS", SD_ID=descriptor, BUCKET_COL_NAME="a", INTEGER_IDX=0)
    source.insert("SORT_COLS", SD_ID=descriptor, COLUMN_NAME="b", ORDER=0, INTEGER_IDX=0)
    source.insert("SD_PARAMS", SD_ID=descriptor, PARAM_KEY="p", PARAM_VALUE="1")


def _partitions(source: HiveDatabase, sales: int, root: str) -> None:
    table = source.table(sales, "logs", f"{root}/sales.db/logs", keys=("string ds", "int hr"))
    for hour in range(30):
        location = f"{root}/sales.db/logs/ds=1/hr={hour}"
        source.partition(table, f"ds=1/hr={hour}", ("1", str(hour)), location, {"transient_lastDdlTime": "1"})
    source.partition(table, "ds=a%2Fb%3Ac/hr=7", ("a/b:c", "7"), "hdfs://old:8020/logs", CREATE_TIME=0)
    null = "__HIVE_DEFAULT_PARTITION__"
    source.partition(table, f"ds={null}/hr={null}", (null, null), f"{root}/elsewhere/null")
    source.partition(table, "DS=2/hr=1", ("2", "1"), f"{root}/sales.db/logs/DS=2")  # an old row: the key in upper case
    source.partition(table, "ds=2/hr=1", ("2", "1"), f"{root}/sales.db/logs/ds=2")
    skewed = source.partition(table, "ds=3/hr=1", ("3", "1"), f"{root}/sales.db/logs/ds=3")
    descriptor = source.rows(f'SELECT "SD_ID" FROM "PARTITIONS" WHERE "PART_ID" = {skewed}')[0][0]
    source.skew(descriptor, "b", {"y": f"{root}/sales.db/logs/ds=3/b=y"})


def _objects(source: HiveDatabase, sales: int) -> None:
    long = {"COLUMN_NAME": "a", "COLUMN_TYPE": "int", "LONG_LOW_VALUE": -5, "LONG_HIGH_VALUE": 9}
    counts = {"NUM_NULLS": 1, "NUM_DISTINCTS": 3, "LAST_ANALYZED": 1_234, "ENGINE": "hive"}
    source.insert("TAB_COL_STATS", CS_ID=1, TBL_ID=1, **long, **counts, BIT_VECTOR=b"HL\x00\x01")
    decimal = {"COLUMN_NAME": "d", "COLUMN_TYPE": "decimal(10,2)", "BIG_DECIMAL_LOW_VALUE": "-1.50"}
    source.insert("TAB_COL_STATS", CS_ID=2, TBL_ID=1, **decimal, BIG_DECIMAL_HIGH_VALUE="300", **counts)
    text = {"COLUMN_NAME": "b", "COLUMN_TYPE": "string", "AVG_COL_LEN": 2.5, "MAX_COL_LEN": 7}
    source.insert("PART_COL_STATS", CS_ID=3, PART_ID=1, **text, **counts)
    names = {"CLASS_NAME": "org.Upper", "CREATE_TIME": 5, "OWNER_NAME": "me", "OWNER_TYPE": "ROLE"}
    source.insert("FUNCS", FUNC_ID=1, DB_ID=sales, FUNC_NAME="up", FUNC_TYPE=1, **names)
    source.insert("FUNC_RU", FUNC_ID=1, RESOURCE_TYPE=1, RESOURCE_URI="hdfs://old:8020/up.jar", INTEGER_IDX=0)
    columns = source.rows('SELECT s."CD_ID" FROM "TBLS" t JOIN "SDS" s USING ("SD_ID") WHERE t."TBL_ID" < 3 ORDER BY 1')
    key = {"PARENT_TBL_ID": 1, "PARENT_CD_ID": columns[0][0], "PARENT_INTEGER_IDX": 0, "POSITION": 1}
    source.insert("KEY_CONSTRAINTS", CONSTRAINT_NAME="pk", CONSTRAINT_TYPE=0, ENABLE_VALIDATE_RELY=5, **key)
    child = {
        "CHILD_TBL_ID": 2,
        "CHILD_CD_ID": columns[1][0],
        "CHILD_INTEGER_IDX": 1,
        "UPDATE_RULE": 0,
        "DELETE_RULE": 0,
    }
    source.insert("KEY_CONSTRAINTS", CONSTRAINT_NAME="fk", CONSTRAINT_TYPE=1, ENABLE_VALIDATE_RELY=0, **key, **child)
    if source.version < "3.1":
        row = {"INDEX_ID": 1, "INDEX_NAME": "ix", "ORIG_TBL_ID": 1, "INDEX_TBL_ID": 2, "SD_ID": 1, "CREATE_TIME": 7}
        source.insert("IDXS", **row, INDEX_HANDLER_CLASS="bitmap", DEFERRED_REBUILD=True, LAST_ACCESS_TIME=0)
    else:
        unique = key | {"PARENT_INTEGER_IDX": 1}
        source.insert("KEY_CONSTRAINTS", CONSTRAINT_NAME="uk", CONSTRAINT_TYPE=2, ENABLE_VALIDATE_RELY=7, **unique)
        default = {"CONSTRAINT_NAME": "dc", "CONSTRAINT_TYPE": 4, "DEFAULT_VALUE": "'x'", "ENABLE_VALIDATE_RELY": 4}
        source.insert("KEY_CONSTRAINTS", **default, **unique)


def _access(source: HiveDatabase) -> None:
    grant = {"CREATE_TIME": 77, "GRANTOR": "me", "GRANTOR_TYPE": "USER", "GRANT_OPTION": 1}
    bob, role = (
        {"PRINCIPAL_NAME": name, "PRINCIPAL_TYPE": kind} for name, kind in (("bob", "USER"), ("analysts", "ROLE"))
    )
    source.insert("ROLES", ROLE_ID=1, CREATE_TIME=6, OWNER_NAME="me", ROLE_NAME="analysts")
    source.insert(
        "ROLE_MAP", ROLE_GRANT_ID=1, ADD_TIME=8, GRANT_OPTION=0, GRANTOR="me", GRANTOR_TYPE="USER", ROLE_ID=1, **bob
    )
    source.insert("GLOBAL_PRIVS", USER_GRANT_ID=1, USER_PRIV="ALL", **grant, **bob)
    source.insert("DB_PRIVS", DB_GRANT_ID=1, DB_ID=1, DB_PRIV="SELECT", **grant, **role)
    source.insert("TBL_PRIVS", TBL_GRANT_ID=1, TBL_ID=1, TBL_PRIV="INSERT", **grant, **bob)
    source.insert(
        "TBL_COL_PRIVS", TBL_COLUMN_GRANT_ID=1, TBL_ID=1, COLUMN_NAME="a", TBL_COL_PRIV="SELECT", **grant, **bob
    )
    source.insert("PART_PRIVS", PART_GRANT_ID=1, PART_ID=1, PART_PRIV="SELECT", **grant, **bob)
    source.insert("MASTER_KEYS", KEY_ID=4, MASTER_KEY="secret")
    source.insert("DELEGATION_TOKENS", TOKEN_IDENT="id", TOKEN="token")


def _events(source: HiveDatabase) -> None:
    source.insert("NOTIFICATION_SEQUENCE", NNI_ID=1, NEXT_EVENT_ID=43)
    event = {"EVENT_TIME": 9, "EVENT_TYPE": "CREATE_TABLE", "DB_NAME": "sales", "TBL_NAME": "plain"}
    packed = b64encode(compress(b"{}")).decode()
    for number, form, message in ((40, "json-0.2", "{}"), (42, "gzip(json-2.0)", packed)):
        source.insert("NOTIFICATION_LOG", NL_ID=number, EVENT_ID=number, MESSAGE_FORMAT=form, MESSAGE=message, **event)


def _transactions(source: HiveDatabase) -> None:
    source.execute("INSERT INTO next_txn_id VALUES (101)")
    source.execute("INSERT INTO txns VALUES (90, 'a', 'u', 'h')")
    if source.version >= "3.1":
        source.execute("INSERT INTO next_write_id VALUES ('sales', 'plain', 8)")
        source.execute("INSERT INTO txn_to_write_id VALUES (90, 'sales', 'plain', 5)")
    else:
        source.insert("TABLE_PARAMS", TBL_ID=1, PARAM_KEY="transactional", PARAM_VALUE="true")
        source.execute("INSERT INTO txn_components VALUES (90, 'sales', 'plain')")


def _orphans(source: HiveDatabase, sales: int) -> None:
    source.table(999, "lost", None)
    logs = source.rows('SELECT "TBL_ID" FROM "TBLS" WHERE "TBL_NAME" = \'logs\'')[0][0]
    source.insert("PARTITIONS", PART_ID=900, PART_NAME="ds=9/hr=9", TBL_ID=logs, SD_ID=None, CREATE_TIME=1)
    source.insert("TAB_COL_STATS", CS_ID=9, TBL_ID=999, COLUMN_NAME="a", COLUMN_TYPE="int", LAST_ANALYZED=1)
    grant = {"PRINCIPAL_NAME": "bob", "PRINCIPAL_TYPE": "USER", "GRANT_OPTION": 0}
    source.insert("TBL_PRIVS", TBL_GRANT_ID=9, TBL_ID=999, TBL_PRIV="SELECT", CREATE_TIME=1, **grant)
    source.insert("FUNCS", FUNC_ID=9, DB_ID=999, FUNC_NAME="lost", FUNC_TYPE=1, CLASS_NAME="x", CREATE_TIME=1)
    source.table(sales, "PLAIN", "file:/duplicate")
    source.database(None, "file:/nameless")
    source.table(sales, None, "file:/nameless")
    source.insert("PARTITIONS", PART_ID=901, PART_NAME=None, TBL_ID=logs, SD_ID=1, CREATE_TIME=1)
