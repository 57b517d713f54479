"""Scans of DataFrames that are older than their table: it was replaced by one with other partition columns."""

from __future__ import annotations

import pytest

from metastore.client.structs import ScanPartition, ScanPlan
from spark_client.errors import UnreadableTableError
from spark_client.scan.planner import _in_order

PARTITION = ScanPartition(("7", "8"), "file:/t/b=7/a=8", (), 1, None)


def plan(*keys: str, known: bool = True) -> ScanPlan:
    return ScanPlan([PARTITION], (), 1, keys=keys if known else None)


@pytest.mark.parametrize(
    ("present", "expected"),
    [(plan("b", "A"), ("8", "7")), (plan("a", "b"), ("7", "8")), (plan(known=False), ("7", "8"))],
)
def test_values_are_in_the_order_of_the_query(present: ScanPlan, expected: tuple[str, ...]) -> None:
    assert [each.values for each in _in_order("db.t", ["A", "b"], present)] == [expected]


@pytest.mark.parametrize(
    ("present", "said"), [(plan("c", "a"), "partitioned by c, a"), (plan("a"), "by a"), (plan(), "is not partitioned")]
)
def test_other_partition_columns_are_an_error(present: ScanPlan, said: str) -> None:
    with pytest.raises(UnreadableTableError, match=f"db.t was replaced .* {said}: read it again"):
        _in_order("db.t", ["a", "b"], present)
