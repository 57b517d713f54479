"""Values of text files. `tests/spark/test_readers.py` compares them with Spark's."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from metastore.client.reading import text_values
from metastore.client.reading.schema import Column


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "3.9", "3"),
        ("int", "1e3", None),
        ("boolean", "yes", None),
        ("double", "inf", None),
        ("double", "-Infinity", "-Infinity"),
        ("varchar(2)", "日本語", "日本"),
        ("timestamp", "2020-01-01", None),
        ("string", "0x1F", "0x1F"),
    ],
)
def test_accepted_texts(kind: str, text: str, expected: str | None) -> None:
    column = Column("c", kind, is_key=False)
    assert text_values.accepted(pa.array([text, None]), column).to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("date", "2020-02-30", date(2020, 3, 1)),
        ("date", "0000-01-01", None),
        ("timestamp", "2020-01-01 24:00:00.25", datetime.fromisoformat("2020-01-02T00:00:00.25")),
        ("timestamp", "9999-12-31 24:00:00", None),
        ("timestamp", "2020-13-01 00:00:00", None),
    ],
)
def test_days_and_hours_count_on(kind: str, text: str, expected: Any) -> None:
    assert text_values.values(pa.array([text, None]), Column("c", kind, is_key=False)).to_pylist() == [expected, None]
