"""Static partition values whose texts need no cast by Spark."""

from __future__ import annotations

import pytest

from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.write.rows import is_normal


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("0", "int"),
        ("127", "tinyint"),
        ("9223372036854775807", "bigint"),
        ("2024-02-29", "date"),
        ("anything", "string"),
        (DEFAULT_PARTITION, "int"),
    ],
)
def test_canonical_texts_are_normal(text: str, type_: str) -> None:
    assert is_normal(text, type_)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("03", "int"),
        ("-1", "int"),  # normal, but rare: Spark decides
        ("+1", "int"),
        (" 1", "int"),
        ("1.0", "int"),
        ("128", "tinyint"),
        ("32768", "smallint"),
        ("2147483648", "int"),
        ("9223372036854775808", "bigint"),
        ("\u0661", "int"),  # a digit, but not of ASCII
        ("1", "decimal(3,1)"),
        ("1", "boolean"),
        ("2023-02-29", "date"),
        ("2024-1-1", "date"),
        ("0000-01-01", "date"),
        ("2024-01-01", "timestamp"),
    ],
)
def test_spark_casts_every_other_text(text: str, type_: str) -> None:
    assert not is_normal(text, type_)
