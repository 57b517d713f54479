"""skew_join returns the rows of the plain join, for all join types, keys and heavy values; and it broadcasts."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from spark_client import Session, find_skew, scan_report, skew_join
from spark_client.errors import InvalidStatementError

TYPES = ["inner", "left", "right", "full", "semi", "anti"]
# Pairs of types that Spark compares, with values of one side and of the other.
SIDES: list[tuple[str, list[Any], str, list[Any]]] = [
    ("int", [1, 2, 3, None], "int", [1, 2, 4, None]),
    ("int", [1, 2, 3, None], "bigint", [1, 2, 2**40, None]),
    ("string", ["1", "01", "2", "x", "", None], "string", ["1", "01", "y", "", None]),
    ("string", ["1", "01", "2", " 2", None], "int", [1, 2, 3, None]),
    ("int", [1, 2, 3, None], "string", ["1", "01", "2", None]),
    ("decimal(6,2)", [Decimal("1.50"), Decimal(2), None], "decimal(10,1)", [Decimal("1.5"), Decimal(3), None]),
    ("double", [0.0, -0.0, float("nan"), 1.5, None], "double", [0.0, -0.0, float("nan"), 2.5, None]),
    ("double", [0.0, -0.0, float("nan"), 1.0, None], "int", [0, 1, None]),
    ("date", [datetime.date(2020, 1, 31), datetime.date(1969, 12, 31), None], "string", ["2020-01-31", "1969-12-31"]),
    ("boolean", [True, False, None], "boolean", [True, None]),
]


@st.composite
def sides(draw: st.DrawFn) -> tuple[Any, ...]:
    """Types of one or two keys on both sides, their rows, values declared heavy (perhaps missing), joins."""
    keys = draw(st.lists(st.sampled_from(SIDES), min_size=1, max_size=2))
    ours, theirs = (st.tuples(*(st.sampled_from(key[location]) for key in keys)) for location in (1, 3))
    left, right = draw(st.lists(ours, max_size=25)), draw(st.lists(theirs, max_size=12))
    heavy, hows = draw(st.lists(ours, max_size=4)), draw(st.permutations(TYPES))[:3]
    return [(key[0], key[2]) for key in keys], left, right, heavy, hows


def frames(
    spark: Session, types: list[tuple[str, str]], left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]
) -> tuple[DataFrame, DataFrame, list[str]]:
    """Both sides with a number for each row, and a column `v` that both have."""
    names = [f"k{number}" for number in range(len(types))]
    return (
        _frame(spark, names, [text for text, _ in types], left, "l"),
        _frame(spark, names, [text for _, text in types], right, "r"),
        names,
    )


def _frame(spark: Session, names: list[str], types: list[str], rows: list[tuple[Any, ...]], id_: str) -> DataFrame:
    schema = ", ".join([f"{id_} int", *(f"{name} {type_}" for name, type_ in zip(names, types, strict=True)), "v int"])
    return spark.createDataFrame([(n, *row, n % 3) for n, row in enumerate(rows)], schema)


def rows(*frames: DataFrame) -> list[Counter[str]]:
    """Returns the rows of each frame, all in one query, because a query takes longer than its rows."""
    texts = [
        frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).select(
            F.lit(number).alias("number"),
            F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"),
        )
        for number, frame in enumerate(frames)
    ]
    whole = texts[0]
    for text in texts[1:]:
        whole = whole.unionAll(text)
    actual: list[Counter[str]] = [Counter() for _ in frames]
    for number, row in whole.collect():
        actual[number][row] += 1
    return actual


@pytest.fixture
def no_broadcasts(spark: Session) -> Iterator[None]:
    """The columns, except those that are requested otherwise."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.fixture
def quick_plans(spark: Session) -> Iterator[None]:
    """Plans many joins of a few rows, without code generation and adaptive execution."""
    settings_ = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    for name, value in settings_.items():
        spark.conf.set(name, value)
    yield
    for name in settings_:
        spark.conf.unset(name)


# Without shrinking: each step costs a query, and the message names everything.
@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=sides())
def test_the_rows_equal_the_plain_joins(spark: Session, quick_plans: None, data: Any) -> None:
    types, left_rows, right_rows, heavy, hows = data
    left, right, names = frames(spark, types, left_rows, right_rows)
    joins = []
    for how in hows:
        plain, split = left.join(right, names, how), skew_join(left, right, names, how, values=heavy)
        assert split.columns == plain.columns
        assert [type_ for _, type_ in split.dtypes] == [type_ for _, type_ in plain.dtypes]
        joins += [plain, split]
    actual = rows(*joins)
    for how, plain_rows, split_rows in zip(hows, actual[::2], actual[1::2], strict=True):
        assert split_rows == plain_rows, how


def conditions(left: DataFrame, right: DataFrame) -> dict[str, Any]:
    """Returns other conditions with the same meaning."""
    return {
        "more than keys": (left["k0"] == right["k0"]) & (left["v"] >= right["v"]),
        "null-safe": left["k0"].eqNullSafe(right["k0"]),
        "two": [left["k0"] == right["k0"], left["v"] == right["v"]],
        "an expression beside it": (left["k0"] == right["k0"]) & (left["v"] + 1 == right["v"]),
    }


@pytest.mark.parametrize(
    "condition",
    [
        "more than keys",
        "null-safe",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("two", "an expression beside it")),
    ],
)
def test_conditions_are_kept(spark: Session, quick_plans: None, condition: str) -> None:
    keys = [1, 1, 1, 2, 3, None, None]
    left, right, _ = frames(spark, [("int", "int")], [(key,) for key in keys], [(1,), (1,), (2,), (None,), (9,)])
    joins = []
    for how in TYPES:
        on = conditions(left, right)[condition]
        joins += [left.join(right, on, how), skew_join(left, right, on, how, values=[1, None], columns="k0")]
    actual = rows(*joins)
    for how, plain, split in zip(TYPES, actual[::2], actual[1::2], strict=True):
        assert plain, how
        assert split == plain, how


def test_a_frame_joins_itself(spark: Session) -> None:
    frame = spark.createDataFrame([(1, 0), (1, 1), (2, 2), (None, 3)], "k int, v int")
    plain, split = rows(frame.join(frame, "k", "left"), skew_join(frame, frame, "k", "left", values=[1]))
    assert split == plain


def test_padded_columns(spark: Session, quick_plans: None, table_name: str) -> None:
    """Spark pads char(n), and constants compared with it: heavy values must not differ between the sides."""
    spark.sql(f"CREATE TABLE {table_name} (k CHAR(4), v INT) SKEWED BY (k) ON ('ab', NULL) STORED AS PARQUET")
    spark.sql(f"CREATE TABLE {table_name}_r (k VARCHAR(6), w INT) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES ('ab', 1), ('x', 2), (NULL, 3)")
    spark.sql(f"INSERT INTO {table_name}_r VALUES ('ab', 1), ('ab  ', 2), ('x   ', 3), (NULL, 4)")
    left, right = spark.table(table_name), spark.table(f"{table_name}_r")
    query = f"SELECT {{}} a.k, b.w FROM {table_name} a JOIN {table_name}_r b ON a.k = b.k"
    joins = [spark.sql(query.format(hint)) for hint in ("", "/*+ SKEW_JOIN(a) */")]
    for how in ("right", "anti"):
        joins += [left.join(right, "k", how), skew_join(left, right, "k", how, values=["ab"])]
    assert all(len(strategies(split)) > 1 for split in joins[1::2])
    actual = rows(*joins)
    assert [sum(plain.values()) for plain in actual[::2]] == [2, 4, 1]
    assert actual[1::2] == actual[::2]


@pytest.fixture(scope="module")
def skewed(spark: Session) -> str:
    """A table in whose partitions 90 % of the rows have the values 1 and 2 of x."""
    spark.sql(
        "CREATE TABLE joined (id BIGINT, x INT, y STRING) PARTITIONED BY (p INT) SKEWED BY (x) ON (1, 2) "
        "STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.range(0, 2000, 1, 2).selectExpr(
        "id",
        "CASE WHEN id % 10 < 6 THEN 1 WHEN id % 10 < 9 THEN 2 ELSE 10 + id % 70 END AS x",
        "'y' AS y",
        "id % 2 AS p",
    ).write.insertInto("joined")
    return "joined"


@pytest.fixture(scope="module")
def names(spark: Session) -> DataFrame:
    return spark.range(0, 100).selectExpr("int(id) AS x", "concat('n', id) AS name")


def strategies(frame: DataFrame) -> list[str]:
    """Returns the joins of the physical plan."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return sorted(word for word in plan.replace("(", " ").split() if word.endswith("Join"))


@pytest.mark.parametrize(
    "how", [*TYPES[:2], *(pytest.param(how, marks=pytest.mark.long) for how in TYPES[2:5]), "anti"]
)
def test_heavy_rows_are_broadcast_to_and_read_once(
    spark: Session, skewed: str, names: DataFrame, no_broadcasts: None, how: str
) -> None:
    """The heavy values are the table's; each half reads only its own directories."""
    left, plain = spark.table(skewed), spark.table(skewed).join(names, "x", how)
    split = skew_join(left, names, "x", how)
    assert strategies(plain) == ["SortMergeJoin"]
    assert {"BroadcastHashJoin", "SortMergeJoin"} == set(strategies(split))
    plain_rows, split_rows = rows(plain, split)
    assert plain_rows == split_rows
    if how in ("inner", "left", "semi", "anti"):
        scans = scan_report(split).scans
        assert [scan.kept.directories for scan in scans] == [4, 2]  # x=1 and x=2 of both days; the default ones


def test_the_hint_finds_the_table_in_a_subquery(spark: Session, skewed: str, names: DataFrame) -> None:
    frame = spark.table(skewed).where("p = 1").withColumn("z", F.lit(1))
    assert "BroadcastHashJoin" in strategies(skew_join(frame, names, "x"))
    copied = spark.createDataFrame(frame.collect(), frame.schema)
    assert "BroadcastHashJoin" in strategies(skew_join(copied, names, "x", table=f"default.{skewed}"))
    actual = [value.values for value in find_skew(copied, "x", share=0.1).values]
    assert "BroadcastHashJoin" in strategies(skew_join(copied, names, "x", values=actual))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda left, right: skew_join(right, left, "x"),
            r"no skewed values are recorded for the tables of the left side",
        ),
        (lambda left, right: skew_join(left, right, "x", "cross"), r"skew_join needs columns that the join compares"),
        (lambda left, right: skew_join(left, right, left["id"] < right["x"]), r"skew_join needs columns"),
        (lambda left, right: skew_join(left, right, left["id"] == right["x"]), r"the heavy values belong to x, but"),
        (lambda left, right: skew_join(left, right, left["x"] == right["x"], values=[1]), r"columns=…"),
        (
            lambda left, right: skew_join(left, right, "x", values=[(1, 2)]),
            r"\(1, 2\) is not a value of \(x\): it needs 1",
        ),
    ],
)
def test_rejections_name_missing_parts(spark: Session, skewed: str, names: DataFrame, ask: Any, message: str) -> None:
    with pytest.raises(InvalidStatementError, match=message):
        ask(spark.table(skewed), names)


def test_without_heavy_values_it_is_the_plain_join(spark: Session, names: DataFrame) -> None:
    left = spark.range(10).selectExpr("int(id) AS x")
    for values in ([], ["not a number"]):
        split = skew_join(left, names, "x", values=values)
        assert len(strategies(split)) == 1
        assert split.count() == 10


HINTED = [
    "SELECT /*+ SKEW_JOIN(f) */ f.id, n.name FROM joined f JOIN names n ON f.x = n.x",
    "SELECT /*+ skew_join(joined) */ x, count(*), max(name) FROM joined JOIN names USING (x) WHERE p = 1 GROUP BY x",
    "SELECT /*+ SKEW_JOIN(f) */ f.id, n.name, n.x FROM names n LEFT JOIN joined f ON n.x = f.x AND f.id > 100",
    "SELECT /*+ SKEW_JOIN(f) */ f.*, n.* FROM names n RIGHT JOIN joined f ON n.x = f.x ORDER BY f.id",
    "SELECT /*+ SKEW_JOIN(f) */ id FROM joined f LEFT ANTI JOIN names n ON n.x = f.x AND n.x <> 2",
    "SELECT a.id FROM (SELECT /*+ SKEW_JOIN(f) */ f.id FROM joined f JOIN names n ON f.x = n.x) a WHERE a.id < 50",
    "SELECT /*+ SKEW_JOIN(f) */ f.id, n.name, m.name FROM joined f JOIN names n ON f.x = n.x JOIN names m ON f.x = m.x",
]


@pytest.mark.parametrize("query", HINTED)
def test_a_hint_splits_the_joins_of_a_table(
    spark: Session, skewed: str, names: DataFrame, quick_plans: None, no_broadcasts: None, query: str
) -> None:
    names.createOrReplaceTempView("names")
    hinted, plain = spark.sql(query), spark.sql(re.sub(r"/\*.*?\*/", "", query))
    assert "BroadcastHashJoin" in strategies(hinted)
    assert "BroadcastHashJoin" not in strategies(plain)
    assert hinted.schema.names == plain.schema.names
    plain_rows, hinted_rows = rows(plain, hinted)
    assert plain_rows
    assert hinted_rows == plain_rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT /*+ SKEW_JOIN(names) */ name FROM joined JOIN names USING (x)",
        "SELECT /*+ SKEW_JOIN(joined) */ name FROM joined JOIN names ON id < name",
        "SELECT /*+ SKEW_JOIN(joined) */ name FROM names LEFT SEMI JOIN joined USING (x)",
        "SELECT /*+ SKEW_JOIN(nobody) */ name FROM joined JOIN names USING (x)",
        "SELECT /*+ SKEW_JOIN(joined) */ id FROM joined",
    ],
)
def test_a_hint_that_cannot_be_followed_changes_nothing(
    spark: Session, skewed: str, names: DataFrame, quick_plans: None, no_broadcasts: None, query: str
) -> None:
    names.createOrReplaceTempView("names")
    assert len(strategies(spark.sql(query))) <= 1
