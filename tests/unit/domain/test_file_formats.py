"""How engines find columns in files."""

from __future__ import annotations

import pytest

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
