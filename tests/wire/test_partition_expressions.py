"""Partitions by expression. A filter text is evaluated; for all other expressions, the reply keeps every partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wire.builders import columns, new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import (
    DropPartitionsExpr,
    DropPartitionsRequest,
    MetaException,
    NoSuchObjectException,
    PartitionsByExprRequest,
    PartitionValuesRequest,
    RequestPartsSpec,
)

KEYS = [("ds", "string"), ("n", "int")]
NAMES = ["ds=a/n=1", "ds=a/n=10", "ds=a/n=2", "ds=b/n=1"]
# The first bytes of an expression that Hive has serialized with Kryo.
KRYO = b"\x01\x00org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDe\xe3\x01\x01ds = 'a'"


@pytest.fixture
def filled(hive_client: Any) -> tuple[str, str]:
    database, name = new_table(hive_client, KEYS)
    values = (["a", "1"], ["a", "10"], ["a", "2"], ["b", "1"])
    hive_client.add_partitions([partition(database, name, value) for value in values])
    return database, name


def by_expression(client: Any, request: PartitionsByExprRequest) -> tuple[list[list[str]], bool]:
    """Both methods must give the same answer."""
    result, specs = client.get_partitions_by_expr(request), client.get_partitions_spec_by_expr(request)
    (spec,) = specs.partitionsSpec
    listed = spec.sharedSDPartitionSpec or spec.partitionList
    values = [each.values for each in result.partitions]
    assert [each.values for each in listed.partitions] == values
    assert result.hasUnknownPartitions is specs.hasUnknownPartitions
    return values, result.hasUnknownPartitions


@pytest.mark.parametrize(
    ("expression", "expected", "unknown"),
    [
        (b"\xff", 4, False),
        (b"", 4, False),
        (None, 4, False),
        (b"ds = 'a' and n > 1", 2, False),
        (b"ds = 'z'", 0, False),
        (KRYO, 4, True),
        (b"\x00" * 10, 4, True),
        (b"nope = 1", 4, True),
        (b"n = 'x'", 4, True),
        (b"(" * 1000, 4, True),
        (b"\xc3\x28", 4, True),
        (b"ds = '\xc3'", 4, True),
    ],
)
def test_unreadable_expressions_keep_all_partitions(
    hive_client: Any, filled: tuple[str, str], expression: bytes | None, expected: int, unknown: bool
) -> None:
    values, has_unknown = by_expression(hive_client, PartitionsByExprRequest(*filled, expression))
    assert (len(values), has_unknown) == (expected, unknown)


def test_a_limit_does_not_apply_to_unevaluated_expressions(hive_client: Any, filled: tuple[str, str]) -> None:
    assert len(by_expression(hive_client, PartitionsByExprRequest(*filled, KRYO, maxParts=1))[0]) == 4
    assert len(by_expression(hive_client, PartitionsByExprRequest(*filled, b"\xff", maxParts=3))[0]) == 3
    assert len(by_expression(hive_client, PartitionsByExprRequest(*filled, b"ds = 'a'", maxParts=2))[0]) == 2


def test_names_in_an_order(hive_client: Any, filled: tuple[str, str]) -> None:
    def names(expression: bytes, **fields: Any) -> list[str]:
        return list(hive_client.get_partition_names_req(PartitionsByExprRequest(*filled, expression, **fields)))

    assert names(b"\xff") == NAMES
    assert names(b"\xff", order="1:-") == ["ds=a/n=10", "ds=a/n=2", "ds=a/n=1", "ds=b/n=1"]
    assert names(b"\xff", order="0,1:-+") == ["ds=b/n=1", "ds=a/n=1", "ds=a/n=2", "ds=a/n=10"]
    assert names(b"n = 1", maxParts=1) == ["ds=a/n=1"]
    for order in ("1", "1:", "2:+", "x:+", "1:*", "1,0:+", ":", "-1:+", "1" * 10_000):
        with pytest.raises(MetaException, match="Bad order of partitions"):
            names(b"\xff", order=order)
    with pytest.raises(MetaException, match="cannot be read"):
        names(KRYO)


def drop(client: Any, filled: tuple[str, str], *expressions: bytes | None, **fields: Any) -> list[list[str]]:
    parts = RequestPartsSpec(exprs=[DropPartitionsExpr(expression) for expression in expressions])
    result = client.drop_partitions_req(DropPartitionsRequest(*filled, parts, True, **fields))
    return [each.values for each in result.partitions]


def test_a_filters_text_drops_matching_partitions(hive_client: Any, filled: tuple[str, str]) -> None:
    location = hive_client.get_partition(*filled, ["a", "1"]).sd.location
    assert drop(hive_client, filled, b"n = 1", b"ds = 'b' and n = 1") == [["a", "1"], ["b", "1"]]
    assert not Path(location.removeprefix("file:")).exists()
    assert drop(hive_client, filled, b"ds = 'z'") == []
    with pytest.raises(NoSuchObjectException, match="Some partitions to drop are missing"):
        drop(hive_client, filled, b"ds = 'a'", b"ds = 'z'", ifExists=False)
    assert hive_client.get_partition_names(*filled, -1) == ["ds=a/n=10", "ds=a/n=2"]


@pytest.mark.parametrize("expression", [KRYO, b"\xff", b"", None, b"nope = 1", b"n = 'x'", b"ds", b"ds = '\xc3'"])
def test_unreadable_expressions_drop_nothing(
    hive_client: Any, filled: tuple[str, str], expression: bytes | None
) -> None:
    with pytest.raises(MetaException):
        drop(hive_client, filled, b"ds = 'a'", expression)
    assert hive_client.get_partition_names(*filled, -1) == NAMES


def test_a_request_that_names_nothing_drops_nothing(hive_client: Any, filled: tuple[str, str]) -> None:
    for parts in (None, RequestPartsSpec()):
        with pytest.raises(MetaException, match="needs the names of partitions"):
            hive_client.drop_partitions_req(DropPartitionsRequest(*filled, parts))
    assert drop(hive_client, filled) == []
    assert hive_client.get_partition_names(*filled, -1) == NAMES


def test_a_missing_table_is_named(hive_client: Any, filled: tuple[str, str]) -> None:
    request = PartitionsByExprRequest(filled[0], "nope", KRYO)
    for call in (
        lambda: hive_client.get_partitions_by_expr(request),
        lambda: hive_client.get_partitions_spec_by_expr(request),
        lambda: hive_client.get_partition_names_req(request),
        lambda: drop(hive_client, (filled[0], "nope"), b"ds = 'a'"),
    ):
        with pytest.raises(NoSuchObjectException, match="nope table not found"):
            call()
    with pytest.raises(MetaException, match="nope table not found"):
        hive_client.get_partition_values(PartitionValuesRequest(filled[0], "nope", columns(("ds", "string"))))


@pytest.mark.parametrize(
    ("keys", "fields", "expected"),
    [
        ("n", {}, [["1"], ["2"], ["10"]]),
        ("n", {"ascending": False}, [["10"], ["2"], ["1"]]),
        ("N", {"maxParts": 2}, [["1"], ["2"]]),
        ("n", {"maxParts": 0}, []),
        ("n", {"filter": "ds = 'a' and n > 1"}, [["2"], ["10"]]),
        ("n ds", {}, [["1", "a"], ["1", "b"], ["2", "a"], ["10", "a"]]),
        ("n", {"applyDistinct": False}, [["1"], ["1"], ["2"], ["10"]]),
        ("ds", {"partitionOrder": "n", "applyDistinct": False}, [["a"], ["b"], ["a"], ["a"]]),
        ("ds", {"partitionOrder": "n", "ascending": False}, [["a"], ["b"]]),
    ],
)
def test_values_of_some_keys(
    hive_client: Any, filled: tuple[str, str], keys: str, fields: dict[str, Any], expected: list[list[str]]
) -> None:
    if "partitionOrder" in fields:
        fields = fields | {"partitionOrder": columns((fields["partitionOrder"], "int"))}
    asked = columns(*((key, "string") for key in keys.split()))
    partition_values = hive_client.get_partition_values(PartitionValuesRequest(*filled, asked, **fields))
    assert [partition_value.row for partition_value in partition_values.partitionValues] == expected


def test_the_default_partition_has_its_name(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partitions([partition(database, name, ["", "1"]), partition(database, name, ["x", ""])])
    asked = columns(("ds", "string"), ("n", "int"))
    partition_values = hive_client.get_partition_values(PartitionValuesRequest(database, name, asked)).partitionValues
    default = "__HIVE_DEFAULT_PARTITION__"
    assert sorted(each.row for each in partition_values) == [[default, "1"], ["x", default]]


def test_values_that_are_none_are_rejected(hive_client: Any, filled: tuple[str, str]) -> None:
    key = columns(("ds", "string"))
    for asked, fields in (
        (columns(("nope", "string")), {}),
        ([], {}),
        (None, {}),
        (key, {"filter": "nope = 1"}),
        (key, {"partitionOrder": columns(("nope", "string"))}),
    ):
        with pytest.raises(MetaException):
            hive_client.get_partition_values(PartitionValuesRequest(*filled, asked, **fields))
