"""Delta and Iceberg in one session with our tables: each works, and joins of all three are right."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import Server
from tests.fixtures.sparks import python_of
from tests.interop.java import java_home
from tests.interop.maven import UnavailableError, class_path
from tests.interop.report import Report
from tests.wire.builders import unique

ROOT = Path(__file__).parents[2]
# The newest releases for each Spark; neither is published for 4.3, Iceberg not for 4.2.
FORMATS = {
    "3.5": ("io.delta:delta-spark_2.12:3.3.3", "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0"),
    "4.0": ("io.delta:delta-spark_4.0_2.13:4.4.0", "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"),
    "4.1": ("io.delta:delta-spark_4.1_2.13:4.4.0", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
    "4.2": ("io.delta:delta-spark_4.2_2.13:4.4.0",),
}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("spark", FORMATS)
def test_formats_beside(
    metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report], spark: str
) -> None:
    formats = " and ".join(map(_name, FORMATS[spark]))
    report = new_report(f"{formats} beside ours on Spark {spark}")
    try:
        python = python_of(spark)
        jars = [jar for jar in class_path(*FORMATS[spark]).split(os.pathsep) if _is_new(jar)]
        environment = os.environ | {"JAVA_HOME": str(java_home(17, 21))}
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    arguments = [metastore_server.uri, unique("beside"), str(tmp_path), ",".join(jars)]
    command = [python, "-m", "tests.interop.formats_beside", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3300, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    said = json.loads(ran.stdout.splitlines()[-1])
    report.client = f"{formats} beside ours on Spark {said['version']}"
    for group, name, error in said["tried"]:
        report.add(group, name, error)
    assert report.failures == []


def _name(artifact: str) -> str:
    _, name, version = artifact.split(":")
    return f"{name.split('-')[0].capitalize()} {version}"


def _is_new(jar: str) -> bool:
    """Jars that Spark has already must not be on the class path twice."""
    return any(word in Path(jar).name for word in ("delta-", "iceberg-"))
