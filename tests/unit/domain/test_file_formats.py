"""How engines find columns in files."""

from __future__ import annotations

import pytest

from metastore.domain.column_scope import ColumnScope
from metastore.domain.file_formats import finds_by_position

TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


@pytest.mark.parametrize(
    ("serde", "provider", "expected"),
    [
        (TEXT, None, True),
        (TEXT, "hive", True),
        (TEXT, "csv", True),
        (TEXT, "PARQUET", False),
        (TEXT, "iceberg", False),
        ("org.apache.hadoop.hive.serde2.OpenCSVSerde", None, True),
        ("org.apache.hadoop.hive.ql.io.orc.OrcSerde", None, False),
        ("org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", None, False),
        ("org.apache.hive.hcatalog.data.JsonSerDe", None, False),
        (None, None, False),
    ],
)
def test_text_files_have_no_names(serde: str | None, provider: str | None, expected: bool) -> None:
    assert finds_by_position(serde, provider) is expected


def test_columns_after_a_hidden_one_are_hidden_if_files_have_no_names() -> None:
    granted = ColumnScope(frozenset(("a", "c")), frozenset())
    scope = granted.of(["ds"], ["a", "b", "c", "ds"], by_position=True)
    assert [scope.hides(name) for name in ("a", "b", "c", "ds")] == [False, True, True, False]
    scope = ColumnScope(None, frozenset("c")).of([], ["a", "b", "c"], by_position=True)
    assert [scope.hides(name) for name in "abc"] == [False, False, True]
    assert not granted.of([], ["a", "b", "c"]).hides("c")
