"""The PARTITION clause and the column list: their meaning, and errors in Hive's words."""

from __future__ import annotations

import pytest

from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.errors import InvalidInsertError
from spark_client.table.partition_spec import place_columns, resolve_partition


def test_the_clause_is_put_into_the_tables_order() -> None:
    spec = resolve_partition("db.t", ["ds", "hr"], {"HR": None, "ds": "x"}, if_not_exists=False)
    assert (dict(spec.static), spec.dynamic) == ({"ds": "x"}, ("hr",))


def test_no_clause_is_all_dynamic() -> None:
    spec = resolve_partition("db.t", ["ds", "hr"], {}, if_not_exists=False)
    assert (dict(spec.static), spec.dynamic) == ({}, ("ds", "hr"))


def test_an_empty_static_value_is_the_default_partition() -> None:
    assert resolve_partition("db.t", ["ds"], {"ds": ""}, if_not_exists=True).static == {"ds": DEFAULT_PARTITION}


@pytest.mark.parametrize(
    ("columns", "clause", "if_not_exists", "text"),
    [
        (["ds"], {"hr": None}, False, "db.t: Partition spec {hr=null} contains non-partition columns"),
        ([], {"ds": "1"}, False, "db.t: table is not partitioned but partition spec exists: {ds=1}"),
        (["ds", "hr"], {"ds": "1"}, False, "doesn't contain all (2) partition columns"),
        (["ds", "hr"], {"ds": None, "hr": "1"}, False, "Dynamic partition cannot be the parent of a static partition"),
        (["ds"], {"ds": None}, True, "Dynamic partitions do not support IF NOT EXISTS"),
    ],
)
def test_refused_clauses(columns: list[str], clause: dict[str, str | None], if_not_exists: bool, text: str) -> None:
    with pytest.raises(InvalidInsertError) as caught:
        resolve_partition("db.t", columns, clause, if_not_exists=if_not_exists)
    assert text in str(caught.value)


def test_columns_are_placed_by_position_or_by_list() -> None:
    assert place_columns("db.t", ["a", "b", "ds"], {}, None, 3) == [0, 1, 2]
    assert place_columns("db.t", ["a", "b", "ds"], {}, ["DS", "b"], 2) == [None, 1, 0]


@pytest.mark.parametrize(
    ("listed", "count", "text"),
    [
        (None, 2, "Table db.t has 3 columns, but query has 2 columns."),
        (["a"], 2, "Table db.t has 1 columns, but query has 2 columns."),
        (["a", "A", "b"], 3, "'a' is listed twice in the column list"),
        (["a", "z"], 2, "'z' in the column list is not a column of the table"),
        (["a", "hr"], 2, "static partition column 'hr' must not be in the column list"),
    ],
)
def test_refused_column_lists(listed: list[str] | None, count: int, text: str) -> None:
    with pytest.raises(InvalidInsertError) as caught:
        place_columns("db.t", ["a", "b", "ds"], {"hr": "1"}, listed, count)
    assert text in str(caught.value)
