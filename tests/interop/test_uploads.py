"""Writing to S3 by uploads that are completed when the write is published."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import running
from tests.fixtures.sparks import environment
from tests.interop.maven import UnavailableError
from tests.interop.report import Report
from tests.interop.storage.s3 import counting_s3, environment_of, s3a_jars, s3a_settings

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1800)
def test_uploads(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_report: Callable[[str], Report]
) -> None:
    report = new_report("S3 (moto): uploads")
    try:
        jars = s3a_jars()
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    with counting_s3("bucket") as endpoint:
        for name, value in environment_of(endpoint).items():
            monkeypatch.setenv(name, value)
        with running(database_url, tmp_path) as server:
            settings = json.dumps(s3a_settings(endpoint, jars))
            command = [sys.executable, "-W", "ignore", "-m", "tests.interop.storage.uploads"]
            command += [server.uri, endpoint, "local[2]", settings]
            ran = subprocess.run(
                command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=1500, check=False
            )
    print(ran.stderr[-8000:])
    assert ran.returncode == 0, ran.stderr[-4000:]
    for group, name, error in json.loads(ran.stdout.splitlines()[-1]):
        report.add(group, name, error)
    assert report.failures == []
