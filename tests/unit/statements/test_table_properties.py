"""TBLPROPERTIES: how they are parsed, and which names and values are mistakes."""

from __future__ import annotations

import pytest

from spark_client.statements.grammar.table_properties import TableProperties, parse
from spark_client.table.properties import problem_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CREATE EXTERNAL TABLE IF NOT EXISTS a.t (x INT COMMENT 'TBLPROPERTIES') TBLPROPERTIES ('k'='v', a.b=true)",
            TableProperties("a.t", {"k": "v", "a.b": "true"}, frozenset(), frozenset({"x"})),
        ),
        (
            "CREATE TABLE t (x INT COMMENT 'like') TBLPROPERTIES ('k'='v') partitioned BY (y INT) CLUSTERED BY (x) …",
            TableProperties("t", {"k": "v"}, frozenset({"PARTITIONED", "CLUSTERED"}), frozenset({"x"})),
        ),
        (
            "CREATE TABLE t (`X` STRUCT<a: INT, b: INT>, p INT) USING orc PARTITIONED BY (p) TBLPROPERTIES ('k'='v')",
            TableProperties("t", {"k": "v"}, frozenset({"PARTITIONED"}), frozenset({"x"})),
        ),
        ("CREATE TABLE t LIKE s TBLPROPERTIES ('k'='v')", TableProperties("t", {"k": "v"})),
        ('alter table t set tblproperties ("k" "v");', TableProperties("t", {"k": "v"})),
        ("ALTER TABLE t UNSET TBLPROPERTIES ('k')", None),
        ("CREATE VIEW v TBLPROPERTIES ('k' = 'v') AS SELECT 1", None),
        ("SHOW TBLPROPERTIES t", None),
        ("CREATE TABLE t (x INT) TBLPROPERTIES ('k' =", None),
        ("CREATE TABLE t (x INT) AS SELECT 'TBLPROPERTIES (a=b)'", None),
    ],
)
def test_properties_that_a_statement_sets(text: str, expected: TableProperties | None) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("name", ["skew.layuot", "Skew.Layout", "write.modes", "orc.compres", "write.lease.second"])
def test_a_name_that_is_nearly_ours_is_a_slip(name: str) -> None:
    assert "did you mean '" in problem_of({"a": "b", name: "x"})


def test_the_name_that_is_meant_is_of_the_same_format() -> None:
    assert problem_of({"orc.compression": "x"}).endswith("did you mean 'orc.compress'?")
    assert problem_of({"wirte.mode": "x"}).endswith("did you mean 'write.mode'?")


@pytest.mark.parametrize(
    "properties",
    [
        {"skew.layout": "flat", "skew.auto": "TRUE", "write.mode": "in-place", "parquet.compression": "ZSTD"},
        {"write.format.default": "orc", "comment": "skew", "orc.bloom.filter.columns": "a", "write.lease.seconds": "5"},
        {"compression": "Zlib", "csv.compression": "deflate", "avro.compression": "snappy"},
    ],
)
def test_valid_and_unknown_properties_are_accepted(properties: dict[str, str]) -> None:
    assert problem_of(properties) == ""


@pytest.mark.parametrize("share", ["2", "0", "0.00001", "-1", "nan", "much", ""])
def test_a_share_out_of_range_is_rejected(share: str) -> None:
    assert (
        problem_of({"skew.auto.share": share}) == f"skew.auto.share is {share!r}; it must be a number from 0.0001 to 1"
    )
    assert problem_of({"skew.auto.share": "0.05"}) == ""


@pytest.mark.parametrize("name", ["compression", "orc.compress", "parquet.compression"])
def test_a_codec_that_there_is_not_is_rejected(name: str) -> None:
    assert problem_of({name: "lzx"}).startswith(f"{name} is 'lzx'; it must be plain, ")
