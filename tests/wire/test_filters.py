"""Partition filters over the wire: Hive's example table, every type of key, and malicious texts."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.domain.expression import And, IsNull, Not, Or
from metastore.domain.filters import parse_filter
from metastore.storage.queries.filters import filter_condition
from metastore.storage.references import Key
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import MetaException


@pytest.fixture(scope="module")
def client(metastore_server: Server) -> Any:
    with connected(metastore_server) as connection:
        yield connection


@pytest.fixture(scope="module")
def hive_example(client: Any) -> tuple[str, str]:
    """The table of Hive's TestHiveMetaStore filter tests."""
    keys = [("p1", "string"), ("p2", "varchar(20)"), ("p3", "int"), ("p4", "char(4)")]
    rows = "p11 p21 31 p41, p11 p22 32 p42, p12 p21 31 p43, p12 p23 32 p43, p13 p24 31 p44, p13 p25 -33 p45"
    database, name = new_table(client, keys)
    client.add_partitions([partition(database, name, row.split()) for row in rows.split(", ")])
    return database, name


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('p1="p11"', 2),
        ('p1 != "p11"', 4),
        ("p3 = -33", 1),
        ("p3 != 32", 4),
        ('p1="p11" or p2="p23"', 3),
        ('31 != p3 and p1="p12"', 1),
        ('p1="p12" and p2="p27" Or p2="p21"', 2),
        ('p1 like "p1%"', 6),
        ('p1 like "p1.*"', 6),
        ('p4 like "p4_"', 6),
        ('p1 like "p1.*" and p3 = 31', 3),
        ("p3 between 31 and 32", 5),
        ("p3 between 32 and 31", 0),
        ('p1 not between "p11" and "p12"', 2),
        ("(p3) not in (31,33)", 3),
        ("(p3) in (31,33)", 3),
        ('(struct(p1,p2)) in (const struct("p11","p21"), const struct("p12","zz"))', 1),
        ('(struct(p1,p2)) not in (struct("p11","p21"), struct("p12","zz"))', 5),
        ("P3 > 31 AND P3 < 33", 2),
        ("p3 < 4", 1),  # as numbers: "31" < "4" as text
        ("`p3` == 31", 3),
        ("", 6),
    ],
)
def test_hive_s_examples(client: Any, hive_example: tuple[str, str], text: str, count: int) -> None:
    """Trap 22 and Trap 23."""
    assert len(client.get_partitions_by_filter(*hive_example, text, -1)) == count
    assert client.get_num_partitions_by_filter(*hive_example, text) == count


@pytest.mark.parametrize(
    "text",
    [
        "nope = 1",
        "p1",
        "p1 =",
        "p1 = 'x",
        "(p1 = 'x'",
        "p1 = 'x')",
        "p1 <=> 'x'",
        "p3 = 'abc'",
        "; drop table partitions",
        "p1 = 'a' union select 1",
        "((((",
        "p1 = \x00",
        "not p1 = 'x'",
    ],
)
def test_invalid_filters_are_rejected(client: Any, hive_example: tuple[str, str], text: str) -> None:
    with pytest.raises(MetaException) as caught:
        client.get_partitions_by_filter(*hive_example, text, -1)
    assert caught.value.message
    assert client.getStatus() == 2


def test_long_and_deep_filters(client: Any, hive_example: tuple[str, str]) -> None:
    wide = " or ".join(f'p1 = "p{n}"' for n in range(6_000))
    assert len(wide) > 80_000
    assert len(client.get_partitions_by_filter(*hive_example, wide, -1)) == 6
    for depth in (10, 1_000):
        deep = "(" * depth + 'p1="p11"' + ")" * depth
        assert len(client.get_partitions_by_filter(*hive_example, deep, -1)) == 2
    ranges = [f'(p1 = "p11" or p1 > "q{n}" or p2 > "q{n}")' for n in range(100)]
    assert len(client.get_partitions_by_filter(*hive_example, " and ".join(ranges), -1)) == 2


def test_the_planner_does_not_combine_all_parts_of_a_large_condition() -> None:
    """It needed 14 GB for a filter of 80 KB, and PostgreSQL was killed."""

    def condition(count: int, operator: str) -> str:
        parsed = parse_filter(f" {operator} ".join(f"(k > '{n}' or k < '{n}')" for n in range(count)))
        assert parsed is not None
        return filter_condition(parsed, [Key("k", "string")]).text

    assert condition(1000, "and").endswith(" IS TRUE")
    known = Or((Not(IsNull("k")), Not(IsNull("l"))))  # a condition without values
    assert filter_condition(And((known,) * 100), [Key("k", "int"), Key("l", "int")]).text.endswith(" IS TRUE")
    for count, operator in ((10, "and"), (1000, "or")):
        assert "IS TRUE" not in condition(count, operator)


@pytest.mark.parametrize(
    ("kind", "values", "text", "found"),
    [
        ("date", ["2024-01-02", "2024-1-3", "2023-12-31"], "k > '2024-01-01'", ["2024-01-02", "2024-1-3"]),
        ("date", ["2024-01-02", "2024-1-3"], "k = date '2024-01-03'", ["2024-1-3"]),
        ("date", ["2024-01-02", "2024-01-04"], "k <= 2024-01-02", ["2024-01-02"]),
        ("bigint", ["9", "10", "-5", "9999999999999999999"], "k > 9", ["10", "9999999999999999999"]),
        ("decimal(10,2)", ["1.50", "1.5", "-2", "10"], "k >= 2", ["10"]),
        ("timestamp", ["2024-01-01 00:00:00", "2024-01-01 00:00:00.5"], "k > '2024-01-01 00:00:00'", None),
        ("boolean", ["true", "false"], "k = 'true'", ["true"]),
        ("int", ["1", "02", "x", "__HIVE_DEFAULT_PARTITION__"], "k != 1", ["02"]),
        ("string", ["a'b", 'a"b', "a\\b"], 'k = "a\'b"', ["a'b"]),
        ("string", ["B", "a", "Ä"], "k < 'a'", ["B"]),
    ],
)
def test_keys_compare_by_their_type(
    client: Any, kind: str, values: list[str], text: str, found: list[str] | None
) -> None:
    """Trap 24."""
    database, name = new_table(client, [("k", kind)])
    client.add_partitions([partition(database, name, [value]) for value in values])
    expected = sorted(values[1:] if found is None else found)
    assert sorted(each.values[0] for each in client.get_partitions_by_filter(database, name, text, -1)) == expected
