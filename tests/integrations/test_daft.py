"""Daft reads the published files of a Hive table, and reads and writes Iceberg tables, with the code of the page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integrations.lake import Lake
from tests.integrations.neighbours import run
from tests.integrations.venvs import installed

ANSWER = """
import json
print(json.dumps([visits.sort("country").to_pydict(), orders.sort("id").to_pydict(),
                  sorted(table.scan().to_arrow()["id"].to_pylist())], default=str))
"""


def test_the_page(lake: Lake, tmp_path: Path) -> None:
    venv = installed("daft-0.7", "daft==0.7.*", "pyiceberg[hive]==0.12.*", "-e", ".[arrow]")
    (tmp_path / "program.py").write_text(lake.program("python", "import daft", "daft.") + ANSWER)
    output = run("Daft", [venv / "bin/python", "program.py"], tmp_path, DAFT_ANALYTICS_ENABLED="0")
    visits, orders, written = json.loads(output.splitlines()[-1])
    assert visits == {"country": ["ca", "us"], "price": [4.0, 3.0], "ds": ["2026-01-05"] * 2}
    assert orders == {"id": [1, 3], "name": ["a", "c"]}
    assert written == [1, 3, 4]
