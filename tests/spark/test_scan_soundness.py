"""Pruned and unpruned results are equal: random tables and predicates, compared with the same rows in memory."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spark_client import Session, scan_report

ROWS_PER_INSERT = 24  # rows; almost each has its own file where there are two partition columns
INSTANTS = (
    "2020-01-31 12:00:00.500000",
    "1969-12-31 23:59:59",
)  # in the session's zone; ORC shifts fractions before 1970
# Column → type, values of rows, and values of predicates only.
COLUMNS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "n": ("INT", [-1, 0, 1, 2, 10], [9, 11, 100]),
    "s": ("STRING", ["", "a", "A", "ab", "b/c=d%", "ä", "10", "9"], ["aa", "z", "%"]),
    "d": ("DECIMAL(6,2)", [Decimal("-1.50"), Decimal("0.00"), Decimal("1.50"), Decimal("10.00")], [Decimal("9.99")]),
    "t": ("DATE", [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1), datetime.date(1969, 12, 31)], []),
    "f": ("DOUBLE", [-0.5, 0.0, 1.5, 1e20, float("inf")], [2.0]),
    "b": ("BOOLEAN", [True, False], []),
    "l": ("BIGINT", [-(2**40), 0, 2**40], [1]),
    "m": ("TIMESTAMP", [datetime.datetime.fromisoformat(text) for text in INSTANTS], []),
}
# A timestamp's directory depends on the zone of the session that writes it.
PARTITIONABLE = sorted(set(COLUMNS) - {"m"})


def literal(value: Any) -> str:
    """Returns the value as SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return f"'{value}'"
        case datetime.datetime():
            return f"TIMESTAMP'{value}'"
        case datetime.date():
            return f"DATE'{value}'"
        case float():
            return f"CAST('{value}' AS DOUBLE)"
    return str(value)


@dataclass(frozen=True)
class Pair:
    """A list-bucketed table, and a view of its rows without directories."""

    table: str
    rows: str
    columns: tuple[str, ...]


def _skew(chance: random.Random, columns: list[str]) -> str:
    names = chance.sample(columns, chance.choice([1, 2, 3]))
    tuples = {
        tuple(_declared(chance.choice([*COLUMNS[name][1], *COLUMNS[name][2], None])) for name in names)
        for _ in range(chance.randint(1, 5))
    }
    values = ", ".join(f"({', '.join(value)})" for value in sorted(tuples))
    return f"SKEWED BY ({', '.join(names)}) ON ({values})"


def _declared(value: Any) -> str:
    """SKEWED BY takes literals only."""
    return f"'{value}'" if isinstance(value, float) else literal(value)


def _row(chance: random.Random, columns: list[str]) -> list[Any]:
    return [chance.choice([*COLUMNS[name][1], None]) for name in columns]


@pytest.fixture(scope="module", params=[0, 1, 5, 6])  # one and two partition columns, none; one to three skewed ones
def pair(request: pytest.FixtureRequest, spark: Session) -> Iterator[Pair]:
    """Four INSERTs. Between them the table's skew and layout change, which existing partitions do not follow."""
    chance = random.Random(request.param)
    partitioned = chance.sample(PARTITIONABLE, chance.choice([0, 1, 2]))
    data = chance.sample(sorted(set(COLUMNS) - set(partitioned)), 5)
    table, view = f"sound_{request.param}", f"sound_{request.param}_rows"
    names = [*data, *partitioned]
    by = f"PARTITIONED BY ({', '.join(f'{name} {COLUMNS[name][0]}' for name in partitioned)})" if partitioned else ""
    spark.sql(
        f"CREATE TABLE {table} ({', '.join(f'{name} {COLUMNS[name][0]}' for name in data)}) {by} "
        f"{_skew(chance, data)} STORED AS DIRECTORIES STORED AS {chance.choice(['PARQUET', 'ORC'])} "
        f"TBLPROPERTIES ('skew.layout' = '{chance.choice(['directories', 'flat'])}')"
    )
    schema = ", ".join(f"{name} {COLUMNS[name][0]}" for name in names)
    everything: list[list[Any]] = []
    layout = chance.choice(["directories", "flat"])
    for change in (
        f"{_skew(chance, data)} STORED AS DIRECTORIES",
        f"SET TBLPROPERTIES ('skew.layout' = '{layout}')",
        "NOT SKEWED",
        None,
    ):
        rows = [_row(chance, names) for _ in range(ROWS_PER_INSERT)]
        everything += rows
        spark.createDataFrame(rows, schema).coalesce(1).write.insertInto(table)
        if change is not None and partitioned:
            spark.sql(f"ALTER TABLE {table} {change}")
    # In partition columns the empty string is null.
    rows = [
        [None if name in partitioned and value == "" else value for name, value in zip(names, row, strict=True)]
        for row in everything
    ]
    spark.createDataFrame(rows, schema).coalesce(1).createOrReplaceTempView(view)
    spark.catalog.cacheTable(view)
    yield Pair(table, view, tuple(names))
    spark.catalog.uncacheTable(view)
    spark.catalog.dropTempView(view)
    spark.sql(f"DROP TABLE {table}")


def _values(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([*COLUMNS[name][1], *COLUMNS[name][2]]).map(literal)


def _atom(name: str) -> st.SearchStrategy[str]:
    comparison = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    values = _values(name)
    atoms = [
        st.builds(lambda operator, value: f"{name} {operator} {value}", comparison, values),
        st.builds(lambda operator, value: f"{value} {operator} {name}", comparison, values),
        st.lists(st.one_of(values, st.just("NULL")), min_size=1, max_size=14).map(
            lambda items: f"{name} IN ({', '.join(items)})"
        ),
        st.builds(lambda low, high: f"{name} BETWEEN {low} AND {high}", values, values),
        st.sampled_from([f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} <=> NULL", f"{name} = NULL"]),
    ]
    if name == "s":
        patterns = ["a%", "%b%", "b/c=d\\%", "_", "%"]
        atoms.append(st.sampled_from([f"s LIKE '{pattern}'" for pattern in patterns]))
        atoms.append(values.map(lambda value: f"upper(s) = {value}"))
        atoms.append(st.sampled_from(["try_cast(s AS INT) > 1", "length(s) < 2"]))
    if name in ("n", "d"):
        atoms.append(st.integers(-2, 12).map(lambda value: f"{name} + 1 > {value}"))
        atoms.append(st.sampled_from([f"{name} > 1.505", f"{name} = 1.5", f"{name} <= 10L", f"{name} < 9.5D"]))
    if name == "b":
        atoms.append(st.just("b"))
    return st.one_of(atoms)


def _predicates(columns: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.one_of([_atom(name) for name in columns]),
        lambda inner: st.one_of(
            inner.map(lambda child: f"NOT ({child})"),
            st.builds(
                lambda left, operator, right: f"({left}) {operator} ({right})",
                inner,
                st.sampled_from(["AND", "OR"]),
                inner,
            ),
        ),
        max_leaves=6,
    )


def _pruned(spark: Session, pair: Pair, predicates: list[str]) -> list[list[str]]:
    """Returns the rows of each predicate, all in one query, whose scans are pruned separately."""
    columns = ", ".join(pair.columns)
    queries = [
        f"SELECT {number} AS query, {columns} FROM {pair.table} WHERE {predicate}"
        for number, predicate in enumerate(predicates)
    ]
    answers: list[list[str]] = [[] for _ in predicates]
    for query, *row in spark.sql(" UNION ALL ".join(queries)).collect():
        answers[query].append(repr(row))
    return [sorted(answer) for answer in answers]


def _unpruned(spark: Session, pair: Pair, predicates: list[str]) -> list[list[str]]:
    """Returns the same by evaluating each predicate for each row."""
    conditions = ", ".join(f"({predicate}) AS p{number}" for number, predicate in enumerate(predicates))
    rows = [
        tuple(row) for row in spark.sql(f"SELECT {', '.join(pair.columns)}, {conditions} FROM {pair.rows}").collect()
    ]
    width = len(pair.columns)
    return [
        sorted(repr(list(row[:width])) for row in rows if row[width + number] is True)
        for number in range(len(predicates))
    ]


@pytest.fixture(scope="module", autouse=True)
def _no_orc_pushdown(spark: Session) -> Iterator[None]:
    """Spark's ORC reader fails on `decimal IN (1.5, NULL)` if it is pushed down to the file."""
    spark.conf.set("spark.sql.orc.filterPushdown", "false")
    yield
    spark.conf.unset("spark.sql.orc.filterPushdown")


# Without shrinking: each step costs a query, and the message names the predicate.
@settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_pruning_loses_no_row(spark: Session, pair: Pair, data: st.DataObject) -> None:
    predicates = data.draw(st.lists(_predicates(pair.columns), min_size=4, max_size=8))
    for predicate, pruned, unpruned in zip(
        predicates, _pruned(spark, pair, predicates), _unpruned(spark, pair, predicates), strict=True
    ):
        assert pruned == unpruned, predicate


def test_the_tables_are_worth_the_test(spark: Session, pair: Pair) -> None:
    """Rows in skew directories and outside, and a scan of everything without a predicate."""
    (scan,) = scan_report(spark.table(pair.table)).scans
    assert scan.kept == scan.total
    assert scan.kept.files >= 2
    assert spark.table(pair.table).count() == 4 * ROWS_PER_INSERT
