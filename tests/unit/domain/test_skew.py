"""Skewed columns: declarations that Hive rejects, and the examples of Hive's pruner."""

from __future__ import annotations

import pytest

from metastore.domain.expression import (
    FALSE,
    NULL,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Expression,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
)
from metastore.domain.filters import parse_filter
from metastore.domain.skew import Skew, check_skew, directories_to_read
from metastore.errors import InvalidObjectError

ONE = Skew(("x",), (("6",), ("20",), ("30",), ("40",)))
TWO = Skew(("x", "y"), (("10", "a"), ("10", "b"), ("20", "c")))
THREE = Skew(("c1", "c2"), (("1", "a"), ("2", "b"), ("1", "c")))
TYPES = {"x": "int", "y": "string", "c1": "int", "c2": "string", "t": "timestamp", "d": "double", "c": "char(5)"}
DEFAULT = "__HIVE_DEFAULT_PARTITION__"


def read(skew: Skew, predicate: str | Expression, **types: str) -> tuple[list[str], bool]:
    """Returns the directories as `a,b`, and whether the default directory is included."""
    tree = parse_filter(predicate) if isinstance(predicate, str) else predicate
    assert tree is not None
    kept, default = directories_to_read(skew, TYPES | types, tree)
    return sorted(",".join(value) for value in kept), default


@pytest.mark.parametrize(
    ("skew", "predicate", "kept", "default"),
    [
        (ONE, "x=30", ["30"], False),
        (ONE, "x=50", [], True),
        (ONE, "x!=30", ["20", "40", "6"], True),
        (ONE, "x=30 or x=50", ["30"], True),
        (ONE, "x=30 and x=20", [], False),
        (ONE, "x in (6, 30)", ["30", "6"], False),
        (ONE, "x not in (6, 20, 30, 40)", [], True),
        (ONE, "30 = x", ["30"], False),
        (ONE, "x > 20 and x < 40", ["30"], True),
        (ONE, "x > 40 or x < 6", [], True),
        (ONE, "x = '030.0'", ["30"], False),
        (ONE, "other = 1", ["20", "30", "40", "6"], True),
        (ONE, "other = 1 and x = 6", ["6"], False),
        (ONE, "other = 1 or x = 6", ["20", "30", "40", "6"], True),
        (TWO, "x=10", ["10,a", "10,b"], True),
        (TWO, "y='b'", ["10,b"], True),
        (TWO, "x=10 and y='a'", ["10,a"], False),
        (TWO, "x=10 and y='c'", [], True),
        (TWO, "x=30", [], True),
        (TWO, "(struct(x,y)) in (struct(10,'a'), struct(20,'c'))", ["10,a", "20,c"], False),
        (THREE, "(c1=1 and c2='a') or (c1=3 or c2='b')", ["1,a", "2,b"], True),
    ],
)
def test_examples_of_hives_pruner(skew: Skew, predicate: str, kept: list[str], default: bool) -> None:
    assert read(skew, predicate) == (kept, default)


@pytest.mark.parametrize(
    ("predicate", "kept", "default"),
    [
        (Not(Compare("x", Operator.EQUAL, "30")), ["20", "40", "6"], True),
        (IsNull("x"), [], True),
        (Not(IsNull("x")), ["20", "30", "40", "6"], True),
        (NullSafeEqual("x", "30"), ["30"], False),
        (Not(NullSafeEqual("x", "30")), ["20", "40", "6"], True),
        (In("x", ()), [], False),
        (Not(In("x", ())), ["20", "30", "40", "6"], True),
        (And((IsNull("x"), Compare("x", Operator.EQUAL, "30"))), [], False),
        (TRUE, ["20", "30", "40", "6"], True),
        (UNKNOWN, ["20", "30", "40", "6"], True),
        (Not(UNKNOWN), ["20", "30", "40", "6"], True),
        (FALSE, [], False),
        (NULL, [], False),
        (Not(NULL), [], False),
        (Compare("x", Operator.EQUAL, "rubbish"), ["20", "30", "40", "6"], True),
        (Or((Compare("x", Operator.EQUAL, "rubbish"), TRUE)), ["20", "30", "40", "6"], True),
        (And((Compare("x", Operator.EQUAL, "rubbish"), Compare("x", Operator.EQUAL, "6"))), ["6"], False),
        (StartsWith("x", "3"), ["20", "30", "40", "6"], True),
    ],
)
def test_null_and_the_unknown(predicate: Expression, kept: list[str], default: bool) -> None:
    assert read(ONE, predicate) == (kept, default)


def test_prefixes_are_ranges() -> None:
    skew = Skew(("s",), (("ab",), ("abc",), ("b",), ("a\U0010ffff",)))
    assert read(skew, StartsWith("s", "ab"), s="string") == (["ab", "abc"], True)
    assert read(skew, Not(TextIn("s", ("ab",))), s="string") == read(skew, TRUE, s="string")
    assert read(skew, Not(StartsWith("s", "a")), s="string") == (["b"], True)
    assert read(skew, And((StartsWith("s", "ab"), Compare("s", Operator.EQUAL, "ab"))), s="string") == (["ab"], False)
    assert read(skew, StartsWith("s", "a\U0010ffff"), s="string") == (["a\U0010ffff"], True)
    assert read(skew, StartsWith("s", ""), s="string") == (["ab", "abc", "a\U0010ffff", "b"], True)


def test_columns_and_types_are_folded() -> None:
    assert read(Skew(("X",), (("1",), ("2",))), "x = 1", x="INT") == (["1"], False)


@pytest.mark.parametrize("kind", ["timestamp", "binary", "array<int>", ""])
def test_values_of_some_types_are_unknown(kind: str) -> None:
    skew = Skew(("v",), (("2024-01-01 00:00:00",), ("2024-01-02 00:00:00",)))
    assert read(skew, "v = '2024-01-01 00:00:00'", v=kind) == (["2024-01-01 00:00:00", "2024-01-02 00:00:00"], True)


@pytest.mark.parametrize(
    ("kind", "declared", "predicate"),
    [
        ("int", "01", "v = 1"),
        ("decimal(5,2)", "1.50", "v = '1.5'"),
        ("double", "1", "v = '1.0'"),
        ("char(5)", "a", "v = 'a'"),
        ("date", "2024-1-1", "v = 2024-01-01"),
        ("boolean", "TRUE", "v = 'true'"),
    ],
)
def test_rows_that_hive_would_not_put_there_may_be_in_the_default(kind: str, declared: str, predicate: str) -> None:
    assert read(Skew(("v",), ((declared,), ("x",))), predicate, v=kind) in (([declared], True), ([declared, "x"], True))


@pytest.mark.parametrize(
    ("kind", "declared", "predicate"),
    [
        ("int", "-1", "v = -1"),
        ("decimal(5,2)", "1.5", "v = '1.50'"),
        ("date", "2024-01-01", "v = '2024-1-1'"),
        ("boolean", "true", "v = 'TRUE'"),
        ("varchar(3)", " a", "v = ' a'"),
    ],
)
def test_rows_that_hive_writes_there_are_in_no_other_directory(kind: str, declared: str, predicate: str) -> None:
    assert read(Skew(("v",), ((declared,),)), predicate, v=kind) == ([declared], False)


def test_a_declared_value_that_is_none_of_its_type_may_hold_anything() -> None:
    assert read(Skew(("x",), (("abc",), ("1",))), "x = 1") == (["1", "abc"], False)
    assert read(Skew(("x",), (("abc",), ("1",))), IsNull("x")) == (["abc"], True)


@pytest.mark.parametrize("declared", ["", DEFAULT])
def test_the_default_partition_among_the_values_is_null_or_empty(declared: str) -> None:
    skew = Skew(("y",), ((declared,), ("a",)))
    assert read(skew, IsNull("y")) == ([declared], True)
    assert read(skew, "y = ''") == ([declared], True)
    assert read(skew, "y = 'a'") == (["a"], False)
    assert read(skew, "y = 'b'") == ([], True)


def test_char_ranges_are_not_judged() -> None:
    skew = Skew(("c",), (("a",), ("b",)))
    assert read(skew, "c < 'b'") == (["a", "b"], True)
    assert read(skew, "c != 'b  '") == (["a"], True)


def test_odd_declarations_are_survived() -> None:
    assert read(Skew(), "x = 1") == ([], True)
    assert read(Skew(), FALSE) == ([], False)
    assert read(Skew(("x",), ()), "x = 1") == ([], True)
    assert read(Skew(("x", "y"), (("1",), ("2", "a"))), "x = 1") == (["1"], True)


def test_many_values_and_conditions() -> None:
    skew = Skew(("x", "y"), tuple((str(x), str(y)) for x in range(100) for y in range(100)))
    assert read(skew, "x = 5 and y = '7'") == (["5,7"], False)
    pairs = " or ".join(f"x = {number} and y = '{number}'" for number in range(100))
    kept, default = read(skew, pairs)
    assert (len(kept), default) == (100, False)
    kept, default = read(skew, " or ".join(f"x < {number} and y = '{number}'" for number in range(2_000)))
    assert (len(kept), default) == (10_000, True)


@pytest.mark.parametrize(
    ("skew", "error"),
    [
        (Skew(("nope",), (("1",),)), "[Error 10203]: Invalid skewed column name: nope"),
        (Skew(("ds",), (("1",),)), "[Error 10203]: Invalid skewed column name: ds; ds is a partition column"),
        (Skew(("x", "X"), (("1", "2"),)), "[Error 10202]: Duplicate skewed column name: x"),
        (Skew((), (("1",),)), "[Error 10204]: Skewed column name is empty but skewed value is not."),
        (Skew(("x",), ()), "[Error 10205]: Skewed column value is empty but skewed name is not."),
        (
            Skew(("x",), (("1",), ("1", "2"))),
            "[Error 10206]: The number of skewed column names and the number of skewed column values are different:  1 : 2",  # noqa: E501 - Hive's text
        ),
        (
            Skew(("x",), (("a\0",),)),
            "[Error 10201]: No skewed values. ('a\\x00',) contains a character that cannot be stored",
        ),
    ],
)
def test_skew_that_hive_rejects(skew: Skew, error: str) -> None:
    with pytest.raises(InvalidObjectError) as refused:
        check_skew(["x", "y"], ["ds"], skew)
    assert str(refused.value) == error
    with pytest.raises(InvalidObjectError) as refused:
        check_skew(["x", "y"], ["ds"], skew, "db.t")
    assert str(refused.value) == f"{error} (table db.t)"


@pytest.mark.parametrize(
    "skew", [Skew(), Skew(("X",), (("1",), ("1",))), Skew(("y", "x"), (("a", ""), (DEFAULT, "01")))]
)
def test_skew_that_hive_accepts(skew: Skew) -> None:
    check_skew(["x", "Y"], ["ds"], skew)
