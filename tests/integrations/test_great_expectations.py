"""Great Expectations validates a partition, read without Spark, with the code of the page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integrations.lake import Lake
from tests.integrations.neighbours import run
from tests.integrations.venvs import installed

ANSWER = "\nimport json\nprint(json.dumps([each.success for each in result.results]))"


def test_the_page(lake: Lake, tmp_path: Path) -> None:
    venv = installed("great-expectations-1.24", "great_expectations==1.24.*", "-e", ".[arrow]")
    program = lake.program("python", "great_expectations")
    for name, text in (("good.py", program), ("bad.py", program.replace("max_value=50", "max_value=3"))):
        (tmp_path / name).write_text(text + ANSWER)
    command = venv / "bin/python"
    good, bad = (run("Great Expectations", [command, name], tmp_path) for name in ("good.py", "bad.py"))
    assert json.loads(good.splitlines()[-1]) == [True, True]  # the replaced rows have prices of 100
    assert json.loads(bad.splitlines()[-1]) == [True, False]
