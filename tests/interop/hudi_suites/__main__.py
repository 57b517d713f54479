"""Runs Hudi's own tests of its synchronization with Hive against our server.

    python -m tests.interop.hudi_suites [SUITE …]

SUITE is the name of a class below org.apache.hudi.hive, such as TestHiveSyncTool. Without one, the suites of `SUITES`
run. Only the service that starts a metastore and HiveServer2 is replaced (`java`): HiveServer2 of Hive 2.3.10 runs, and
the metastore is this server. `expected.tsv` lists the tests that do not pass, each with its reason. The status is 1 if
another test fails, or a listed one passes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.fixtures.server import Server
from tests.interop.hive.queries import JAVA, UNWANTED
from tests.interop.hudi_suites.clusters import reachable_clusters
from tests.interop.java import java_home
from tests.interop.maven import class_path, fetched
from tests.interop.suites import JUNIT, Outcome, junit_arguments, junit_outcomes, own_server, run_jvm, run_suites

VERSION = "1.0.2"
PACKAGE = "org.apache.hudi.hive."
SUITES = (
    "TestHiveSyncTool",
    "functional.TestHiveMetastoreBasedLockProvider",
    "replication.TestHiveSyncGlobalCommitTool",
)
REPLICATING = ("replication.TestHiveSyncGlobalCommitTool",)  # from one cluster to another
TESTS = "hive-sync", "common", "hadoop-common", "io", "sync-common"
HIVE, HADOOP = "2.3.10", "3.1.0"
JETTY = "9.3.19.v20170502"  # of Hadoop
UNSUITABLE = "jetty-all-7", "jetty-6.", "jetty-util-6.", "javax.ws.rs-api"  # of Hive: HDFS does not work beside them
LIBRARIES = (
    *JUNIT,
    "org.apache.avro:avro:1.11.4",  # before those inside of Hive's jars
    "org.apache.parquet:parquet-avro:1.10.1",
    *(f"org.apache.hudi:hudi-{name}:{VERSION}" for name in ("hive-sync", "hadoop-mr")),
    *(f"org.eclipse.jetty:jetty-{name}:{JETTY}" for name in ("server", "http", "io", "servlet", "security", "util")),
    *(f"org.apache.hive:hive-{name}:{HIVE}" for name in ("exec", "service", "jdbc", "metastore")),
    *(f"org.apache.hadoop:hadoop-{name}:{HADOOP}" for name in ("client", "minicluster", "auth", "common", "hdfs")),
    "org.apache.zookeeper:zookeeper:3.4.14",  # the tests call a method that Hive's version does not have
    "com.esotericsoftware:kryo-shaded:4.0.2",  # of Spark
    "org.mockito:mockito-junit-jupiter:3.12.4",
)
OPENED = ("java.lang", "java.lang.reflect", "java.net", "java.nio", "java.util", "java.util.concurrent")
HERE = Path(__file__).parent


def _outcomes(folder: Path, suites: Sequence[str]) -> Iterator[Outcome]:
    """Runs each suite with its own servers, each on a database of its own, and its own virtual machine."""
    jars = _jars(folder)
    for suite in suites:
        with ExitStack() as stack:
            addresses = stack.enter_context(reachable_clusters(folder / f"{suite}-clusters"))
            names = (suite, f"{suite}-remote") if suite in REPLICATING else (suite,)
            servers = [stack.enter_context(own_server(folder / name, "hdfs:/")) for name in names]
            _run(suite, jars, servers, addresses, folder / suite)
            yield from junit_outcomes(suite, folder / suite / "report")


def _jars(folder: Path) -> list[str]:
    """Returns the class path: our classes, Hudi's tests, Hudi, Hive, and the test libraries."""
    tests = [str(fetched(f"org.apache.hudi:hudi-{module}:{VERSION}", "-tests.jar")) for module in TESTS]
    unwanted = UNWANTED, *UNSUITABLE
    libraries = [jar for jar in class_path(*LIBRARIES).split(os.pathsep) if not any(part in jar for part in unwanted)]
    classes = str(folder / "classes")
    javac = shutil.which("javac", path=str(java_home(17, 17) / "bin")) or "javac"
    sources = map(str, (HERE / "java").rglob("*.java"))
    subprocess.run([javac, "-cp", os.pathsep.join([*tests, *libraries]), "-d", classes, *sources], check=True)
    return [classes, *tests, *libraries]


def _run(suite: str, jars: Sequence[str], servers: Sequence[Server], addresses: Path, folder: Path) -> None:
    (folder / "tmp").mkdir()
    properties = {
        "java.io.tmpdir": folder / "tmp",
        "java.system.class.loader": "OpenLoader",
        "hdfs.addresses": addresses,
        "metastore.uris": ",".join(server.uri for server in servers),
        "metastore.warehouses": ",".join(str(server.warehouse) for server in servers),
    }
    command = [str(java_home(17, 17) / "bin" / "java"), "-Xmx2g", *JAVA]
    command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    command += [f"-D{key}={value}" for key, value in properties.items()]
    command += ["-cp", os.pathsep.join(jars), *junit_arguments(PACKAGE + suite, folder / "report")]
    run_jvm(suite, command, folder, {})


if __name__ == "__main__":
    sys.exit(run_suites(_outcomes, SUITES, HERE / "expected.tsv"))
