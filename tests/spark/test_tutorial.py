"""The tutorial's code works as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_client

TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()


def test_the_tutorial_runs_as_printed(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_client, "session", lambda *_args, **_options: spark)
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    for number, block in enumerate(blocks):
        exec(compile(block, f"tutorial block {number + 1}", "exec"), names)
    (scan,) = names["report"].scans
    assert (scan.kept.partitions, scan.total.partitions) == (1, 3)
    assert (scan.kept.directories, scan.total.directories) == (1, 9)
    output = capsys.readouterr().out
    assert "|   30000|" in output
    assert "|2026-01-01|   10000|" in output
    assert "shop.complete_days" in output
