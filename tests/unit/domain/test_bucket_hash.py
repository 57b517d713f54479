"""Hive's bucket hash in plain Python: the values of Hive's and Trino's own tests, and the hashes of predicates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from metastore.domain.bucket_hash import bucket_hash, possible_hashes
from metastore.domain.filters import parse_filter
from tests.spark.bucket_hashes import VECTORS

COLUMNS = [("n", "int"), ("x", "string")]


def test_the_hashes_are_those_of_hive() -> None:
    computed = 0
    for kind, value, first, second in VECTORS:
        for version, expected in ((1, first), (2, second)):
            digest = bucket_hash(kind, value, version)
            if digest is not None and expected is not None:
                assert digest == expected, (kind, value, version)
                computed += 1
    assert computed > 90


@pytest.mark.parametrize("kind", ["float", "double", "timestamp", "binary", "array<int>", "map<int,int>"])
def test_types_whose_equal_values_may_be_in_several_buckets(kind: str) -> None:
    assert bucket_hash(kind, 1, 1) is None
    assert bucket_hash(kind, 1, 2) is None


@pytest.mark.parametrize(("number", "digest"), [("1.5", 466), ("150", 4650), ("0.00", 0), ("-1.5", -464)])
def test_decimals_in_version_1(number: str, digest: int) -> None:
    """31 times the hash of the unscaled number plus the scale (BigDecimal.hashCode)."""
    assert bucket_hash("decimal(38,4)", Decimal(number), 1) == digest


@pytest.mark.parametrize(
    ("where", "pairs"),
    [
        ("n = 1 and x = 'a'", [(1, "a")]),
        ("n in (1, 2) and x = 'a'", [(1, "a"), (2, "a")]),
        ("(n = 1 or n = 2) and x = 'a' and n < 9", [(1, "a"), (2, "a")]),
        ("n = 1 and n = 2 and x = 'a'", []),
        ("n is null and x = 'a'", [(None, "a")]),
        ("n = 'no' and x = 'a'", []),
        ("n = 1", None),
        ("n = 1 or x = 'a'", None),
        ("n > 1 and x = 'a'", None),
        ("n != 1 and x = 'a'", None),
        (f"n in ({', '.join(map(str, range(1001)))}) and x = 'a'", None),
    ],
)
def test_predicates(where: str, pairs: list[tuple[Any, Any]] | None) -> None:
    def parse(kind: str, text: str) -> Any:
        return text if kind == "string" else int(text) if text.isdigit() else None

    predicate = parse_filter(where, sql=True)
    assert predicate is not None
    for version in (1, 2):
        expected = None
        if pairs is not None:
            expected = {
                _signed(31 * (bucket_hash("int", n, version) or 0) + (bucket_hash("string", x, version) or 0))
                for n, x in pairs
            }
        assert possible_hashes(COLUMNS, predicate, version, parse) == expected


def _signed(value: int) -> int:
    return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)
