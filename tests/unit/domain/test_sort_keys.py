"""Sort keys have the order of their values, for every kind of value."""

from __future__ import annotations

import itertools
import math
import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION

integers = st.integers() | st.integers(-200, 200)
decimals = st.decimals(allow_nan=False, allow_infinity=False) | st.decimals(-2, 2, places=3)
singles = st.floats(width=32)


def key(kind: KeyKind, text: str) -> bytes:
    actual_sort_key = sort_key(kind, text)
    assert actual_sort_key is not None, text
    return actual_sort_key.encode()


def ranked(number: float) -> tuple[bool, float]:
    """NaN is greater than all other values and equal to itself, as in Spark."""
    return (math.isnan(number), 0.0 if math.isnan(number) else number)


def same_order(left: Any, right: Any, left_key: bytes, right_key: bytes) -> bool:
    return (left < right, left == right) == (left_key < right_key, left_key == right_key)


@pytest.mark.parametrize(
    ("type_string", "kind"),
    [
        ("STRING", KeyKind.STRING),
        ("varchar(10)", KeyKind.STRING),
        (" char ( 3 ) ", KeyKind.CHAR),
        ("bigint", KeyKind.INTEGER),
        ("decimal(5,2)", KeyKind.DECIMAL),
        ("float", KeyKind.FLOAT),
        ("Double  Precision", KeyKind.DOUBLE),
        ("date", KeyKind.DATE),
        ("timestamp", KeyKind.TIMESTAMP),
        ("timestamp with local time zone", KeyKind.OTHER),
        ("boolean", KeyKind.BOOLEAN),
        ("binary", KeyKind.OTHER),
        ("array<int>", KeyKind.OTHER),
        ("", KeyKind.OTHER),
    ],
)
def test_kinds(type_string: str, kind: KeyKind) -> None:
    assert kind_of(type_string) is kind


@given(integers, integers)
def test_integers(left: int, right: int) -> None:
    assert same_order(left, right, key(KeyKind.INTEGER, str(left)), key(KeyKind.INTEGER, str(right)))


@given(decimals, decimals)
def test_decimals(left: Decimal, right: Decimal) -> None:
    assert same_order(left, right, key(KeyKind.DECIMAL, str(left)), key(KeyKind.DECIMAL, str(right)))


@given(decimals)
def test_all_spellings_of_a_decimal_have_one_key(number: Decimal) -> None:
    plain = f"{number:f}"
    padded = ("-" if plain.startswith("-") else "+") + "00" + plain.lstrip("-") + ("0" if "." in plain else ".00")
    assert key(KeyKind.DECIMAL, plain) == key(KeyKind.DECIMAL, padded) == key(KeyKind.DECIMAL, f"{number:e}")


@given(st.integers(-(10**6), 10**6), st.integers(-(10**17), 10**17), st.integers(-(10**17), 10**17))
def test_exponents_of_any_size(digits: int, left: int, right: int) -> None:
    number = digits * 10 + (1 if digits >= 0 else -1)
    left_key, right_key = (key(KeyKind.DECIMAL, f"{number}e{exponent}") for exponent in (left, right))
    assert same_order(left, right, left_key, right_key) if number > 0 else same_order(right, left, left_key, right_key)


def test_numbers_of_both_signs_at_extremes() -> None:
    ascending = ["-1e400", "-12", "-1.5", "-1.25", "-1", "-0.5", "-1e-30", "-1e-300", "0", "1e-300", "1e-30", "0.05"]
    ascending += ["0.5", "1", "1.05", "1.5", "9", "10", "100", "1e99", "1e100", "1e400", "9" * 2000]
    keys = [key(KeyKind.DECIMAL, text) for text in ascending]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_a_number_has_the_same_key_as_every_type() -> None:
    texts = ["1", "01", "1.0", "+1", "1.", "0.1e1", "10E-1", " 1 "]
    kinds = [KeyKind.INTEGER, KeyKind.DECIMAL, KeyKind.FLOAT, KeyKind.DOUBLE]
    assert len({sort_key(kind, text) for kind, text in itertools.product(kinds, texts)}) == 1
    assert sort_key(KeyKind.DOUBLE, "-0.0") == sort_key(KeyKind.DOUBLE, "0") == sort_key(KeyKind.DECIMAL, "-0")


@given(st.floats(), st.floats())
@example(math.nan, math.inf)
@example(-math.inf, -1.7976931348623157e308)
def test_doubles(left: float, right: float) -> None:
    assert same_order(ranked(left), ranked(right), key(KeyKind.DOUBLE, repr(left)), key(KeyKind.DOUBLE, repr(right)))


@given(singles, singles)
def test_floats(left: float, right: float) -> None:
    assert same_order(ranked(left), ranked(right), key(KeyKind.FLOAT, repr(left)), key(KeyKind.FLOAT, f"{right:.9g}"))


def test_floats_are_rounded_to_their_own_precision() -> None:
    single = struct.unpack("f", struct.pack("f", 0.1))[0]
    assert sort_key(KeyKind.FLOAT, "0.1") == sort_key(KeyKind.FLOAT, repr(single))
    assert sort_key(KeyKind.DOUBLE, "0.1") != sort_key(KeyKind.DOUBLE, repr(single))
    assert sort_key(KeyKind.FLOAT, "1e39") == sort_key(KeyKind.FLOAT, "Infinity")
    assert sort_key(KeyKind.FLOAT, "-1e39") == sort_key(KeyKind.FLOAT, "-inf")
    assert sort_key(KeyKind.DOUBLE, "1.5d") == sort_key(KeyKind.DOUBLE, "1.5")


@given(st.dates(), st.dates())
def test_dates(left: date, right: date) -> None:
    short = f"{left.year:04d}-{left.month}-{left.day}"
    assert same_order(left, right, key(KeyKind.DATE, short), key(KeyKind.DATE, right.isoformat()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-1-5", "2020-01-05"),
        ("2008-01-01 10:00", "2008-01-01"),
        ("2008-01-01T", "2008-01-01"),
        ("2000-02-29", "2000-02-29"),
        ("1900-02-29", None),
        ("2024-02-30", None),
        ("2024-13-01", None),
        ("2024-00-01", None),
        ("2024-01-00", None),
        ("20-1-1", None),
        ("2024-01-01x", None),
        ("", None),
    ],
)
def test_dates_are_read_as_hive_reads_them(text: str, expected: str | None) -> None:
    assert sort_key(KeyKind.DATE, text) == expected


def test_years_beyond_four_digits_come_last() -> None:
    assert key(KeyKind.DATE, "9999-12-31") < key(KeyKind.DATE, "10000-01-01") < key(KeyKind.DATE, "+100000-01-01")


@given(st.datetimes(), st.datetimes())
def test_timestamps(left: datetime, right: datetime) -> None:
    left_key, right_key = key(KeyKind.TIMESTAMP, left.isoformat()), key(KeyKind.TIMESTAMP, right.isoformat(" ") + "")
    assert same_order(left, right, left_key, right_key)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-1-5", "2024-01-05 00:00:00"),
        ("2024-01-05 1:2", "2024-01-05 01:02:00"),
        ("2024-01-05T01:02:03.500", "2024-01-05 01:02:03.5"),
        ("2024-01-05 01:02:03.", "2024-01-05 01:02:03"),
        ("2024-01-05 24:00:00", None),
        ("2024-01-05 00:60:00", None),
        ("2024-01-05 00:00:60", None),
        ("2024-02-30 00:00:00", None),
        ("2024-01-05 00:00:00Z", None),
        ("2024-01-05 00:00:00 Europe/Berlin", None),
        ("2024-01-05 x", None),
    ],
)
def test_timestamps_are_normalised(text: str, expected: str | None) -> None:
    assert sort_key(KeyKind.TIMESTAMP, text) == expected


def test_booleans() -> None:
    assert {sort_key(KeyKind.BOOLEAN, text) for text in ("true", "TRUE", "1", "yes")} == {"true"}
    assert {sort_key(KeyKind.BOOLEAN, text) for text in ("false", "False", "0", "n")} == {"false"}
    assert key(KeyKind.BOOLEAN, "false") < key(KeyKind.BOOLEAN, "true")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_strings_are_ordered_by_code_point(left: str, right: str) -> None:
    assert same_order(left, right, key(KeyKind.STRING, left), key(KeyKind.STRING, right))


def test_chars_lose_their_padding() -> None:
    assert sort_key(KeyKind.CHAR, " ab  ") == sort_key(KeyKind.CHAR, " ab") == " ab"


@pytest.mark.parametrize("kind", KeyKind)
def test_the_default_partition_is_a_value_of_texts_only(kind: KeyKind) -> None:
    assert sort_key(kind, DEFAULT_PARTITION) == (DEFAULT_PARTITION if kind.is_text else None)


@pytest.mark.parametrize("kind", [kind for kind in KeyKind if not kind.is_text])
@pytest.mark.parametrize("text", ["", "abc", "1_0", "--1", "1e", ".", "e5", "0x10", "１", "1 2", "1" * 50_000 + "x"])
def test_rubbish_has_no_key(kind: KeyKind, text: str) -> None:
    assert sort_key(kind, text) is None


@given(st.sampled_from(KeyKind), st.text(alphabet="0123456789+-.eEdfinay: TZ\n\0é", max_size=25))
def test_no_text_is_too_odd(kind: KeyKind, text: str) -> None:
    actual_sort_key = sort_key(kind, text)
    assert isinstance(actual_sort_key, str) if kind.is_text else actual_sort_key != ""
