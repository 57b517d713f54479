"""PyIceberg's own tests of catalogs, from its source distribution, by REST and by Thrift."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import running
from tests.interop.maven import CACHE, UnavailableError
from tests.interop.python import python_with
from tests.interop.report import Report
from tests.wire.monitoring.pages import HTTP

VERSION = "0.12.0"
PACKAGES = (
    f"pyiceberg[pyarrow,hive,sql-sqlite]=={VERSION}",
    "pytest==9.1.1",
    "pytest-lazy-fixtures==1.4.1",
    "boto3",
    "moto",
)
# Names of databases and tables have no hyphens here.
HYPHENS = re.compile(r"(my_iceberg_(?:database|table|view)|rename)-")
# Databases have one level, and their names have no dots.
ABILITIES = """

def does_support_nested_namespaces(catalog: Catalog) -> bool:
    return False


def does_support_dot_in_identifier(catalog: Catalog) -> bool:
    return False
"""
# The tests that pass; the others need a catalog in which more is possible.
PASSED = {"rest": 36, "hive": 32}


def sources(folder: Path) -> Path:
    """Returns the unpacked source distribution, with names that are possible here. Raises UnavailableError."""
    archive = CACHE / "files" / f"pyiceberg-{VERSION}.tar.gz"
    if not archive.exists():
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", str(archive.parent)]
        command = [sys.executable, "-m", "pip", "download", "-q", *options, f"pyiceberg=={VERSION}"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if not archive.exists():
            raise UnavailableError(f"pyiceberg=={VERSION} cannot be had from PyPI: {ran.stderr.strip()[-300:]}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    home = folder / f"pyiceberg-{VERSION}"
    for name in ("tests/conftest.py", "tests/integration/test_catalog.py"):
        text = HYPHENS.sub(r"\1_", (home / name).read_text())
        (home / name).write_text(text + (ABILITIES if name.endswith("conftest.py") else ""))
    return home


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", PASSED)
def test_catalog(
    kind: str, make_database: Callable[[], str], tmp_path: Path, new_report: Callable[[str], Report]
) -> None:
    report = new_report(f"PyIceberg {VERSION}, tests of a catalog, {kind}")
    try:
        home, python = sources(tmp_path), python_with(*PACKAGES)
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    roots = f"file:{tempfile.gettempdir()}"  # some tests choose locations there
    with running(make_database(), tmp_path, "--http-port", "0", "--allowed-locations", roots) as server:
        match = HTTP.search(server.ready)
        assert match
        uri = f"{match[1].rstrip('/')}/iceberg" if kind == "rest" else server.uri
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
            "PYICEBERG_TEST_CATALOG": "ours",
            "PYICEBERG_CATALOG__OURS__TYPE": kind,
            "PYICEBERG_CATALOG__OURS__URI": uri,
        }
        results = tmp_path / "results.xml"
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", f"--junitxml={results}"]
        command += ["-m", "integration", "-k", "rest_test_catalog", "tests/integration/test_catalog.py"]
        ran = subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, timeout=800, check=False
        )
    assert results.exists(), ran.stdout[-3000:]
    passed = 0
    for case in ET.parse(results).getroot().iter("testcase"):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if problem is not None:
            report.add("catalog", case.get("name") or "", problem.get("message") or problem.text)
        elif case.find("skipped") is None:
            passed += 1
            report.add("catalog", case.get("name") or "")
    assert report.failures == []
    assert passed == PASSED[kind]
