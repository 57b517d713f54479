"""Calls of clients that evaluate filters themselves: the texts of partition columns, and plans without some of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.examples import examples
from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NoSuchObjectException
from thrift_idl.gen.metastore.ttypes import (
    ConflictException,
    PredicateNode,
    PredicateOperator,
    ScanRequest,
    ScanValuesRequest,
)

OPERATOR = PredicateOperator
DEFAULT = "__HIVE_DEFAULT_PARTITION__"
KEYS = [("ds", "string"), ("n", "int"), ("t", "date")]
# Texts of one value of the column's type, texts of none, and characters that an array literal must quote.
DAYS = [
    "2024-01-05",
    " 2024-01-05",
    "2024-1-5",
    "20240105",
    "x",
    DEFAULT,
    'a"b\\c,{d}',
    "NULL",
    "\u00e9\U0001f600",
    "a\nb",
]
NUMBERS = ["1", "01", "1e0", "x", DEFAULT]
DATES = ["2024-01-05", "2024-1-5", DEFAULT]
ROWS = [[ds, n, t] for i, ds in enumerate(DAYS) for j, n in enumerate(NUMBERS) for t in DATES[: 1 + (i + j) % 3]]


@pytest.fixture(scope="module")
def days(metastore_server: Server) -> Iterator[Any]:
    """A client and a table with a partition for each of ROWS."""
    with connected(metastore_server) as client:
        database, name = new_table(client, KEYS)
        sd = [descriptor(f"file:/w/{database}/{number}") for number in range(len(ROWS))]
        client.add_partitions(
            [
                partition(database, name, row, sd=storage_descriptor)
                for row, storage_descriptor in zip(ROWS, sd, strict=True)
            ]
        )
        yield client, database, name


def values(days: Any, *columns: str, predicate: list[PredicateNode] | None = None) -> list[tuple[str, ...]]:
    client, database, name = days
    texts = client.scan_values(ScanValuesRequest(ScanRequest(database, name, predicate), list(columns))).texts
    return sorted(zip(*[iter(texts)] * len(columns), strict=True))


def planned(days: Any, predicate: list[PredicateNode]) -> list[list[str]]:
    client, database, name = days
    return sorted(each.values for each in client.plan_scan(ScanRequest(database, name, predicate)).partitions)


def test_each_combination_of_some_columns_is_returned_once(days: Any) -> None:
    assert values(days, "ds") == sorted((ds,) for ds in DAYS)
    assert values(days, "n", "DS") == sorted({(n, ds) for ds, n, _ in ROWS})
    assert values(days, "t", "ds", "n") == sorted((t, ds, n) for ds, n, t in ROWS)


def test_only_values_that_a_scan_would_read_are_returned(days: Any) -> None:
    one = [PredicateNode(OPERATOR.EQUAL, "n", ["1"])]
    kept = planned(days, one)
    assert kept != sorted(ROWS)
    assert values(days, "ds", "n", "t", predicate=one) == [tuple(row) for row in kept]
    assert values(days, "ds", predicate=[PredicateNode(OPERATOR.FALSE)]) == []


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    column=st.sampled_from([0, 1, 2]),
    texts=st.lists(st.sampled_from([*DAYS, *NUMBERS, *DATES, "", "never"]), max_size=6),
    negated=st.booleans(),
)
def test_texts_are_compared_as_texts_for_every_type(days: Any, column: int, texts: list[str], negated: bool) -> None:
    predicate = [PredicateNode(OPERATOR.TEXT_IN, KEYS[column][0], texts)]
    predicate += [PredicateNode(OPERATOR.NOT)] if negated else []
    assert planned(days, predicate) == sorted(row for row in ROWS if (row[column] in texts) is not negated)


def test_many_texts_are_one_condition(days: Any) -> None:
    texts = [f"{number}" * 10 for number in range(20_000)]
    predicate = [PredicateNode(OPERATOR.TEXT_IN, "ds", [*texts, *DAYS[1:]]), PredicateNode(OPERATOR.NOT)]
    assert {row[0] for row in planned(days, predicate)} == {DAYS[0]}


def test_the_beginning_of_a_text(days: Any) -> None:
    for prefix in ["2024", "2024-01-05", "", " ", "x", "__HIVE", "a", "\u00e9", "%", "\U0010ffff"]:
        starts = [PredicateNode(OPERATOR.STARTS_WITH, "ds", [prefix])]
        assert planned(days, starts) == sorted(row for row in ROWS if row[0].startswith(prefix)), prefix
        others = planned(days, [*starts, PredicateNode(OPERATOR.NOT)])
        assert others == sorted(row for row in ROWS if not row[0].startswith(prefix)), prefix


def test_a_plan_is_rejected_if_partitions_were_added_or_dropped_since(metastore_client: Any) -> None:
    """The client's knowledge of all values does not include new ones."""
    table = new_table(metastore_client, [("ds", "string")])

    def state() -> str:
        return metastore_client.scan_values(ScanValuesRequest(ScanRequest(*table), ["ds"])).state

    def plan(known: str) -> list[list[str]]:
        return [each.values for each in metastore_client.plan_scan(ScanRequest(*table, state=known)).partitions]

    def add(value: str) -> None:
        metastore_client.add_partition(partition(*table, [value]))

    empty = state()
    assert plan(empty) == []
    add("a")
    one = state()
    add("b")
    for known in (empty, one, "never"):
        with pytest.raises(ConflictException, match="were added or dropped"):
            plan(known)
    two = state()
    assert plan(two) == [["a"], ["b"]]
    metastore_client.drop_partition(*table, ["b"], False)
    with pytest.raises(ConflictException):
        plan(two)
    assert plan(state()) == [["a"]]


@pytest.mark.parametrize("wanted", [["a"], ["ds", "nothing"], [], [""]])
def test_only_partition_columns_have_texts(days: Any, wanted: list[str]) -> None:
    with pytest.raises(MetaException):
        values(days, *wanted)


def test_tables_that_are_not_there_and_requests_without_one(days: Any) -> None:
    client, database, _ = days
    with pytest.raises(NoSuchObjectException):
        client.scan_values(ScanValuesRequest(ScanRequest(database, "nothing"), ["ds"]))
    for request in (ScanValuesRequest(), ScanValuesRequest(ScanRequest(), ["ds"])):
        with pytest.raises((MetaException, NoSuchObjectException)):
            client.scan_values(request)
