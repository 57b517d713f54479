"""Plain Spark with Hive support: more than a hundred statements of two versions of it, none of our library involved."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.real_hive import find_java
from tests.fixtures.server import Server
from tests.fixtures.sparks import python_of
from tests.wire.builders import unique

ROOT = Path(__file__).parents[2]
LAST_JAVA_OF_35 = 21


@pytest.mark.timeout(900)
def test_the_spark_that_is_installed(metastore_server: Server, tmp_path: Path) -> None:
    assert run(sys.executable, metastore_server, tmp_path).startswith("4.")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_3_5(metastore_server: Server, tmp_path: Path) -> None:
    if java_version() > LAST_JAVA_OF_35:
        pytest.skip(f"Spark 3.5 runs on Java {LAST_JAVA_OF_35} at most, and Java {java_version()} is installed")
    assert run(python_of("3.5"), metastore_server, tmp_path).startswith("3.5.")


def java_version() -> int:
    """Of the Java that Spark will take."""
    said = subprocess.run([find_java() or "java", "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "(\d+)', said)
    assert found, said
    return int(found[1])


def run(python: str, server: Server, folder: Path) -> str:
    """Runs the script with this Python; returns the version of its Spark. Fails with every statement that failed."""
    module = "tests.clients.spark_statements"
    arguments = [server.uri, server.warehouse, unique("spark"), str(folder)]
    ran = subprocess.run([python, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout, ran.stderr[-4000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert not report["failures"], "\n".join(report["failures"])
    assert report["statements"] >= 100
    return str(report["version"])
