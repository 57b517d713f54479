"""Which dependent tables are valid, and that the view of one reads exactly the bases of its partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.domain.dependencies import (
    Column,
    Source,
    check_columns,
    check_no_cycle,
    check_values,
    drop_order,
    inherit_keys,
    literal,
    state_of,
    view_text,
)
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.errors import InvalidObjectError

NAMES = st.lists(st.sampled_from(["ds", "hr", "min", "region"]), min_size=1, max_size=4, unique=True)
TYPES = st.sampled_from(["string", "int", "decimal(10,2)", "date"])
TABLE = NAMES.flatmap(lambda names: st.tuples(*[st.builds(Column, st.just(name), TYPES) for name in names]))
COLUMNS = st.lists(st.builds(Column, st.sampled_from(["a", "b", "c"]), TYPES), max_size=4)


@given(TABLE, st.data())
def test_exactly_the_prefixes_are_allowed(base: tuple[Column, ...], data: st.DataObject) -> None:
    chosen = data.draw(st.one_of(st.permutations(base).map(lambda keys: keys[:2]), st.just(list(base))))
    size = data.draw(st.integers(0, len(chosen)))
    keys = [(column.name.upper(), data.draw(st.sampled_from([None, column.type.upper()]))) for column in chosen[:size]]
    names = [column.name for column in chosen[:size]]
    if names and names == [column.name for column in base[:size]]:
        assert inherit_keys("d", keys, "t", base) == list(base[:size])
    else:
        with pytest.raises(InvalidObjectError, match="d cannot be partitioned by"):
            inherit_keys("d", keys, "t", base)


@given(TABLE, st.data())
def test_types_are_the_base_s(base: tuple[Column, ...], data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(base) - 1))
    keys: list[tuple[str, str | None]] = [(column.name, None) for column in base]
    keys[position] = (base[position].name, "timestamp")
    with pytest.raises(InvalidObjectError, match=f"in t it is {base[position].name} "):
        inherit_keys("d", keys, "t", base)


@given(COLUMNS, COLUMNS)
def test_columns_are_the_first_ones_or_the_first_difference_is_named(one: list[Column], other: list[Column]) -> None:
    if one == other[: len(one)]:
        check_columns("d", one, "t", other)
        return
    first = next(i for i in range(5) if i >= min(len(one), len(other)) or one[i] != other[i])
    with pytest.raises(InvalidObjectError, match=f"t and d have different columns: column {first + 1} of t is"):
        check_columns("d", one, "t", other)


def test_spaces_and_capitals_of_types_do_not_count() -> None:
    check_columns("d", [Column("a", "DECIMAL(10, 2)")], "t", [Column("a", "decimal(10,2)")])


def test_no_cycle() -> None:
    check_no_cycle("x.d", "x.t", ["x.u", "x.v"])
    for base, upstream in (("x.d", []), ("x.t", ["x.u", "x.d"])):
        with pytest.raises(InvalidObjectError, match=f"x.d cannot depend on {base}"):
            check_no_cycle("x.d", base, upstream)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", "it's \\ ${x}$", "concat('it', chr(39), 's ', chr(92), ' ', '$', '{x}$')"),
        ("string", "\\", "chr(92)"),
        ("varchar(3)", "1", "'1'"),
        ("int", "+007", "7"),
        ("bigint", "-5", "-5"),
        ("int", "1.0", "CAST('1.0' AS int)"),
        ("decimal(3,1)", "1.5", "CAST('1.5' AS decimal(3,1))"),
        ("double", "nan", "CAST('nan' AS double)"),
        ("date", "2024-1-5", "CAST('2024-01-05' AS date)"),
        ("timestamp", "2024-01-05 1:2", "CAST('2024-01-05 01:02:00' AS timestamp)"),
        ("boolean", "T", "TRUE"),
        ("binary", "x'", "CAST(concat('x', chr(39)) AS binary)"),
    ],
)
def test_literals(kind: str, value: str, text: str) -> None:
    assert literal(kind, value) == text


def test_values_must_be_of_their_type() -> None:
    keys = [Column("d", "date"), Column("n", "int")]
    check_values("t", keys, ["2024-02-29", DEFAULT_PARTITION])
    with pytest.raises(InvalidObjectError, match="t: '2023-02-29' is not a value of the partition column d date"):
        check_values("t", keys, ["2023-02-29", "1"])


# ---- The view's text, evaluated by a reader of its own

VALUES = st.sampled_from(["1", "2", "3", "x'y", "a\\", DEFAULT_PARTITION])
SPECS = st.lists(st.tuples(VALUES, VALUES), max_size=12, unique=True)


def reader(condition: str) -> Callable[[Sequence[str], bool], bool]:
    """SQL's AND, OR, IN, =, IS NULL, concat and chr over two columns, by way of Python's.

    Hive reads the default partition as a text, others as NULL (the second argument).
    """
    value = r"(?:'[^']*'|chr\(\d+\)|concat\([^()]*(?:\(\d+\)[^()]*)*\))"
    code = re.sub(rf"IN \(({value}(?:, {value})*)\)", r"in [\1]", re.sub(r"\bIS NULL", "is None", condition))
    code = re.sub(r"` = ", "` == ", code).replace("false", "False")
    code = code.replace("`ds`", "ds").replace("`hr`", "hr").replace(" AND ", " and ").replace(" OR ", " or ")
    compiled = compile(code, "condition", "eval")

    def holds(row: Sequence[str], reads_null: bool) -> bool:
        ds, hr = [None if text == DEFAULT_PARTITION and reads_null else text for text in row]
        return bool(eval(compiled, {"ds": ds, "hr": hr, "concat": lambda *parts: "".join(parts)}))

    return holds


@settings(deadline=None)
@given(SPECS, SPECS)
def test_the_view_reads_exactly_the_base_partitions(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    keys = [Column("ds", "string"), Column("hr", "string")]
    text = view_text([Column("a", "int")], keys, [Source("x", "t", first), Source("x", "u", second)])
    parts = dict(re.findall(r"SELECT `a`, `ds`, `hr` FROM `x`\.`(\w+)` WHERE (.*)", text))
    assert text.count("SELECT") == len(parts)
    assert parts.keys() == {name for name, specs in (("t", first), ("u", second)) if specs} or parts == {"u": "false"}
    for name, specs in (("t", first), ("u", second)):
        every = [
            (ds, hr) for ds in ["1", "2", "3", "x'y", "a\\", DEFAULT_PARTITION, "9"] for hr in ["1", "3", "a\\", "9"]
        ]
        holds = reader(parts.get(name, "false"))
        for row, reads_null in product([*every, *specs], (True, False)):
            assert holds(row, reads_null) == (row in specs), (name, row, text)


def test_values_common_to_all_days_are_written_once() -> None:
    keys = [Column("ds", "string"), Column("hr", "int")]
    specs = [(str(day), str(hour)) for day in range(3) for hour in range(2)]
    text = view_text([], keys, [Source("x", "t", specs)])
    assert text == "SELECT `ds`, `hr` FROM `x`.`t` WHERE (`ds` IN ('0', '1', '2') AND `hr` IN (0, 1))"


def test_tables_are_dropped_one_by_one() -> None:
    edges = [("a", "m"), ("m", "z"), ("z", "b"), ("q", None), ("q", "m"), ("gone", "also gone")]
    assert drop_order(["a", "b", "c", "m", "q", "z"], edges) == ["q", "b", "z", "m", "a", "c"]
    assert drop_order(["b", "a"], []) == ["b", "a"]


@pytest.mark.parametrize(
    ("base_partitions", "unchanged", "state"),
    [(0, True, "incomplete"), (0, False, "incomplete"), (1, True, "fresh"), (2, False, "stale")],
)
def test_state_of_a_dependent_partition(base_partitions: int, unchanged: bool, state: str) -> None:
    assert state_of(base_partitions, unchanged=unchanged) == state
