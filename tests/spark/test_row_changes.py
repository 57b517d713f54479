"""DELETE, UPDATE and MERGE INTO: resulting rows, remaining files, and concurrent writers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, QueryExecutionException
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.context import Context
from spark_client.errors import PublishConflictError
from spark_client.jvm.plans import column_attributes
from spark_client.write.change import Change, Clause
from spark_client.write.insert import insert_into
from spark_client.write.row_changes import change_rows
from tests.spark.since import since
from tests.spark.tables import files_below, layout

KINDS = ("STORED AS PARQUET", "USING orc")
BY_OTHERS = r"default\.\S+ is a table (stored as TextInputFormat|USING json|USING parquet with buckets): DELETE,"


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


def make(spark: SparkSession, name: str, kind: str) -> None:
    keys = "x STRING DEFAULT 'd'" if kind.startswith("STORED") else "x STRING DEFAULT 'd', ds INT"
    parts = ("PARTITIONED BY (ds INT)", kind) if kind.startswith("STORED") else (kind, "PARTITIONED BY (ds)")
    spark.sql(f"CREATE TABLE {name} (Id INT, {keys}) {' '.join(parts)}")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', 1), (3, NULL, 2), (4, 'd', 3)")


@pytest.mark.parametrize("kind", [KINDS[0], pytest.param(KINDS[1], marks=pytest.mark.long)])
def test_rows_are_deleted_updated_and_merged(spark: SparkSession, table_name: str, kind: str) -> None:
    make(spark, table_name, kind)
    spark.sql(f"DELETE FROM {table_name} WHERE x = 'a' OR id = 4")
    assert rows(spark, table_name) == [(2, "b", 1), (3, None, 2)]
    spark.sql(f"UPDATE {table_name} AS t SET x = 'new', t.id = id + 10 WHERE x IS NULL")
    assert rows(spark, table_name) == [(13, "new", 2), (2, "b", 1)]
    spark.sql(f"UPDATE {table_name} SET ds = 7, x = DEFAULT WHERE id = 2")
    assert rows(spark, table_name) == [(13, "new", 2), (2, "d", 7)]
    spark.sql(f"DELETE FROM {table_name} WHERE id NOT IN (SELECT CAST(NULL AS INT))")
    spark.sql(f"DELETE FROM {table_name} WHERE id IN (SELECT 13)")
    assert rows(spark, table_name) == [(2, "d", 7)]
    source = "(SELECT * FROM VALUES (2, 'm', 7), (5, 'n', 7), (6, 'o', 9) AS v(id, x, ds))"
    spark.sql(
        f"MERGE INTO {table_name} t USING {source} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(spark, table_name) == [(2, "m", 7), (5, "n", 7), (6, "o", 9)]
    spark.sql(
        f"""MERGE INTO {table_name} t USING (SELECT * FROM VALUES (2), (5), (8) AS v(id)) s ON t.id = s.id
        WHEN MATCHED AND t.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET x = concat(t.x, '!')
        WHEN NOT MATCHED AND s.id > 100 THEN INSERT (id, ds) VALUES (s.id, 1)
        WHEN NOT MATCHED THEN INSERT (id, ds) VALUES (s.id, 7)
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET x = 'alone'"""
    )
    assert rows(spark, table_name) == [(5, "n!", 7), (6, "alone", 9), (8, "d", 7)]


def test_only_partitions_with_such_rows_are_written(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    make(spark, table_name, KINDS[0])
    before = {partition.values: partition.parameters for partition in metastore.get_partitions("default", table_name)}
    spark.sql(f"UPDATE {table_name} SET x = 'z' WHERE id = 3")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 99")
    after = {partition.values: partition.parameters for partition in metastore.get_partitions("default", table_name)}
    assert {values for values in before if before[values] != after[values]} == {("2",)}


def test_skew_and_buckets_are_kept(spark: SparkSession, metastore: MetastoreClient, table_name: str) -> None:
    keys = "PARTITIONED BY (ds STRING) SKEWED BY (a) ON (1) STORED AS DIRECTORIES"
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT) {keys}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1, 'x'), (2, 2, 'x')")
    spark.sql(f"UPDATE {table_name} SET a = 1 WHERE a = 2")
    assert rows(spark, table_name) == [(1, 1, "x"), (1, 2, "x")]
    (partition,) = metastore.get_partitions("default", table_name)
    assert list(layout(partition.location)) == ["a=1"]
    spark.sql(f"CREATE TABLE {table_name}_b (a INT, b INT) CLUSTERED BY (a) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {table_name}_b SELECT id, id FROM range(20)")
    spark.sql(f"DELETE FROM {table_name}_b WHERE b % 2 = 0")
    assert [row[0] for row in spark.sql(f"SELECT a FROM {table_name}_b WHERE a IN (1, 2)").collect()] == [1]


def test_only_skew_directories_with_such_rows_are_written(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    keys = "PARTITIONED BY (ds STRING) SKEWED BY (a) ON (1, 2, 3) STORED AS DIRECTORIES"
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT) {keys}")
    spark.sql(f"INSERT INTO {table_name} SELECT id % 5, id, 'x' FROM range(10) UNION ALL SELECT 1, 1, 'y'")
    known = {(n % 5, n, "x") for n in range(10)} | {(1, 1, "y")}

    def changed(statement: str, wanted: set[Any]) -> set[str]:
        """Returns the heavy values of partition x, and "" for the others, whose files have changed; checks the rows."""

        def files() -> dict[str, set[str]]:
            partition = metastore.get_partition("default", table_name, ["x"])
            assert partition
            places = {"": f"{partition.location}/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"}
            places |= {value[0]: path for value, path in partition.skew.locations.items()}
            assert all(path.startswith(f"{partition.location}/") for path in places.values())
            return {value: files_below(path) for value, path in places.items()}

        before = files()
        spark.sql(statement.format(t=table_name))
        assert set(rows(spark, table_name)) == wanted
        assert {row[1] for row in spark.sql(f"SELECT * FROM {table_name} WHERE a = 3 AND ds = 'x'").collect()} == {
            row[1] for row in wanted if row[0] == 3 and row[2] == "x"
        }
        after = files()
        return {value for value in before | after if before.get(value) != after.get(value)}

    known -= {(1, 1, "x")}
    assert changed("DELETE FROM {t} WHERE b = 1 AND ds = 'x'", known) == {"1"}
    known = known - {(2, 7, "x")} | {(4, 7, "x")}
    assert changed("UPDATE {t} SET a = 4 WHERE b = 7", known) == {"2", ""}
    known -= {(3, 3, "x"), (3, 8, "x")}
    assert changed("DELETE FROM {t} WHERE a = 3", known) == {"3"}
    known = known - {(1, 6, "x")} | {(3, 6, "y"), (3, 50, "x")}
    source = "(SELECT * FROM VALUES (6, 'y'), (50, 'x') AS v(b, ds)) s"
    merge = f"MERGE INTO {{t}} t USING {source} ON t.b = s.b WHEN MATCHED THEN UPDATE SET a = 3, ds = s.ds"
    assert changed(f"{merge} WHEN NOT MATCHED THEN INSERT (a, b, ds) VALUES (3, s.b, s.ds)", known) == {"1", "3"}
    known = {row for row in known if row[1] % 2}
    assert changed("DELETE FROM {t} WHERE b % 2 = 0", known) == {"2", "3", ""}
    metastore.clean("default", table_name, grace=0)
    assert set(rows(spark, table_name)) == known


def test_a_row_moves_from_a_partition_without_skew_directories(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, k INT) PARTITIONED BY (s STRING) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 1, 'x')")
    spark.sql(f"ALTER TABLE {table_name} SKEWED BY (k) ON (1) STORED AS DIRECTORIES")
    spark.sql(f"INSERT INTO {table_name} VALUES (3, 2, 'y')")
    spark.sql(f"MERGE INTO {table_name} t USING (SELECT 1 AS k) s ON t.id > s.k WHEN MATCHED THEN UPDATE SET s = 'y'")
    assert rows(spark, table_name) == [(2, 1, "y"), (3, 2, "y")]


def test_others_find_all_directories_of_a_table_below_its_location(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT) SKEWED BY (a) ON (1, 2, 3) STORED AS DIRECTORIES")
    spark.sql(f"INSERT INTO {table_name} SELECT id % 5, id FROM range(10)")
    known = {(n % 5, n) for n in range(10)}
    for statement, gone, come in (
        ("DELETE FROM {t} WHERE b = 1", {(1, 1)}, set()),
        ("UPDATE {t} SET a = 9 WHERE b = 4", {(4, 4)}, {(9, 4)}),
        ("UPDATE {t} SET a = 3 WHERE b = 2", {(2, 2)}, {(3, 2)}),
        ("DELETE FROM {t} WHERE a IN (0, 4, 9)", {(0, 0), (0, 5), (9, 4), (4, 9)}, set()),
    ):
        spark.sql(statement.format(t=table_name))
        known = known - gone | come
        location = metastore.get_table("default", table_name).location
        below = spark.read.option("recursiveFileLookup", "true").parquet(location or "")
        assert sorted(map(tuple, below.collect())) == sorted(known)
        assert rows(spark, table_name) == sorted(known, key=repr)


def test_only_buckets_with_such_rows_are_written(
    spark: SparkSession, metastore: MetastoreClient, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT) PARTITIONED BY (ds STRING) CLUSTERED BY (a) INTO 5 BUCKETS")
    spark.sql(f"INSERT INTO {table_name} SELECT id % 5, id, 'x' FROM range(10) UNION ALL SELECT 1, 1, 'y'")
    spark.sql(f"INSERT INTO {table_name} VALUES (3, 13, 'x')")
    known = {(n % 5, n, "x") for n in range(10)} | {(1, 1, "y"), (3, 13, "x")}

    def changed(statement: str, wanted: set[Any]) -> set[int]:
        """Returns the buckets of partition x whose files have changed; checks the rows, and the number of reported
        files.
        """

        def files() -> dict[int, set[str]]:
            partition = metastore.get_partition("default", table_name, ["x"])
            assert partition
            actual: dict[int, set[str]] = {}
            for name in files_below(partition.location):
                if not name.startswith("."):
                    actual.setdefault(int(name.split("_")[0]), set()).add(name)
            return actual

        before = files()
        spark.sql(statement.format(t=table_name))
        assert sorted(rows(spark, table_name)) == sorted(wanted)
        pruned = (f"SELECT {n}, b FROM {table_name} WHERE a = {n} AND ds = 'x'" for n in range(5))
        actual = {tuple(row) for row in spark.sql(" UNION ALL ".join(pruned)).collect()}
        assert actual == {row[:2] for row in wanted if row[2] == "x"}
        partition = metastore.get_partition("default", table_name, ["x"])
        assert partition
        assert int(partition.parameters["numRows"]) == sum(row[2] == "x" for row in wanted)
        after = files()
        return {bucket for bucket in before | after if before.get(bucket) != after.get(bucket)}

    known -= {(1, 1, "x")}
    first = changed("DELETE FROM {t} WHERE a = 1 AND b = 1 AND ds = 'x'", known)
    assert len(first) == 1
    known = known - {(2, 7, "x")} | {(1, 7, "x")}
    assert first < changed("UPDATE {t} SET a = 1 WHERE b = 7", known)
    known -= {(1, 6, "x"), (1, 7, "x")}
    assert changed("DELETE FROM {t} WHERE a = 1 AND ds = 'x'", known) == first
    known = known - {(3, 13, "x")} | {(3, 99, "x"), (1, 50, "x"), (1, 51, "z")}
    source = "(SELECT * FROM VALUES (13, 'x'), (50, 'x'), (51, 'z') AS v(b, ds)) s"
    merge = f"MERGE INTO {{t}} t USING {source} ON t.b = s.b WHEN MATCHED THEN UPDATE SET b = 99"
    assert len(changed(f"{merge} WHEN NOT MATCHED THEN INSERT (a, b, ds) VALUES (1, s.b, s.ds)", known)) == 2
    metastore.clean("default", table_name, grace=0)
    assert sorted(rows(spark, table_name)) == sorted(known)


def test_two_rows_of_the_source_must_not_change_one(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 3)")
    merge = f"MERGE INTO {table_name} t USING (SELECT * FROM VALUES (1, 5), (1, 6) v(id, v)) s ON t.id = s.id"
    with pytest.raises(QueryExecutionException, match="several rows of the source"):
        spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET v = s.v")
    spark.sql(f"{merge} WHEN MATCHED AND s.v = 6 THEN UPDATE SET v = s.v")
    assert rows(spark, table_name) == [(1, 6), (2, 3)]
    spark.sql(f"{merge} WHEN MATCHED THEN DELETE")
    assert rows(spark, table_name) == [(2, 3)]
    itself = f"MERGE INTO {table_name} t USING {table_name} s ON t.id = s.id + 1"
    spark.sql(f"{itself} WHEN NOT MATCHED THEN INSERT (id) VALUES (9)")
    assert rows(spark, table_name) == [(2, 3), (9, None)]


def test_a_value_that_does_not_fit_changes_nothing(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, KINDS[0])
    before = rows(spark, table_name)
    with pytest.raises(QueryExecutionException, match=r"changed nothing: .*CAST_OVERFLOW_IN_TABLE_INSERT"):
        spark.sql(f"UPDATE {table_name} SET id = id + 3000000000 WHERE ds = 1")
    assert rows(spark, table_name) == before


def test_unsupported_changes_are_rejected(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, s STRUCT<a: INT, b: INT>, l ARRAY<STRUCT<a: INT>>)")
    spark.sql(f"CREATE VIEW {table_name}_view AS SELECT * FROM {table_name}")
    with pytest.raises(QueryExecutionException, match=r"_view is a view: "):
        spark.sql(f"DELETE FROM {table_name}_view")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, named_struct('a', 1, 'b', 2), NULL)")
    with pytest.raises(AnalysisException, match="only supported for StructType"):
        spark.sql(f"UPDATE {table_name} SET l.a = NULL")
    for again in ("s.a = 5, s.a = 6", "s = NULL, s.a = 6", "s.a = 6, s = NULL", "id = 1, id = 2"):
        with pytest.raises(AnalysisException, match=r"(Multiple|Conflicting) assignments for '(s|s.a|id)'"):
            spark.sql(f"UPDATE {table_name} SET {again}")
    assert rows(spark, table_name) == [(1, (1, 2), None)]


@pytest.mark.parametrize("format_", ["PARQUET", pytest.param("ORC", marks=pytest.mark.long)])
def test_assigned_fields_leave_the_others_unchanged(spark: SparkSession, table_name: str, format_: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, s STRUCT<a: INT, n: STRUCT<x: INT, y: STRING>>) STORED AS {format_}")
    spark.sql(
        f"INSERT INTO {table_name} VALUES (1, named_struct('a', 1, 'n', named_struct('x', 2, 'y', 'k'))), (2, NULL)"
    )
    spark.sql(f"UPDATE {table_name} SET s.n.x = s.a + 4, id = id + 10, s.a = s.n.x")
    assert rows(spark, table_name) == [(11, (2, (5, "k"))), (12, (None, (None, None)))]
    source = "(SELECT 11 AS id, 'm' AS y UNION ALL SELECT 13, 'z')"
    spark.sql(
        f"MERGE INTO {table_name} t USING {source} u ON t.id = u.id WHEN MATCHED THEN UPDATE SET t.s.n.y = u.y "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, NULL) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.a = 0"
    )
    assert rows(spark, table_name) == [(11, (2, (5, "m"))), (12, (0, (None, None))), (13, None)]


@pytest.mark.parametrize("kind", ["STORED AS ORC", pytest.param("USING parquet", marks=pytest.mark.long)])
def test_values_of_char_are_found_and_kept(spark: SparkSession, table_name: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, c CHAR(4), d VARCHAR(9)) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', NULL), (4, NULL, 'z')")
    spark.sql(f"DELETE FROM {table_name} WHERE c = 'a'")
    spark.sql(f"UPDATE {table_name} SET c = 'e', d = c WHERE c BETWEEN 'b' AND 'bz'")
    spark.sql(
        f"MERGE INTO {table_name} t USING {table_name} s ON t.c = s.c "
        "WHEN MATCHED AND s.c = 'c' THEN UPDATE SET d = s.c WHEN NOT MATCHED THEN INSERT (id, c) VALUES (9, 'new')"
    )
    expected = [(2, "e   ", "b   "), (3, "c   ", "c   "), (4, None, "z"), (9, "new ", None)]
    assert rows(spark, table_name) == expected


@pytest.mark.parametrize("kind", ["STORED AS TEXTFILE", "USING json", "USING parquet CLUSTERED BY (id) INTO 2 BUCKETS"])
def test_row_changes_of_tables_of_other_libraries_are_rejected(spark: SparkSession, table_name: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) {kind}")
    for statement in (f"DELETE FROM {table_name} WHERE id = 1", f"UPDATE {table_name} SET id = 1"):
        with pytest.raises(QueryExecutionException, match=rf"^{BY_OTHERS} .*use INSERT OVERWRITE") as refused:
            spark.sql(statement)
        assert "\n" not in str(refused.value)


@since("4.0", "MERGE WITH SCHEMA EVOLUTION")
def test_merging_with_schema_evolution_is_rejected(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    with pytest.raises(QueryExecutionException, match="WITH SCHEMA EVOLUTION"):
        spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {table_name} t USING (SELECT 1 AS id, 2 AS more) s ON t.id = s.id "
            "WHEN MATCHED THEN DELETE"
        )
    assert rows(spark, table_name) == [(1,)]


def test_a_partition_that_is_named_oddly_is_rejected(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, KINDS[0])
    spark.conf.set("spark.sql.legacy.skipTypeValidationOnAlterPartition", "true")
    try:
        spark.sql(f"ALTER TABLE {table_name} ADD PARTITION (ds = '01')")
    finally:
        spark.conf.unset("spark.sql.legacy.skipTypeValidationOnAlterPartition")
    with pytest.raises(QueryExecutionException, match="partition ds=01"):
        spark.sql(f"DELETE FROM {table_name} WHERE id = 1")


def test_concurrent_writes_make_it_fail(spark: SparkSession, context: Context, table_name: str) -> None:
    make(spark, table_name, KINDS[0])
    target = spark.table(table_name)
    change = Change(f"default.{table_name}", target, [Clause("matched", column_attributes(target)["id"] == 1, None)])

    def meet(step: str) -> None:
        if step == "staged":
            insert_into(Context(spark, context.metastore), table_name, spark.sql("SELECT 5, 'e', 1"))

    with pytest.raises(PublishConflictError):
        change_rows(Context(spark, context.metastore, meet), change)
    assert len(rows(spark, table_name)) == 5


VALUE = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.lists(st.tuples(VALUE, VALUE, st.integers(0, 2)), max_size=6)
STATEMENTS = st.lists(
    st.one_of(
        st.tuples(st.just("delete"), VALUE),
        st.tuples(st.just("update"), st.integers(0, 3), VALUE, st.integers(0, 2)),
        st.tuples(st.just("insert"), ROWS),
        st.tuples(st.just("overwrite"), ROWS),
        st.tuples(st.just("merge"), st.dictionaries(st.integers(0, 3), VALUE, max_size=3)),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(first=ROWS, statements=STATEMENTS, kind=st.sampled_from(KINDS))
def test_random_statements_have_the_same_effect_as_on_rows_in_memory(
    spark: SparkSession, table_name: str, first: list[Any], statements: list[Any], kind: str
) -> None:
    name = f"{table_name}_{abs(hash(repr((first, statements, kind))))}"
    order = f"PARTITIONED BY (p INT) {kind}" if kind.startswith("STORED") else f"{kind} PARTITIONED BY (p)"
    spark.sql(f"CREATE TABLE {name} (a INT, b INT{'' if kind.startswith('STORED') else ', p INT'}) {order}")
    known: list[Any] = []
    for statement in [("insert", first), *statements]:
        known = in_memory(known, statement)
        run(spark, name, statement)
        assert rows(spark, name) == sorted(known, key=repr), statement
    spark.sql(f"DROP TABLE {name}")


def run(spark: SparkSession, name: str, statement: Any) -> None:
    match statement:
        case ("delete", value):
            spark.sql(f"DELETE FROM {name} WHERE b = {text(value)} OR (a IS NULL AND {text(value)} IS NULL)")
        case ("update", a, value, partition):
            spark.sql(f"UPDATE {name} SET b = {text(value)}, p = {partition} WHERE a <= {a}")
        case ("insert" | "overwrite", data):
            verb = "INTO" if statement[0] == "insert" else "OVERWRITE"
            spark.createDataFrame(data, "a INT, b INT, p INT").createOrReplaceTempView("given")
            spark.sql(f"INSERT {verb} {name} SELECT * FROM given")
        case ("merge", given_):
            spark.createDataFrame(list(given_.items()), "k INT, v INT").createOrReplaceTempView("given")
            spark.sql(
                f"MERGE INTO {name} t USING given s ON t.a = s.k WHEN MATCHED AND s.v IS NULL THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET b = s.v WHEN NOT MATCHED THEN INSERT (a, b, p) VALUES (s.k, s.v, 1)"
            )


def text(value: int | None) -> str:
    return "NULL" if value is None else str(value)


def in_memory(known: list[Any], statement: Any) -> list[Any]:
    match statement:
        case ("delete", value):
            if value is None:
                return [row for row in known if row[0] is not None]
            return [row for row in known if row[1] != value]
        case ("update", a, value, partition):
            return [(row[0], value, partition) if row[0] is not None and row[0] <= a else row for row in known]
        case ("insert", data):
            return known + data
        case ("overwrite", data):
            replaced = {row[2] for row in data}
            return [row for row in known if row[2] not in replaced] + data
        case ("merge", given_):
            there = {row[0] for row in known}
            new = [(key, value, 1) for key, value in given_.items() if key not in there]
            kept = [row for row in known if row[0] not in given_]
            changed = [
                (row[0], given_[row[0]], row[2]) for row in known if row[0] in given_ and given_[row[0]] is not None
            ]
            return kept + changed + new
    raise AssertionError(statement)
