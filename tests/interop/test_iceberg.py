"""Iceberg's runtime for Spark with its HiveCatalog: with the metastore's locks and without."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import Server
from tests.interop.java import java_home
from tests.interop.maven import UnavailableError, fetched
from tests.interop.python import python_with
from tests.interop.report import Report
from tests.wire.builders import unique

ROOT = Path(__file__).parents[2]
SPARK, ICEBERG = "4.1", "1.12.0"  # the newest Spark with a runtime of this Iceberg


@pytest.mark.timeout(1800)
def test_iceberg(metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Iceberg {ICEBERG} on Spark {SPARK}")
    try:
        jar = fetched(f"org.apache.iceberg:iceberg-spark-runtime-{SPARK}_2.13:{ICEBERG}", ".jar")
        python = python_with(f"pyspark=={SPARK}.*")
        environment = os.environ | {"JAVA_HOME": str(java_home(17, 21))}
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    module = "tests.interop.iceberg_statements"
    command = [python, "-m", module, metastore_server.uri, unique("ice"), str(tmp_path), str(jar)]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1500, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    said = json.loads(ran.stdout.splitlines()[-1])
    report.client = f"Iceberg {ICEBERG} on Spark {said['version']}"
    for group, name, error in said["tried"]:
        report.add(group, name, error)
    assert report.failures == []
