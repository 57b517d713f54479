"""find_skew finds heavy values, however the rows are distributed, and reports its accuracy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.domain.skew import MAX_VALUES
from spark_client import Session, find_skew, survey_skew
from spark_client.commands import json_answer as answering
from spark_client.commands import suggest_skew as command
from spark_client.errors import InvalidStatementError
from spark_client.jvm.versions import COUNTS_TOP_K
from spark_client.table.skew_limits import MAX_VALUES_SETTING


def zipf(spark: Session, rows: int, exponent: float, seed: int, tasks: int, *, ordered: bool) -> DataFrame:
    """Values 1, 2, 3 … with frequencies that fall by a power, in this number of tasks; some are null."""
    uniform = f"(pmod(xxhash64(id, {seed}), 1000003) + 1) / 1000004.0D"
    value = f"CAST(floor(least(1e15, pow({uniform}, -1 / {exponent}))) AS BIGINT)"
    actual = spark.range(0, rows, 1, tasks).selectExpr(f"nullif({value}, 5) AS x", "id % 3 AS y")
    return actual.orderBy("x").coalesce(tasks) if ordered else actual


# The fewest distinct values for which a sketch drops some are 75 % of its size.
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    exponent=st.sampled_from([0.2, 0.4, 0.8, 1.5]),
    seed=st.integers(0, 1_000),
    tasks=st.integers(1, 7),
    share=st.sampled_from([0.03, 0.05, 0.2]),
    ordered=st.booleans(),
)
def test_every_heavy_value_is_found_and_no_light_one(
    spark: Session, *, exponent: float, seed: int, tasks: int, share: float, ordered: bool
) -> None:
    rows = 60_000
    frame = zipf(spark, rows, exponent, seed, tasks, ordered=ordered)
    exact = {DEFAULT_PARTITION if x is None else str(x): n for x, n in frame.groupBy("x").count().collect()}
    skew = find_skew(frame, "x", share=share)
    counted = {value.values[0]: value.rows for value in skew.values}
    assert skew.rows == rows
    assert (0 < skew.error <= 0.03 * share * rows) if COUNTS_TOP_K else skew.error == 0  # then all are counted
    assert {value for value, n in exact.items() if n >= share * rows} <= counted.keys()
    assert all(0 <= counted[value] - exact[value] <= skew.error for value in counted)
    assert list(counted.values()) == sorted(counted.values(), reverse=True)


def test_the_property_is_about_sketches_that_forget(spark: Session) -> None:
    frame = zipf(spark, 60_000, 0.2, 7, 2, ordered=False)
    assert frame.select("x").distinct().count() > 8_192


def test_the_saved_bytes(spark: Session) -> None:
    rows = [("a",)] * 60 + [("b",)] * 20 + [(f"c{n}",) for n in range(20)]
    skew = find_skew(spark.createDataFrame(rows, "x string"), "X", share=0.1)
    assert [(value.values, value.rows, value.share, value.pruned) for value in skew.values] == [
        (("a",), 60, 0.6, 0.4),
        (("b",), 20, 0.2, 0.8),
    ]
    assert skew.rest == pytest.approx(0.2)
    assert skew.pruned == pytest.approx(1 - 0.36 - 0.04 - 0.04)
    assert skew.clause == "SKEWED BY (`x`) ON ('a', 'b') STORED AS DIRECTORIES"
    assert str(skew).splitlines() == [
        "x: 2 heavy values in 100 rows",
        "a: 60.00% of the rows (60); prunes 40.00%",
        "b: 20.00% of the rows (20); prunes 80.00%",
        "other values: 20.00%; prunes 80.00%. On average, a query skips 56.00%",
    ]


def test_nothing_is_heavy_in_no_rows(spark: Session) -> None:
    skew = find_skew(spark.createDataFrame([], "x string"), "x")
    assert (skew.values, skew.rows, skew.clause) == ((), 0, "")
    assert str(skew) == "x: no value is heavy in 0 rows"


def test_the_clause_makes_a_table_that_prunes(spark: Session, table_name: str) -> None:
    """Through SQL and back, with texts that need quoting, null, and values of other types."""
    heavy = [("it's\\a", Decimal("1.50")), (None, Decimal("1.50")), ("b", None), ("'", Decimal(2)), ("", Decimal(3))]
    rows = [row for row in heavy for _ in range(10)] + [(f"r{n}", Decimal(n)) for n in range(10)]
    frame = spark.createDataFrame(rows, "s string, d decimal(6,2)")
    actual = find_skew(frame, ["s", "d"], share=0.1)
    assert {value.values for value in actual.values} == {
        ("it's\\a", "1.5"), (DEFAULT_PARTITION, "1.5"), ("b", DEFAULT_PARTITION), ("'", "2"), ("", "3"),
    }  # fmt: skip
    spark.sql(
        f"CREATE TABLE {table_name} (s STRING, d DECIMAL(6,2)) PARTITIONED BY (p INT) {actual.clause} STORED AS PARQUET"
    )
    table = spark.metastore.get_table("default", table_name)
    assert table.skew.values == tuple(value.values for value in actual.values)
    frame.selectExpr("*", "1 AS p").write.insertInto(table_name)
    (partition,) = spark.metastore.get_partitions("default", table_name)
    assert len(partition.skew.locations) == 5
    again = find_skew(table_name, ["s", "d"], share=0.1, spark=spark)
    assert {value.values for value in again.values} == {value.values for value in actual.values}


def test_types_are_texts_as_the_writer_has_them(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (c CHAR(5), t DATE, b BOOLEAN, l ARRAY<INT>) PARTITIONED BY (p INT)")
    spark.createDataFrame(
        [("ab", date(2020, 1, 31), True, [1], 1)] * 3, "c string, t date, b boolean, l array<int>, p int"
    ).write.insertInto(table_name)
    skew = find_skew(table_name, ["c", "t", "b"], spark=spark)
    assert [value.values for value in skew.values] == [("ab", "2020-01-31", "true")]
    assert [suggestion.columns for suggestion in survey_skew(table_name, spark=spark)] == [("c",), ("t",), ("b",)]


def test_a_survey_begins_with_the_largest_saving(spark: Session) -> None:
    frame = spark.range(1000).selectExpr("id", "id % 50 AS even", "if(id % 2 = 0, 1, id) AS half")
    actual_survey_skew = survey_skew(frame, share=0.02, limit=60)
    assert [suggestion.columns[0] for suggestion in actual_survey_skew] == ["even", "half", "id"]
    assert [len(suggestion.values) for suggestion in actual_survey_skew] == [50, 1, 0]


def test_a_value_too_long_for_a_directory_is_not_proposed(spark: Session) -> None:
    frame = spark.createDataFrame([("x" * 300,)] * 5 + [("x" * 254,)] * 5 + [("ok",)] * 5, "x string")
    assert [value.values for value in find_skew(frame, "x").values] == [("ok",)]


def test_never_more_values_than_a_table_may_have(spark: Session, table_name: str) -> None:
    frame = spark.range(1000).selectExpr("id % 150 AS x", "1 AS p")
    with pytest.raises(InvalidStatementError, match=r"more than 100 values of x have that share .*skew\.max\.values"):
        find_skew(frame, "x", share=0.001)
    assert len(find_skew(frame, "x", share=0.001, limit=20).values) == 20
    with pytest.raises(InvalidStatementError, match="the limit is 101; it must be from 1 to 100"):
        find_skew(frame, "x", limit=101)
    spark.sql(f"CREATE TABLE {table_name} (x BIGINT) PARTITIONED BY (p INT) TBLPROPERTIES ('{MAX_VALUES}'='150')")
    frame.write.insertInto(table_name)
    assert len(find_skew(table_name, "x", share=0.001, spark=spark).values) == 150


def test_a_setting_of_the_session_limits_the_number_of_values(spark: Session) -> None:
    spark.conf.set(MAX_VALUES_SETTING, "3")
    try:
        with pytest.raises(InvalidStatementError, match="more than 3 values"):
            find_skew(spark.range(4), "id")
    finally:
        spark.conf.unset(MAX_VALUES_SETTING)


def test_the_sessions_limit_is_stored_for_the_metastore(spark: Session, table_name: str) -> None:
    values = ", ".join(map(str, range(101)))
    statement = f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) SKEWED BY (x) ON ({values}) STORED AS ORC"
    with pytest.raises(InvalidStatementError, match=r"cannot be skewed on 101 values: at most 100 .*skew\.max\.values"):
        spark.sql(statement)
    spark.conf.set(MAX_VALUES_SETTING, "120")
    try:
        spark.sql(statement)
    finally:
        spark.conf.unset(MAX_VALUES_SETTING)
    table = spark.metastore.get_table("default", table_name)
    assert (len(table.skew.values), table.parameters[MAX_VALUES]) == (101, "120")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda spark, table: find_skew(table, "z", spark=spark), "no column z of .*; the columns are a, b"),
        (lambda spark, table: find_skew(table, "p", spark=spark), "p is a partition column of .*"),
        (lambda spark, table: find_skew(table, "b", spark=spark), "b of .* has type array<int>"),
        (lambda spark, table: find_skew(table, [], spark=spark), "list one or more columns"),
        (lambda spark, table: find_skew(table, ["a", "A"], spark=spark), "each only once"),
        (lambda spark, table: find_skew(table, "a", share=0, spark=spark), "the share is 0"),
    ],
)
def test_rejections_name_the_cause(
    spark: Session, table_name: str, ask: Callable[[Session, str], object], message: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b ARRAY<INT>) PARTITIONED BY (p INT) STORED AS PARQUET")
    with pytest.raises(InvalidStatementError, match=message):
        ask(spark, table_name)


def test_a_view_is_a_table_like_any_other(spark: Session, table_name: str) -> None:
    spark.range(10).selectExpr("id % 2 AS x").createOrReplaceTempView(table_name)
    counts = Counter({value.values: value.rows for value in find_skew(table_name, "x", spark=spark).values})
    spark.catalog.dropTempView(table_name)
    assert counts == {("0",): 5, ("1",): 5}


def test_the_command_has_it_as_json(
    spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Kept:
        """A session that other tests still use: it is not stopped."""

        def __getattr__(self, name: str) -> object:
            return getattr(spark, name)

        def stop(self) -> None: ...

    monkeypatch.setattr(answering, "session", lambda *_, **__: Kept())
    monkeypatch.setattr(answering, "_require_table", lambda _: None)  # of a temporary view
    spark.range(10).selectExpr("if(id < 8, 'a', 'b') AS x", "id").createOrReplaceTempView(table_name)
    asked = [table_name, "--uri=thrift://h:1", "--share=0.3"]
    assert command.main([*asked, "--columns= x "]) == 0
    (actual,) = json.loads(capsys.readouterr().out)["suggestions"]
    counted = {"values": ["a"], "rows": 8, "share": 0.8, "pruned": pytest.approx(0.2)}
    assert actual["values"] == [{**counted, "saved_bytes": None, "deserves_directory": True}]
    assert actual["clause"].startswith("SKEWED BY (`x`) ON ('a')")
    assert command.main(asked) == 0
    assert [load["columns"] for load in json.loads(capsys.readouterr().out)["suggestions"]] == [["x"], ["id"]]
    assert command.main([*asked, "--columns=z"]) == 1
    assert json.loads(capsys.readouterr().out) == {"error": f"no column z of {table_name}; the columns are x, id"}
    spark.catalog.dropTempView(table_name)


def test_each_session_reads_its_own_table(spark: Session, table_name: str) -> None:
    other = spark.newSession()
    for session, value in ((spark, "here"), (other, "there")):
        session.range(4).selectExpr(f"'{value}' AS x").createOrReplaceTempView(table_name)
    for session, value in ((spark, "here"), (other, "there"), (spark, "here")):
        assert [row.value for row in session.sql(f"SHOW SKEW IN {table_name}").collect()] == [value]
        assert [row.value for row in session.sql(f"SHOW SKEW IN {table_name} (x)").collect()] == [value]
        assert find_skew(table_name, "x", spark=session).values[0].values == (value,)
    spark.catalog.dropTempView(table_name)


def test_a_thread_without_an_active_session_finds_skew_and_writes(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x STRING) STORED AS PARQUET")

    def work() -> list[tuple[str, ...]]:
        spark.sql(f"INSERT INTO {table_name} VALUES ('a'), ('a')")
        (row,) = spark.sql(f"SHOW SKEW IN {table_name}").collect()
        assert (row.value, row.saved_bytes, row.clause) == ("a", 0, None), "the table is too small for directories"
        return [value.values for value in find_skew(table_name, "x", spark=spark).values]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == [("a",)]


def test_a_name_may_have_a_catalog(spark: Session, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (x STRING) PARTITIONED BY (p INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES ('a', 1), ('a', 1)")
    for catalog in ("hive", "spark_catalog"):
        assert [row.columns for row in spark.sql(f"SHOW SKEW IN {catalog}.default.{table_name}").collect()] == ["x"]


def test_a_name_needs_a_session() -> None:
    with pytest.raises(InvalidStatementError, match=r"find_skew needs the session that contains t: pass spark="):
        find_skew("t", "x")
