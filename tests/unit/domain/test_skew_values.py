"""Every spelling of a skewed value that clients send becomes the same text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.keys import kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.domain.skew_values import canonical_text, distinct_values, typed_locations


@pytest.mark.parametrize(
    ("type_string", "text", "written"),
    [
        ("int", "01", "1"),
        ("INT", " +7 ", "7"),
        ("bigint", "-007", "-7"),
        ("int", "-0", "0"),
        ("int", "1.0", "1.0"),
        ("int", "x", "x"),
        ("int", "", ""),
        ("decimal(6,2)", "1.50", "1.5"),
        ("decimal(6,2)", "-01.00", "-1"),
        ("decimal(6,2)", ".5", "0.5"),
        ("decimal(6,2)", "00", "0"),
        ("decimal(6,2)", ".", "."),
        ("decimal(6,2)", "-0.00", "0"),
        ("decimal(38,0)", "1E+3", "1000"),
        ("decimal(38,20)", "0E-18", "0"),
        ("decimal(38,20)", "-1.50e-7", "-0.00000015"),
        ("decimal(6,2)", "1e100", "1e100"),
        ("decimal(6,2)", "e1", "e1"),
        ("date", "2020-1-5", "2020-01-05"),
        ("date", "2020-02-30", "2020-02-30"),
        ("boolean", "TRUE", "true"),
        ("boolean", "0", "false"),
        ("string", "01", "01"),
        ("string", "A ", "A "),
        ("varchar(3)", "A", "A"),
        ("double", "1.50", "1.50"),
        ("timestamp", "2020-1-5", "2020-1-5"),
        ("array<int>", "01", "01"),
        ("int", DEFAULT_PARTITION, DEFAULT_PARTITION),
    ],
)
def test_the_text_of_a_value(type_string: str, text: str, written: str) -> None:
    assert canonical_text(type_string, text) == written


@given(
    st.sampled_from(["int", "decimal(10,3)", "date", "boolean", "string", "char(4)", "double"]),
    st.one_of(
        st.text(alphabet="0123456789+-. eTtrufals", max_size=12),
        st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
        st.dates().map(str),
    ),
)
def test_a_value_stays_the_same_value(type_string: str, text: str) -> None:
    written, kind = canonical_text(type_string, text), kind_of(type_string)
    assert sort_key(kind, written) == sort_key(kind, text)
    assert canonical_text(type_string, written) == written


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-10000, max_value=10000, places=2))
def test_equal_decimals_have_one_text(number: Decimal) -> None:
    assert canonical_text("decimal(10,2)", str(number)) == canonical_text("decimal(10,2)", f"{number}00")


def test_values_and_places_are_merged() -> None:
    types = ["int", "string"]
    assert distinct_values(types, [["01", "a"], ["1", "A"], ["1", "a"]]) == [["1", "a"], ["1", "A"]]
    places = {("01", "a"): "file:/x", ("1",): "file:/short"}
    assert typed_locations(types, places) == {("1", "a"): "file:/x", ("1",): "file:/short"}


@pytest.mark.parametrize("type_string", ["int", "decimal(6,2)"])
@pytest.mark.parametrize("text", ["0" * 5_000_000 + "x", "1" * 5_000_000 + "x"], ids=["zeros", "ones"])
def test_a_long_text_that_is_no_number_takes_no_long_time(type_string: str, text: str) -> None:
    """An algorithm of quadratic time would take days for this text."""
    assert canonical_text(type_string, text) == text
