"""dbt-spark with the macros of the how-to page: through `metastore spark serve`, and in the process of dbt."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metastore.client import MetastoreClient
from tests.fixtures.server import Server
from tests.fixtures.spark_servers import serving
from tests.integrations.venvs import ROOT, installed
from tests.wire.builders import unique

PAGE = ROOT / "docs/how-to/dbt.md"
PROJECT = Path(__file__).with_name("dbt")
DBT = "dbt-core==1.11.*"
# An environment for each: PyHive needs an older thrift than this library.
THRIFT = (DBT, "dbt-spark[PyHive]==1.11.*")
SESSION = (DBT, "dbt-spark[session]==1.11.*", "-e", ".[spark]")
OUTPUT = "shop: {{target: dev, outputs: {{dev: {{type: spark, schema: {schema}, threads: 1, {method}}}}}}}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project, with the macros and models of the page."""
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    for name in ("macros", "models"):  # Git has no empty folders
        (folder / name).mkdir(exist_ok=True)
    skewed, orders, dependent, days = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    texts = {
        "macros/skewed_by.sql": skewed,
        "macros/dependent.sql": dependent,
        "models/orders.sql": orders,
        "models/complete_days.sql": days,
        "run_dbt.py": program,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def client(metastore_server: Server) -> Iterator[MetastoreClient]:
    with MetastoreClient(metastore_server.uri) as connected:
        yield connected


def run(program: list[str], project: Path, commands: list[str], **environment: str) -> None:
    for command in commands:
        options = ["--project-dir", str(project), "--profiles-dir", str(project)]
        done = subprocess.run(
            [*program, command, *options],
            cwd=project,
            env=os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        document = json.loads((project / "target/run_results.json").read_text())["results"]
        assert {each["status"] for each in document} <= {"success", "pass"}


def check(client: MetastoreClient, schema: str) -> None:
    orders = client.get_table(schema, "orders")
    assert (orders.skew.columns, orders.skew.values) == (("customer",), (("ann",), ("bob",)))
    assert client.get_partition_names(schema, "complete_days") == ("ds=2026-01-01", "ds=2026-01-02")
    (edge,) = client.get_dependencies(schema, "complete_days", ["2026-01-01"]).partitions
    assert (edge.state, len(edge.base_partitions)) == ("stale", 2)  # the second run has overwritten them
    assert orders.location is not None
    found = {path.name for path in Path(orders.location.removeprefix("file:")).rglob("customer=*")}
    assert found == {"customer=ann", "customer=bob"}


def test_the_thrift_server(project: Path, metastore_server: Server, client: MetastoreClient, tmp_path: Path) -> None:
    schema, venv = unique("dbt"), installed("dbt-spark-1.11-thrift", *THRIFT)
    (served := tmp_path / "served").mkdir()
    with serving(metastore_server.uri, served) as servers:
        port = servers.thrift.rpartition(":")[2]
        method = f"method: thrift, host: 127.0.0.1, port: {port}"
        (project / "profiles.yml").write_text(OUTPUT.format(schema=schema, method=method))
        run([str(venv / "bin/dbt")], project, ["seed", "run", "run", "test"])
    check(client, schema)


def test_a_session_in_the_process_of_dbt(
    project: Path, metastore_server: Server, client: MetastoreClient, tmp_path: Path
) -> None:
    schema, venv = unique("dbt"), installed("dbt-spark-1.11-session", *SESSION)
    (project / "profiles.yml").write_text(OUTPUT.format(schema=schema, method="method: session, host: NA"))
    uri, warehouse = metastore_server.uri, str(tmp_path / "warehouse")
    program = [str(venv / "bin/python"), "run_dbt.py"]
    run(program, project, ["seed", "run", "run", "test"], METASTORE_URI=uri, WAREHOUSE=warehouse)
    check(client, schema)
