"""Every example of the five designs, typed as it stands, with and without authorization."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from tests.fixtures.server import Server, connected
from tests.spark.designs import bucketing, dependent_tables, doris, dynamic_partitions, list_bucketing
from tests.spark.designs.lines import Line, outcome
from tests.wire.authorization.granting import everywhere, grant

ROOT = Path(__file__).parents[2]
# The names are those of the modules in tests/spark/designs.
DESIGNS = {
    "list_bucketing": list_bucketing.LINES,
    "bucketing": bucketing.LINES,
    "dynamic_partitions": dynamic_partitions.LINES,
    "doris": doris.LINES,
    "dependent_tables": dependent_tables.LINES,
}


@pytest.mark.parametrize("lines", DESIGNS.values(), ids=DESIGNS)
def test_a_design(spark: SparkSession, metastore: MetastoreClient, table_name: str, lines: Sequence[Line]) -> None:
    session = spark.newSession()
    found = outcome(session, lines, table_name, ",".join(map(str, metastore.addresses)))
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_designs_with_authorization(
    database_url: str, start_metastore: Callable[..., Server], tmp_path: Path
) -> None:
    """The session's user may create databases, and so owns them and their tables. One statement of Doris' names the
    location of a database, which needs a right on this location.
    """
    server = start_metastore(database_url, "--authorization", "grants", "--admins", "root")
    with connected(server) as root:
        root.set_ugi("root", [])
        grant(root, everywhere(), "CREATE", "clerk")
        grant(root, everywhere(f"{server.warehouse}/design_of_doris.db/placed"), "LOCATION", "clerk")
    command = [sys.executable, "-m", "tests.spark.designs", server.uri, server.warehouse, *DESIGNS]
    env = {**os.environ, "HADOOP_USER_NAME": "clerk", "LOGNAME": "clerk", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
