"""An executor of a cluster is killed between the two jobs of a MERGE, on several Sparks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from spark_client.jvm.versions import TESTED
from tests.fixtures.server import Server
from tests.fixtures.sparks import environment, python_of

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.5", "4.1", TESTED[-1])


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("spark", VERSIONS)
def test_an_executor_is_killed_between_the_jobs_of_a_merge(
    metastore_server: Server, tmp_path: Path, spark: str
) -> None:
    """Each of the 200 source rows arrives once, or the statement fails and changes nothing."""
    python = python_of(spark)
    found = [python, "-c", "import os, pyspark; print(os.path.dirname(pyspark.__file__))"]
    package = subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()
    table = f"lost_{spark.replace('.', '_')}"
    command = [python, "-m", "tests.interop.lost_executors", metastore_server.uri, str(tmp_path / "warehouse"), table]
    own = {"SPARK_HOME": package, "SPARK_SCALA_VERSION": "2.12" if spark < "4" else "2.13"}
    own |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(tmp_path / "work")}
    own |= {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": python}
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**environment(), **own}, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    seen = json.loads(ran.stdout.splitlines()[-1])
    if "skipped" in seen:
        pytest.skip(f"no cluster of several processes starts here: {seen['skipped']}")
    for kind, outcome in seen.items():
        assert outcome["killed"] == 1, kind
        if outcome["error"]:
            assert outcome["error"].startswith("WriteFailedError: "), kind
            assert (outcome["ids"], set(outcome["x"])) == (list(range(0, 200, 4)), {"old"}), kind
        else:
            assert (outcome["ids"], set(outcome["x"])) == (list(range(200)), {"new"}), kind
    assert seen["certain"]["error"] is None
