"""Writing to S3 by uploads that are completed when the write is published."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from spark_client.jvm.versions import TESTED
from tests.fixtures.server import running
from tests.fixtures.sparks import environment, python_of
from tests.interop.maven import UnavailableError
from tests.interop.report import Report
from tests.interop.storage.s3 import counting_s3, environment_of, s3a_jars, s3a_settings

ROOT = Path(__file__).parents[2]
VERSIONS = TESTED


class Place(NamedTuple):
    """A metastore with its warehouse on an S3 server."""

    uri: str
    endpoint: str


@pytest.fixture
def place(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with counting_s3("bucket") as endpoint:
        for name, value in environment_of(endpoint).items():
            monkeypatch.setenv(name, value)
        with running(database_url, tmp_path) as server:
            yield Place(server.uri, endpoint)


def ran(spark: str, place: Place, tmp_path: Path, module: str) -> dict[str, object]:
    """Runs a program with a Spark version and returns what it prints. Skips if S3A cannot be downloaded."""
    python = python_of(spark)
    found = [python, "-c", "import os, pyspark; print(os.path.dirname(pyspark.__file__))"]
    home = subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()
    try:
        settings = s3a_settings(place.endpoint, s3a_jars(Path(home)))
    except UnavailableError as error:
        pytest.skip(str(error))
    command = [python, "-W", "ignore", "-m", module, place.uri, place.endpoint, json.dumps(settings)]
    own = {"SPARK_HOME": home, "SPARK_SCALA_VERSION": "2.12" if spark < "4" else "2.13"}
    own |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(tmp_path / "work")}
    own |= {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": python}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**environment(), **own}, cwd=tmp_path, timeout=1500
    )
    assert result.returncode == 0, result.stderr[-4000:]
    printed: dict[str, object] = json.loads(result.stdout.splitlines()[-1])
    return printed


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("spark", VERSIONS)
def test_writes_by_uploads(spark: str, place: Place, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"S3 (moto): uploads, Spark {spark}")
    printed = ran(spark, place, tmp_path, "tests.interop.storage.uploads")
    for group, name, error in printed["outcomes"]:  # type: ignore[attr-defined]
        report.add(group, name, error)
    report.client += f" (requests to S3: {printed['requests']})"
    assert report.failures == []


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("spark", VERSIONS)
def test_executors_are_lost_while_they_upload(spark: str, place: Place, tmp_path: Path) -> None:
    """Each row arrives once, also if an executor that the driver has given up goes on."""
    seen = ran(spark, place, tmp_path, "tests.interop.storage.lost_uploads")
    if "skipped" in seen:
        pytest.skip(f"no cluster of several processes starts here: {seen['skipped']}")
    for kind, outcome in seen.items():
        assert isinstance(outcome, dict)
        assert outcome["stopped"] == 2, kind
        assert outcome["ids"] == list(range(800)), kind


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("spark", VERSIONS)
def test_drivers_are_killed_while_they_write(spark: str, place: Place, tmp_path: Path) -> None:
    """All rows of a killed driver are visible or none. The same write then succeeds, and cleaning leaves nothing."""
    seen = ran(spark, place, tmp_path, "tests.interop.storage.lost_drivers")
    written = list(range(10, 410))
    for attempt, outcome in seen.items():
        kind, step = attempt.split(", ")
        # The overwrite is dynamic: it replaces partition 1, and not partition 4.
        after = [1, 2, 3, *written] if kind == "append" else [3, *written]
        assert isinstance(outcome, dict)
        assert outcome["ended"] == -signal.SIGKILL, attempt
        assert outcome["after death"] == (after if step == "published" else [1, 2, 3]), attempt
        assert (outcome["repeated"], outcome["cleaned"], outcome["left"]) == (after, after, []), attempt
        assert (outcome["uploads"] > 0) == (step in ("task", "staged", "registered")), attempt
