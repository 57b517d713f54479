"""What a recorded scan filters by."""

from __future__ import annotations

import pytest

from metastore.domain import expression as e
from metastore.domain.scan_shapes import OVERFLOW, Filter, decoded, encoded, shape_of, shown, without_literals

NAMES = ("a", "b", "c")
A1, A2, B1 = (e.Compare(column, e.Operator.EQUAL, value) for column, value in (("a", "1"), ("a", "2"), ("b", "1")))


@pytest.mark.parametrize(
    ("predicate", "filters"),
    [
        (e.TRUE, []),
        (e.UNKNOWN, []),
        (A1, [("a", "=", 1)]),
        (e.And((B1, A1)), [("a", "=", 1), ("b", "=", 1)]),
        (e.And((A1, e.Not(e.IsNull("a")))), [("a", "=", 1)]),
        (e.NullSafeEqual("a", "1"), [("a", "=", 1)]),
        (e.IsNull("a"), [("a", "IS NULL", 0)]),
        (e.StartsWith("a", "x"), [("a", "LIKE", 0)]),
        (e.Compare("a", e.Operator.LESS, "1"), [("a", "<", 0)]),
        (e.Not(e.Compare("a", e.Operator.LESS, "1")), [("a", ">=", 0)]),
        (e.Not(A1), [("a", "!=", 0)]),
        (e.Not(e.In("a", ("1",))), [("a", "other", 0)]),
        (e.In("a", ("1", "2", "3")), [("a", "IN", 3)]),
        (e.In("a", tuple(map(str, range(9)))), [("a", "IN", 16)]),
        (e.In("a", ("1",)), [("a", "=", 1)]),
        (e.TextIn("a", ("1", "2")), [("a", "IN", 2)]),
        (e.Or((A1, A2)), [("a", "IN", 2)]),
        (e.Or((A1, e.In("a", ("2", "3")))), [("a", "IN", 3)]),
        (e.Or((A1, B1)), [("a,b", "other", 0)]),
        (e.Or((A1, e.IsNull("a"))), [("a", "other", 0)]),
        (e.Or((A1, e.UNKNOWN)), []),
        (e.Not(e.Or((e.Not(A1), e.Not(B1)))), [("a", "=", 1), ("b", "=", 1)]),
        (e.Compare("z", e.Operator.EQUAL, "1"), []),
        (e.Or((A1, e.Compare("z", e.Operator.EQUAL, "1"))), []),
    ],
)
def test_filters_are_conditions_that_every_row_meets(
    predicate: e.Expression, filters: list[tuple[str, str, int]]
) -> None:
    shape = shape_of(predicate, NAMES)
    assert shape == tuple(Filter(*each) for each in filters)
    assert decoded(encoded(shape)) == shape


def test_values_are_kept_only_if_allowed() -> None:
    predicate = e.And((A1, e.In("b", ("y", "x")), e.Compare("c", e.Operator.EQUAL, "v" * 101)))
    shape = shape_of(predicate, NAMES, literals=True)
    assert shape == (Filter("a", "=", 1, ("1",)), Filter("b", "IN", 2, ("x", "y")), Filter("c", "=", 1))
    assert decoded(encoded(shape)) == shape
    assert without_literals(shape) == shape_of(predicate, NAMES)
    assert shown(shape) == "a = 1, b IN x, y, c ="
    assert shown(without_literals(shape)) == "a =, b IN (2), c ="


def test_too_many_and_too_long_filters_are_left_out() -> None:
    names = [f"c{number}" for number in range(9)]
    predicate = e.And(tuple(e.Compare(name, e.Operator.EQUAL, "1") for name in names))
    assert shape_of(predicate, names) is None
    long = ["é" * 128 + str(number) for number in range(8)]
    shape = shape_of(e.And(tuple(e.Compare(name, e.Operator.EQUAL, "1") for name in long)), long)
    assert shape is not None
    assert encoded(shape) == OVERFLOW
    assert decoded(OVERFLOW) is None
