"""Predictions of layouts, compared with sums over all values, and the statements."""

from __future__ import annotations

from itertools import product

import pytest

from metastore.domain.layout_advice import (
    BUCKETS,
    NULL_TEXT,
    PARTITIONS,
    SKEW,
    FileCost,
    Layout,
    TableLayout,
    Values,
    advised_columns,
    candidates,
    predicted,
    read_share,
    why_none,
)
from metastore.domain.layout_statements import auto_statement, layout_statements
from metastore.domain.scan_shapes import Filter, Shape
from metastore.domain.scan_workload import Workload, columns_used, workload
from metastore.domain.table_ddl import Column, TableDefinition

SHARES = {"a": 0.5, "b": 0.2, NULL_TEXT: 0.1, **{f"r{number}": 0.05 for number in range(4)}}
VALUES = Values((("a", 0.5), ("b", 0.2), (NULL_TEXT, 0.1)), len(SHARES))
LAYOUTS = [
    Layout(SKEW, "x", directories=frozenset(("a", "b"))),
    Layout(SKEW, "x", directories=frozenset(("a", "b", NULL_TEXT))),
    Layout(PARTITIONS, "x"),
]


X = (Filter("x", "=", 1),)


def queries(*shapes: tuple[Shape, int, int]) -> Workload:
    return workload(("scan", shape, scans, scans, size) for shape, scans, size in shapes)


def part_of(layout: Layout, value: str) -> str:
    return value if layout.kind == PARTITIONS or value in layout.directories else "rest"


def read_by(layout: Layout, values: tuple[str, ...]) -> float:
    """Returns the share that a query for these values reads."""
    parts = {part_of(layout, value) for value in values}
    return sum(share for value, share in SHARES.items() if part_of(layout, value) in parts)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_unknown_values_are_asked_for_as_often_as_rows_have_them(layout: Layout, number: int) -> None:
    expected = 0.0
    for values in product(SHARES, repeat=number):
        chance = 1.0
        for value in values:
            chance *= SHARES[value]
        expected += chance * read_by(layout, values)
    assert read_share(layout, VALUES, (Filter("x", "IN", number),)) == pytest.approx(expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("values", [("a",), ("a", "b"), ("a", "r1"), ("r1",), (NULL_TEXT,)])
def test_known_values_are_exact(layout: Layout, values: tuple[str, ...]) -> None:
    shape = (Filter("x", "IN", len(values), values), Filter("z", "="))
    assert read_share(layout, VALUES, shape) == pytest.approx(read_by(layout, values))


def test_nulls_ranges_and_other_columns() -> None:
    layout = LAYOUTS[1]
    assert read_share(layout, VALUES, (Filter("x", "IS NULL"),)) == pytest.approx(0.1)
    assert read_share(LAYOUTS[0], VALUES, (Filter("x", "IS NULL"),)) == pytest.approx(0.3)
    assert read_share(layout, VALUES, (Filter("x", "<"),)) == 1
    assert read_share(layout, VALUES, (Filter("y", "=", 1),)) == 1
    assert read_share(layout, VALUES, ()) == 1


def test_each_file_costs_its_footer_and_dictionaries() -> None:
    layout, cost = LAYOUTS[0], FileCost(rows=0.9, each=0.1)  # one file, of which a tenth is no rows
    whole = 0.9 + 3 * 0.1  # three files: a, b and the rest
    assert read_share(layout, VALUES, (), cost) == pytest.approx(whole)
    assert read_share(layout, VALUES, (Filter("x", "<"),), cost) == pytest.approx(whole)
    assert read_share(layout, VALUES, (Filter("x", "=", 1, ("a",)),), cost) == pytest.approx(0.5 * 0.9 + 0.1)
    both = (Filter("x", "IN", 2, ("a", "b")),)
    assert read_share(layout, VALUES, both, cost) == pytest.approx(0.7 * 0.9 + 0.2)
    average = sum(share * (share * 0.9 + 0.1) for share in (0.5, 0.2, 0.3))
    assert read_share(layout, VALUES, X, cost) == pytest.approx(average)


def test_a_layout_of_many_small_files_is_worse_than_one_of_few() -> None:
    of, cost = queries((X, 10, 1000), ((), 10, 9000), ((Filter("y", ">"),), 10, 9000)), FileCost(0.95, 0.05)
    few, many = (predicted(of, (), layout, {"x": VALUES}, cost) for layout in (LAYOUTS[0], LAYOUTS[2]))
    assert few.saving > many.saving


def test_buckets_of_a_column_without_heavy_values_divide_evenly() -> None:
    many, buckets = Values((), 10_000), Layout(BUCKETS, "x", 16)
    assert read_share(buckets, many, (Filter("x", "=", 1),)) == pytest.approx(1 / 16)
    assert read_share(buckets, many, (Filter("x", "=", 1, ("7",)),)) == pytest.approx(1 / 16)
    assert read_share(buckets, VALUES, (Filter("x", "IS NULL"),)) == 1


def test_predictions_weigh_queries_by_their_bytes() -> None:
    of = queries((X, 10, 1000), ((Filter("y", "=", 1),), 1, 500))
    prediction = predicted(of, (), LAYOUTS[0], {"x": VALUES})
    share = 0.5**2 + 0.2**2 + 0.3**2
    assert prediction.before == 1500
    assert prediction.after == pytest.approx(1000 * share + 500)
    again = predicted(of, [LAYOUTS[0]], LAYOUTS[1], {"x": VALUES})
    assert again.before == pytest.approx(prediction.after)
    assert again.after < again.before
    beside = predicted(of, [Layout(SKEW, "y", directories=frozenset("a"))], Layout(PARTITIONS, "x"), {"x": VALUES})
    assert beside.after < beside.before


def test_unknown_sizes_are_counted_by_scans() -> None:
    of = workload([("scan", X, 10, 0, 0), ("scan", X, 5, 5, 50), ("scan", (Filter("y", "=", 1),), 5, 0, 0)])
    assert not of.has_sizes
    assert predicted(of, (), LAYOUTS[0], {"x": VALUES}).before == 20


def test_columns_with_equalities_are_candidates() -> None:
    ds, late = Filter("ds", "=", 1), Filter("late", ">")
    of = queries(((ds, *X), 10, 100), ((late,), 10, 900), ((), 7, 1))
    uses = columns_used(of, TableLayout("db.t", keys=("ds",)).roles)
    assert [(use.column, use.role, use.scans, use.weight, use.equal) for use in uses] == [
        ("late", "", 10, 0.9, 0.0),
        ("ds", "partition column", 10, 0.1, 0.1),
        ("x", "", 10, 0.1, 0.1),
    ]
    assert [use.column for use in candidates(uses)] == ["x"]
    assert of.whole == 7


def test_the_present_skewed_column_competes_for_advised() -> None:
    layout = TableLayout("db.t", keys=("ds",), skewed=("x",))
    both = queries((X, 10, 100), ((Filter("y", "=", 1),), 10, 90), ((Filter("ds", "=", 1),), 10, 900))
    assert advised_columns(both, layout, ("x", "y", "ds")) == ("x",)
    assert advised_columns(both, layout, ("y",)) == ("y",)
    assert advised_columns(queries(), layout, ("x",)) == ()


def test_why_there_is_no_advice() -> None:
    layout = TableLayout("db.t", keys=("ds",), skewed=("x",))
    for of, reason in (
        (queries(), "no advice: no scans were recorded since 2026-11-29"),
        (queries((X, 1, 1)), "no advice: queries filter by the skewed columns already"),
        (queries(((Filter("late", ">"),), 1, 1)), "with ranges and patterns"),
        (queries(((), 2, 2)), "2 scans without filters"),
    ):
        assert reason in why_none(of, columns_used(of, layout.roles), "2026-11-29")
    assert "scans are not recorded" in why_none(queries(), [], None)


TABLE = TableDefinition(
    "db", "t", "EXTERNAL_TABLE", [Column("id", "bigint"), Column("x", "string")], [], "file:/t", "ParquetInput"
)


def test_statements() -> None:
    parted = TableDefinition("db", "t", "MANAGED_TABLE", TABLE.columns, [Column("ds", "string")], "", "ParquetInput")
    skew = Layout(SKEW, "x", directories=frozenset("a"))
    assert layout_statements(parted, skew, ["a'"]) == [
        "ALTER TABLE db.t SKEWED BY (x) ON ('a\\'') STORED AS DIRECTORIES;",
        "INSERT OVERWRITE TABLE db.t SELECT * FROM db.t;",
    ]
    create, load = layout_statements(TABLE, skew, ["a"])
    assert create.startswith("CREATE TABLE db.t_advised (\n")
    assert "SKEWED BY (x) ON ('a')\nSTORED AS DIRECTORIES" in create
    assert "LOCATION" not in create
    assert load == "INSERT INTO db.t_advised SELECT id, x FROM db.t;"
    create, load = layout_statements(parted, Layout(PARTITIONS, "x"))
    assert "PARTITIONED BY (ds STRING, x STRING)" in create
    assert load == "INSERT INTO db.t_advised SELECT id, ds, x FROM db.t;"
    create, _ = layout_statements(parted, Layout(BUCKETS, "x", 8))
    assert "CLUSTERED BY (x) INTO 8 BUCKETS" in create
    assert auto_statement(TABLE, "x") == ""
    assert "'skew.auto.columns' = 'x'" in auto_statement(parted, "x")
