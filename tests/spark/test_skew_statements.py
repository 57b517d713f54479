"""SET SKEWED LOCATION, LIKE, DESCRIBE and SHOW CREATE TABLE of skewed tables, and every order of clauses."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pyspark.errors import AnalysisException, QueryExecutionException

from metastore.client import MetastoreClient
from metastore.client.structs import NOT_SKEWED, Skew
from spark_client import Session, scan_report
from spark_client.errors import InvalidStatementError, MetastoreRefusedError, SparkClientError
from tests.spark.tables import folder

SKEWED = "SKEWED BY (x, s) ON ((1, 'a'), (NULL, 'it\\'s')) STORED AS DIRECTORIES"
CLAUSES = {
    "skew": SKEWED,
    "partitioned": "PARTITIONED BY (p INT COMMENT 'of it', q STRING)",
    "format": "STORED AS PARQUET",
    "comment": "COMMENT 'what it is'",
    "properties": "TBLPROPERTIES ('k' = 'STORED AS DIRECTORIES', 'quote' = '\\'\\\\')",
}


def described(spark: Session, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in spark.sql(f"DESCRIBE FORMATTED {table}").collect()}


@pytest.mark.parametrize(
    "order",
    [order for number, order in enumerate(permutations(CLAUSES)) if number % 17 == 0],
    ids=lambda order: "-".join(name[0] for name in order),
)
def test_clauses_in_any_order(
    spark: Session, table_name: str, metastore: MetastoreClient, order: tuple[str, ...]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (X INT, s STRING) {' '.join(CLAUSES[name] for name in order)}")
    table = metastore.get_table("default", table_name)
    values = (("1", "a"), ("__HIVE_DEFAULT_PARTITION__", "it's"))
    assert table.skew == Skew(("x", "s"), values, {}, directories=True)
    assert [column.name for column in table.partition_columns] == ["p", "q"]
    assert (table.parameters["k"], table.parameters["comment"]) == ("STORED AS DIRECTORIES", "what it is")


def test_without_a_format_it_is_parquet(spark: Session, table_name: str, metastore: MetastoreClient) -> None:
    """As in Hive's documents: Spark alone would create a data source table."""
    spark.sql(f"CREATE TABLE {table_name} (c1 STRING, c2 STRING) SKEWED BY (c1) ON ('x1') STORED AS DIRECTORIES; -- so")
    spark.sql(f"CREATE TABLE {table_name}_2 LIKE {table_name}")
    for name in (table_name, f"{table_name}_2"):
        table = metastore.get_table("default", name)
        assert table.skew == Skew(("c1",), (("x1",),), {}, directories=True)
        assert "parquet" in table.storage.serde
    spark.conf.set("hive.default.fileformat", "orc")
    spark.sql(f"CREATE TABLE {table_name}_3 (x INT) -- one\n SKEWED BY (x) ON (1) -- two")
    spark.conf.set("hive.default.fileformat", "PARQUET")
    assert "orc" in metastore.get_table("default", f"{table_name}_3").storage.serde


@pytest.mark.parametrize(
    "clauses",
    [
        (
            f"(Id INT COMMENT 'a\\'b', x CHAR(3), s VARCHAR(4)) {CLAUSES['partitioned']} {CLAUSES['comment']} "
            "SKEWED BY (s, id) ON (('A\\\\', 1), (NULL, 2)) STORED AS DIRECTORIES STORED AS ORC "
            f"{CLAUSES['properties']}"
        ),
        "(x DATE, m DECIMAL(6,2)) SKEWED BY (m) ON (1.50, -2) STORED AS PARQUET LOCATION '{place}'",
        "(x INT) SKEWED BY (x) ON (1) CLUSTERED BY (x) SORTED BY (x) INTO 4 BUCKETS STORED AS PARQUET",
        (
            "(x INT, `b ``y` INT) SKEWED BY (`b ``y`) ON (1) STORED AS DIRECTORIES ROW FORMAT SERDE "
            "'org.apache.hadoop.hive.ql.io.orc.OrcSerde' WITH SERDEPROPERTIES ('a' = 'b') STORED AS INPUTFORMAT "
            "'org.apache.hadoop.hive.ql.io.orc.OrcInputFormat' OUTPUTFORMAT "
            "'org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat'"
        ),
        "(x STRUCT<a: INT>, s STRING) SKEWED BY (s) ON ('a') STORED AS TEXTFILE",
    ],
)
def test_show_create_table_runs_again(
    spark: Session, table_name: str, metastore: MetastoreClient, tmp_path: Path, clauses: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} {clauses.replace('{place}', str(tmp_path))}")
    before, schema = metastore.get_table("default", table_name), spark.table(table_name).schema
    (row,) = spark.sql(f"SHOW CREATE TABLE {table_name}").collect()
    assert spark.sql(f"show create table default.{table_name} as serde").collect() == [row]
    assert "SKEWED BY (" in row.createtab_stmt
    spark.sql(f"DROP TABLE {table_name}")
    spark.sql(row.createtab_stmt)
    after = metastore.get_table("default", table_name)
    ddl_time = "transient_lastDdlTime"
    assert replace(after, parameters={**after.parameters, ddl_time: before.parameters[ddl_time]}) == before
    assert spark.table(table_name).schema == schema


def test_describe_shows_the_skew_of_the_table_and_of_each_partition(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT, s STRING) PARTITIONED BY (p INT) "
        "SKEWED BY (x, s) ON ((484, 'b'), (51, 'c'), (103, 'a')) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (51, 'c', 1), (2, 'a', 1)")
    shown = described(spark, table_name)
    assert shown["Stored As SubDirectories"] == "Yes"
    assert shown["Skewed Columns"] == "[s, x]"
    assert shown["Skewed Values"] == "[[103, a], [484, b], [51, c]]"
    assert "Skewed Value to Path" not in shown
    names = list(shown)
    assert names.index("Skewed Columns") > names.index("Storage Properties")
    spark.sql(f"ALTER TABLE {table_name} NOT STORED AS DIRECTORIES")
    assert "Stored As SubDirectories" not in described(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} NOT SKEWED")
    assert not any("Skewed" in name for name in described(spark, table_name))
    of_partition = described(spark, f"{table_name} PARTITION (p = '01')")
    (partition,) = metastore.get_partitions("default", table_name)
    assert of_partition["Partition Values"] == "[p=1]"
    assert of_partition["Skewed Values"] == "[[103, a], [484, b], [51, c]]"
    assert of_partition["Skewed Value to Path"] == f"{{[51, c]={partition.location}/x=51/s=c}}"
    assert of_partition["Skewed Value to Truncated Path"] == f"{{[51, c]=/{table_name}/p=1/x=51/s=c}}"
    with pytest.raises(AnalysisException, match="PARTITIONS_NOT_FOUND"):
        spark.sql(f"DESCRIBE EXTENDED {table_name} PARTITION (p = 9)")


def test_create_table_like_copies_the_skew(
    spark: Session, table_name: str, metastore: MetastoreClient, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (X INT COMMENT 'n', s STRING) {' '.join(CLAUSES.values())}")
    source, plain = metastore.get_table("default", table_name), f"{table_name}_p"
    like = f"{table_name}_l"

    def made(options: str = "") -> None:
        spark.sql(f"DROP TABLE IF EXISTS {like}")
        spark.sql(f"CREATE TABLE {like} LIKE {table_name} {options}")

    made()
    copy = metastore.get_table("default", like)
    assert (copy.skew, copy.columns, copy.partition_columns) == (source.skew, source.columns, source.partition_columns)
    assert (copy.storage, copy.table_type, "k" in copy.parameters) == (source.storage, "MANAGED_TABLE", False)
    assert spark.table(like).schema == spark.table(table_name).schema
    made(f"STORED AS ORC LOCATION '{tmp_path}/like' TBLPROPERTIES ('a' = 'b')")
    copy = metastore.get_table("default", like)
    assert (copy.skew, copy.table_type, copy.parameters["a"]) == (source.skew, "EXTERNAL_TABLE", "b")
    assert "orc" in copy.storage.serde.lower()
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('skew.layout' = 'flat')")
    made("TBLPROPERTIES ('a' = 'b')")
    copy = metastore.get_table("default", like)
    assert (copy.parameters["a"], copy.parameters["skew.layout"]) == ("b", "flat")
    made("SKEWED BY (s) ON ('z')")
    assert metastore.get_table("default", like).skew == Skew(("s",), (("z",),))
    made("USING parquet")
    assert metastore.get_table("default", like).skew == NOT_SKEWED
    with pytest.raises(InvalidStatementError, match=rf"default.{like}2 .*needs STORED AS PARQUET or ORC"):
        spark.sql(f"CREATE TABLE {like}2 LIKE {table_name} STORED AS TEXTFILE")
    with pytest.raises(InvalidStatementError, match=f"default.{like} is a table USING parquet"):
        spark.sql(f"CREATE TABLE {like}2 LIKE {like} SKEWED BY (s) ON ('z')")
    spark.sql(f"CREATE TABLE {plain} (x INT) STORED AS PARQUET")
    spark.sql(f"CREATE TABLE {plain}2 LIKE {plain}")
    assert metastore.get_table("default", f"{plain}2").skew == NOT_SKEWED
    spark.sql(f"CREATE TABLE IF NOT EXISTS {plain} LIKE {table_name}")
    assert metastore.get_table("default", plain).skew == NOT_SKEWED
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"CREATE TABLE {like}3 LIKE {table_name}_no")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE {}_v SKEWED BY (x) ON (1) AS SELECT 1 AS x", "{}_v AS SELECT cannot be SKEWED BY"),
        ("CREATE TABLE {}_v (x INT) USING parquet SKEWED BY (x) ON (1)", "{}_v cannot be SKEWED BY x.*without USING"),
        ("CREATE TABLE {}_v (x INT) STORED AS DIRECTORIES", "{}_v: STORED AS DIRECTORIES needs SKEWED BY"),
        ("ALTER TABLE {}_view SKEWED BY (x) ON (1)", "default.{}_view is a view"),
        ("ALTER TABLE {}_source SKEWED BY (x) ON (1)", "default.{}_source is a table USING orc"),
        ("ALTER TABLE {} SKEWED BY (x) ON (1), (2)", "the end of the statement"),
        (
            "ALTER TABLE {}_short SKEWED BY (v) ON ('abc')",
            r"default.{}_short, skewed by v: 'abc' is not a value of type",
        ),
        (
            "ALTER TABLE {}_short SKEWED BY (c) ON ('abc')",
            r"default.{}_short, skewed by c: 'abc' is not a value of type",
        ),
        (
            "ALTER TABLE {} SKEWED BY (s) ON (REPEATED) STORED AS DIRECTORIES",
            "default.{}, skewed by s: the directory of zz.*z… would have a name of 256 bytes; the limit",
        ),
        ("INSERT INTO {}_short VALUES ('a', 'b')", "default.{}_short: skew.layout is 'Flat'; it must be"),
        (
            "ALTER TABLE {} SKEWED BY (x) ON (1, 2, 3, 4) STORED AS DIRECTORIES",
            "default.{}, skewed by x, cannot be skewed on 4 values: at most 3",
        ),
        ("ALTER TABLE {} SKEWED BY (p) ON (1)", r"\[Error 10203\].*p \(p is a partition column\); .* of default.{}"),
        (
            "ALTER TABLE {} SKEWED BY (s) ON ('HIVE_DEFAULT_LIST_BUCKETING_KEY')",
            "default.{}: remove HIVE_DEFAULT_LIST_BUCKETING_KEY",
        ),
        (
            "INSERT INTO {} VALUES (1, 'a', 'HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME')",
            "default.{}: the partition value p=HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME",
        ),
        ("ALTER TABLE {} SET SKEWED LOCATION ((1, 'a') = '/x')", "/x is not absolute or has no scheme.*default.{}"),
        ("ALTER TABLE {} SET SKEWED LOCATION (1 = 'file:/x')", r"\[Error 10206\].* 2 : 1 .*default.{}"),
        ("ALTER TABLE {} SET SKEWED LOCATION ((2, 'a') = 'file:/x')", "2, 'a' is not a skewed value of default.{}"),
        ("ALTER TABLE {} SET SKEWED LOCATION (('z', 'a') = 'file:/x')", "default.{}, skewed by x: 'z' is not a value"),
        (
            "ALTER TABLE {} SET SKEWED LOCATION ((1, 'a') = 'file:/x/y', (1, 'b') = 'file:///x')",
            r"locations of 1, b and 1, a overlap: /x/, /x/y/",
        ),
        (
            "ALTER TABLE {} SET SKEWED LOCATION ((1, 'a') = '{place}/..')",
            "the locations of 1, a and all other values overlap",
        ),
        ("ALTER TABLE {}_plain SET SKEWED LOCATION (1 = 'file:/x')", r"\[Error 10196\].*default.{}_plain"),
        (
            "ALTER TABLE {} PARTITION (z = 1) SET SKEWED LOCATION ((1, 'a') = 'file:/x')",
            "z is not a partition column of default.{}",
        ),
        ("ALTER TABLE {} PARTITION (p = 1) SET SKEWED LOCATION ((1, 'a') = 'file:/x')", "does not exist"),
    ],
)
def test_refusals_name_the_table(spark: Session, refusing: tuple[str, str], statement: str, message: str) -> None:
    table, location = refusing
    text = statement.replace("{place}/..", location.rpartition("/")[0]).replace("{}", table)
    text = text.replace("REPEATED", f"'{'z' * 254}'")
    with pytest.raises((SparkClientError, QueryExecutionException), match=message.replace("{}", table)) as raised:
        spark.sql(text)
    assert "\n" not in str(raised.value)


@pytest.fixture(scope="module")
def refusing(spark: Session, metastore: MetastoreClient) -> tuple[str, str]:
    """A skewed table (its name and location) with a view, a plain table and a data source table."""
    name = "refusing"
    spark.sql(
        f"CREATE TABLE {name} (x INT, s STRING) PARTITIONED BY (p STRING) SKEWED BY (x, s) ON ((1, 'a'), (1, 'b')) "
        "STORED AS DIRECTORIES STORED AS PARQUET TBLPROPERTIES ('skew.max.values' = '3')"
    )
    spark.sql(f"CREATE TABLE {name}_short (v VARCHAR(2), c CHAR(2)) SKEWED BY (v, c) ON (('ab ', 'ab ')) STORED AS ORC")
    short = metastore.get_table("default", f"{name}_short")  # by another client: the statement would be rejected
    metastore.alter_table(replace(short, parameters={**short.parameters, "skew.layout": "Flat"}))
    spark.sql(f"CREATE VIEW {name}_view AS SELECT 1 AS x")
    spark.sql(f"CREATE TABLE {name}_source (x INT) USING orc")
    spark.sql(f"CREATE TABLE {name}_plain (x INT) STORED AS ORC")
    return name, described(spark, name)["Location"]


def test_set_skewed_location_sets_the_directory_of_a_value(
    spark: Session, table_name: str, metastore: MetastoreClient, tmp_path: Path
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT, s STRING) PARTITIONED BY (p INT) "
        "SKEWED BY (x) ON (484, 51) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (484, 'a', 1), (51, 'b', 1), (2, 'c', 1), (484, 'z', 2)")
    first, second = metastore.get_partitions("default", table_name)
    shutil.copytree(folder(first.skew.locations["484",]), tmp_path / "elsewhere")
    path = f"file:{tmp_path}/elsewhere"
    default = f"{first.location}/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
    spark.sql(
        f"ALTER TABLE {table_name} PARTITION (p = '01') SET SKEWED LOCATION "
        f"('0484' = '{path}/', 'HIVE_DEFAULT_LIST_BUCKETING_KEY' = '{default}')"
    )
    changed, same = metastore.get_partitions("default", table_name)
    assert changed.skew.locations == {**first.skew.locations, ("484",): path}
    assert same == second
    shutil.rmtree(folder(first.skew.locations["484",]))
    query = spark.table(table_name).where("x = 484").select("s", "p")
    assert sorted(map(tuple, query.collect())) == [("a", 1), ("z", 2)]
    assert scan_report(query).scans[0].kept.directories == 2
    assert spark.table(table_name).count() == 4
    spark.sql(f"INSERT INTO {table_name} VALUES (484, 'd', 1)")
    assert spark.table(table_name).where("x = 484 AND p = 1").count() == 2
    spark.sql(f"ALTER TABLE {table_name} SET SKEWED LOCATION (51 = 'file:{tmp_path}/table')")
    assert metastore.get_table("default", table_name).skew.locations == {("51",): f"file:{tmp_path}/table"}
    spark.sql(f"INSERT INTO {table_name} VALUES (51, 'e', 3)")
    *_, third = metastore.get_partitions("default", table_name)
    assert third.skew.locations["51",].startswith(third.location)
    with pytest.raises(InvalidStatementError, match="use SET LOCATION"):
        spark.sql(
            f"ALTER TABLE {table_name} PARTITION (p = 1) SET SKEWED LOCATION "
            f"('HIVE_DEFAULT_LIST_BUCKETING_KEY' = '{path}')"
        )


def test_a_location_is_not_set_where_a_write_came_between(
    spark: Session, table_name: str, metastore: MetastoreClient
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES "
        "STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    (seen,) = metastore.get_partitions("default", table_name)
    (scanned,) = metastore.plan_scan("default", table_name).partitions
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    with pytest.raises(MetastoreRefusedError, match="another client has changed it"):
        metastore.alter_partition("default", table_name, seen, expected_version=scanned.version)
    assert spark.table(table_name).where("x = 1").count() == 2


def test_the_steps_of_hive_s_own_test(spark: Session, table_name: str, metastore: MetastoreClient) -> None:
    """Hive's create_alter_list_bucketing_table1.q."""

    def skew() -> Skew:
        return metastore.get_table("default", table_name).skew

    create = f"CREATE TABLE {table_name} (col1 STRING, col2 INT, col3 STRING) PARTITIONED BY (ds STRING, hr STRING)"
    spark.sql(f"{create} SKEWED BY (col1, col2) ON (('s1',1),('s3',3),('s13',13)) STORED AS DIRECTORIES STORED AS ORC")
    three = Skew(("col1", "col2"), (("s1", "1"), ("s3", "3"), ("s13", "13")), {}, directories=True)
    assert skew() == three
    for statement, expected in (
        ("NOT STORED AS DIRECTORIES", replace(three, directories=False)),
        ("SET TBLPROPERTIES ('k' = 'v')", replace(three, directories=False)),
        ("NOT SKEWED", NOT_SKEWED),
        ("SKEWED BY (col1, col2) ON (('s1',1))", Skew(("col1", "col2"), (("s1", "1"),))),
        ("SKEWED BY (COL2) ON (('1'),(02)) STORED AS DIRECTORIES", Skew(("col2",), (("1",), ("2",)), {}, True)),
        ("NOT SKEWED", NOT_SKEWED),
    ):
        spark.sql(f"ALTER TABLE {table_name} {statement}")
        assert skew() == expected


@pytest.mark.parametrize("keys", [pytest.param("", marks=pytest.mark.long), "PARTITIONED BY (p INT)"])
def test_a_table_that_is_made_again_over_its_directories_has_all_rows(
    spark: Session, table_name: str, tmp_path: Path, keys: str
) -> None:
    definition = f"CREATE EXTERNAL TABLE {table_name} (x INT, s STRING) {keys} {{skew}} LOCATION '{tmp_path}/t'"
    spark.sql(definition.format(skew=SKEWED))
    key = ", 7" if keys else ""
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'{key}), (NULL, 'it\\'s'{key}), (2, 'b'{key}), (1, 'z'{key})")
    rows = spark.table(table_name).collect()
    for skew in (SKEWED, "SKEWED BY (x, s) ON ((1, 'z')) STORED AS DIRECTORIES"):
        spark.sql(f"DROP TABLE {table_name}")
        spark.sql(definition.format(skew=skew))
        if keys:
            spark.sql(f"MSCK REPAIR TABLE {table_name}")
        assert sorted(spark.table(table_name).collect(), key=str) == sorted(rows, key=str)
        assert spark.sql(f"SELECT s FROM {table_name} WHERE x = 1").count() == 2


@pytest.mark.parametrize("keys", [pytest.param("", marks=pytest.mark.long), "PARTITIONED BY (p INT)"])
def test_directories_that_the_server_cannot_see_are_read(spark: Session, table_name: str, keys: str) -> None:
    """They are outside of its roots; a write to the partition registers them."""
    key, of_seven = (", 7", "PARTITION (p = 7)") if keys else ("", "")
    with TemporaryDirectory() as outside:
        definition = f"CREATE EXTERNAL TABLE {table_name} (x INT, s STRING) {keys} {SKEWED} LOCATION '{outside}/t'"
        definition += " TBLPROPERTIES ('write.mode' = 'versions')"
        spark.sql(definition)
        spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'{key}), (NULL, 'it\\'s'{key}), (2, 'b'{key})")

        def make_again() -> None:
            spark.sql(f"DROP TABLE {table_name}")
            spark.sql(definition)
            if keys:
                spark.sql(f"MSCK REPAIR TABLE {table_name}")

        def actual(condition: str = "true") -> list[tuple[int | None, str]]:
            rows = spark.sql(f"SELECT x, s FROM {table_name} WHERE {condition}").collect()
            return sorted(((row[0], row[1]) for row in rows), key=str)

        def read_files(condition: str) -> int:
            return scan_report(spark.sql(f"SELECT * FROM {table_name} WHERE {condition}")).scans[0].kept.files

        make_again()
        assert actual() == [(1, "a"), (2, "b"), (None, "it's")]
        assert (actual("x = 1"), actual("s = 'it\\'s'"), actual("x = 2")) == ([(1, "a")], [(None, "it's")], [(2, "b")])
        assert (read_files("x = 1 AND s = 'a'"), read_files("x = 2")) == (1, 1)
        for statement, wanted in (
            (f"INSERT INTO {table_name} VALUES (1, 'a'{key})", [(1, "a"), (1, "a"), (2, "b"), (None, "it's")]),
            # Not where the rows of (1, 'a') are.
            (
                f"ALTER TABLE {table_name} {of_seven} SET SKEWED LOCATION ((1, 'a') = 'file:{outside}/else')",
                [(2, "b"), (None, "it's")],
            ),
            (f"DELETE FROM {table_name} WHERE x = 2", [(1, "a"), (1, "a"), (None, "it's")]),
        ):
            make_again()
            spark.sql(statement)
            assert actual() == wanted
