"""dbt-spark through Spark's Thrift server with our rules: seeds, a table, incremental models, a view, tests; twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metastore.client import MetastoreClient
from tests.fixtures.server import Server
from tests.fixtures.spark_servers import serving
from tests.interop.maven import CACHE
from tests.interop.report import Report
from tests.wire.builders import unique

PROJECT = Path(__file__).with_name("dbt")
PACKAGES = ("dbt-core==1.11.*", "dbt-spark[PyHive]==1.11.*")
PROFILE = """
shop:
  target: dev
  outputs:
    dev: {{type: spark, method: thrift, host: 127.0.0.1, port: {port}, schema: {schema}, threads: 1}}
"""


def installed() -> Path:
    """Installs dbt in its own virtual environment."""
    venv = CACHE / "dbt-1.11"
    if not (venv / ".ready").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (venv / ".ready").touch()
    return venv / "bin/dbt"


@pytest.mark.timeout(1800)
def test_dbt(metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report("dbt-spark 1.11 over the Thrift server of metastore spark serve")
    dbt, schema, project = installed(), unique("dbt"), tmp_path / "project"
    shutil.copytree(PROJECT, project)
    (served := tmp_path / "served").mkdir()
    with serving(metastore_server.uri, served) as servers, MetastoreClient(metastore_server.uri) as metastore:
        port = servers.thrift.rpartition(":")[2]
        (project / "profiles.yml").write_text(PROFILE.format(port=port, schema=schema))
        for command in ("seed", "run", "run", "test"):
            arguments = ["--project-dir", str(project), "--profiles-dir", str(project), "--log-format-file", "json"]
            environment = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
            ran = subprocess.run(
                [dbt, command, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
            )
            for name, status, message in results(project):
                report.add(command, name, None if status in ("success", "pass") else f"{status}: {message}")
            assert ran.returncode == 0, ran.stdout[-6000:] + (served / "log").read_text()[-2000:]
        assert metastore.get_table(schema, "clicks").skew.values == (("ann",),)
    assert report.failures == []


def results(project: Path) -> list[tuple[str, str, str]]:
    """Returns each node of the last command, its status, and its message."""
    document = json.loads((project / "target/run_results.json").read_text())["results"]
    return [(each["unique_id"], each["status"], str(each["message"])) for each in document]
