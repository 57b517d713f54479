"""Iceberg's REST Compatibility Kit: its tests of a catalog and of views, run against a server."""

from __future__ import annotations

import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import running
from tests.interop.java import java_home
from tests.interop.maven import UnavailableError, class_path
from tests.interop.report import Report
from tests.wire.monitoring.pages import HTTP

ICEBERG = "1.11.0"  # the newest version whose kit is on Maven Central
JARS = (
    f"org.apache.iceberg:iceberg-open-api:{ICEBERG}:tests",
    f"org.apache.iceberg:iceberg-open-api:{ICEBERG}:test-fixtures",
    f"org.apache.iceberg:iceberg-core:{ICEBERG}",
    f"org.apache.iceberg:iceberg-core:{ICEBERG}:tests",
    f"org.apache.iceberg:iceberg-api:{ICEBERG}:tests",
    "org.apache.hadoop:hadoop-client-api:3.4.2",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
    "org.junit.platform:junit-platform-console:1.14.0",
    "org.junit.jupiter:junit-jupiter:5.14.0",
    "org.assertj:assertj-core:3.27.6",
    "org.awaitility:awaitility:4.3.0",
    "org.mockito:mockito-core:4.11.0",
    "com.github.ben-manes.caffeine:caffeine:2.9.3",
    "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
# The tests of each class that pass; the others have conditions that databases of one level do not meet.
PASSED = {"RESTCompatibilityKitCatalogTests": 95, "RESTCompatibilityKitViewCatalogTests": 50}
OPTIONS = {
    "rck.local": "false",
    "warehouse": "hive",
    "rck.requires-namespace-create": "true",
    "rck.supports-serverside-retry": "true",
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PASSED)
def test_kit(name: str, make_database: Callable[[], str], tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Iceberg's REST Compatibility Kit {ICEBERG}, {name}")
    try:
        jars, java = class_path(*JARS), java_home(17, 21) / "bin" / "java"
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    roots = f"file:{tempfile.gettempdir()}"  # some tests choose locations there
    with running(make_database(), tmp_path, "--http-port", "0", "--allowed-locations", roots) as server:
        match = HTTP.search(server.ready)
        assert match
        options = [f"-D{key}={value}" for key, value in (OPTIONS | {"uri": f"{match[1].rstrip('/')}/iceberg"}).items()]
        launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--details=none"]
        command = [java, "-Xmx512m", "-cp", jars, *options, *launcher, f"--reports-dir={tmp_path}"]
        command += ["-c", f"org.apache.iceberg.rest.{name}"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=800, check=False)
    results = tmp_path / "TEST-junit-jupiter.xml"
    assert results.exists(), ran.stderr[-3000:]
    passed = 0
    for case in ET.parse(results).getroot().iter("testcase"):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if problem is not None:
            report.add(name, case.get("name") or "", problem.get("message") or problem.text)
        elif case.find("skipped") is None:
            passed += 1
            report.add(name, case.get("name") or "")
    assert report.failures == []
    assert passed == PASSED[name]
    assert "error" not in server.log.read_text().lower()
