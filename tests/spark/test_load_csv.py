"""The code of the page on loading CSV files works as printed."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "load-csv.md").read_text()


def test_the_page_runs_as_printed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"spark": spark}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for number, block in enumerate(blocks):
        absolute = block.replace('csv("sales.csv"', f'csv("{tmp_path}/sales.csv"')  # the JVM keeps its directory
        exec(compile(absolute, f"block {number + 1}", "exec"), names)
    rows = spark.sql("SELECT id, country, amount, CAST(day AS STRING) FROM imported.sales ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (1, "US", Decimal("10.50"), "2026-01-01"),
        (2, "DE", None, "2026-01-01"),
        (3, "US", Decimal("7.25"), "2026-01-02"),
    ]
    assert spark.table("imported.by_country").count() == 6
    assert spark.table("imported.raw").count() == 3
    bad = tmp_path / "bad.csv"
    bad.write_text("id,country,amount,day\nx,US,1,2026-01-01\n")
    with pytest.raises(Py4JJavaError, match="MALFORMED_RECORD_IN_PARSING"):
        spark.read.csv(str(bad), schema=names["columns"], header=True, mode="FAILFAST").collect()
