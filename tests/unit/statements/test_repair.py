"""MSCK REPAIR TABLE and RECOVER PARTITIONS are handled; mistakes are left to Spark's parser."""

from __future__ import annotations

import pytest

from spark_client.statements.grammar.repair import Repair, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MSCK REPAIR TABLE t", Repair("t")),
        ("msck repair table `a`.t;", Repair("`a`.t")),
        ("MSCK /* all */ REPAIR TABLE a.t ADD PARTITIONS", Repair("a.t")),
        ("MSCK REPAIR TABLE t DROP PARTITIONS", Repair("t", add=False, drop=True)),
        ("MSCK REPAIR TABLE t SYNC PARTITIONS", Repair("t", drop=True)),
        ("ALTER TABLE t RECOVER PARTITIONS", Repair("t")),
    ],
)
def test_handled(text: str, expected: Repair) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "MSCK TABLE t",
        "MSCK REPAIR TABLE",
        "MSCK REPAIR TABLE t ADD",
        "MSCK REPAIR TABLE t ADD PARTITIONS x",
        "ALTER TABLE t RECOVER PARTITIONS x",
        "ALTER TABLE recover ADD COLUMNS (a INT)",
        "SELECT 'MSCK REPAIR TABLE t'",
    ],
)
def test_left_to_spark(text: str) -> None:
    assert parse(text) is None
