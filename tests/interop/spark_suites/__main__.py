"""Runs Spark's own tests of its Hive catalog against our server.

    python -m tests.interop.spark_suites [SUITE …]

SUITE is the name of a class below org.apache.spark.sql.hive, such as execution.HiveDDLSuite. Without one, the suites of
`SUITES` run. Only the metastore is replaced (`java/RemoteMetastore.java`). `expected.tsv` lists the
tests that do not pass, each with its reason. The status is 1 if another test fails, or a listed one passes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from tests.fixtures.server import Server
from tests.fixtures.sparks import python_of
from tests.interop.java import java_home
from tests.interop.maven import class_path, fetched
from tests.interop.suites import Outcome, own_server, run_jvm, run_suites

VERSION = "4.1.1"
SUITES = (
    "HiveExternalCatalogSuite",
    "HiveExternalSessionCatalogSuite",
    "ListTablesSuite",
    "MultiDatabaseSuite",
    "PartitionProviderCompatibilitySuite",
    "client.HiveClientSuites",
    "client.HivePartitionFilteringSuites",
    "execution.HiveDDLSuite",
    "execution.PruneHiveTablePartitionsSuite",
)
MODULES = ("catalyst", "common-utils", "core", "hive", "sql", "sql-api", "tags")
LIBRARIES = (
    "org.scalatest:scalatest_2.13:3.2.19",
    "org.scalatestplus:scalacheck-1-18_2.13:3.2.19.0",
    "org.scalatestplus:mockito-5-12_2.13:3.2.19.0",
    "junit:junit:4.13.2",
)
SITE = "<configuration><property><name>hive.metastore.uris</name><value>{}</value></property></configuration>\n"
OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util"),
    *("java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
HERE = Path(__file__).parent
_FAILED = "*** FAILED ***"
_TEST = re.compile(r"- (?P<test>.*?)(?: (?P<mark>\*\*\* FAILED \*\*\*|!!! (?:IGNORED|CANCELED) !!!))?")


def _outcomes(folder: Path, suites: Sequence[str]) -> Iterator[Outcome]:
    """Runs each suite with its own database, server and virtual machine."""
    jars = _jars(folder)
    agent = _agent(jars, folder)
    for suite in suites:
        with own_server(folder / suite) as server:
            _run(suite, jars, agent, server, folder / suite)
            yield from _results(suite, folder / suite / "report")


def _jars(folder: Path) -> list[str]:
    """Returns the class path: Spark's tests with their resources as files, Spark, and the test libraries."""
    tests = [fetched(f"org.apache.spark:spark-{module}_2.13:{VERSION}", "-tests.jar") for module in MODULES]
    resources = folder / "tests"
    with zipfile.ZipFile(next(jar for jar in tests if "spark-hive" in jar.name)) as archive:
        archive.extractall(resources)
    python = Path(python_of(VERSION.rpartition(".")[0]))
    spark = next(python.parents[1].glob("lib/python3*/site-packages/pyspark/jars"))
    libraries = class_path(*LIBRARIES).split(os.pathsep)
    return [str(resources), *map(str, tests), *map(str, sorted(spark.glob("*.jar"))), *libraries]


def _agent(jars: Sequence[str], folder: Path) -> Path:
    """Compiles the Java agent. Returns its jar."""
    classes, manifest, agent = folder / "classes", folder / "manifest", folder / "agent.jar"
    programs = str(java_home(17, 17) / "bin")
    javac, jar = (shutil.which(program, path=programs) or program for program in ("javac", "jar"))
    source = HERE / "java" / "RemoteMetastore.java"
    subprocess.run([javac, "-cp", os.pathsep.join(jars), "-d", str(classes), str(source)], check=True)
    manifest.write_text("Premain-Class: RemoteMetastore\n")
    subprocess.run([jar, "cfm", str(agent), str(manifest), "-C", str(classes), "."], check=True)
    return agent


def _run(suite: str, jars: Sequence[str], agent: Path, server: Server, folder: Path) -> None:
    for name in ("conf", "home", "tmp"):
        (folder / name).mkdir()
    (folder / "conf" / "core-site.xml").write_text(SITE.format(server.uri))
    properties = {
        "derby.system.durability": "test",
        "io.netty.tryReflectionSetAccessible": "true",
        "java.io.tmpdir": folder / "tmp",
        "spark.hadoop.hadoop.tmp.dir": folder / "tmp",
        "spark.test.home": folder / "home",
        "spark.testing": "true",
        "spark.ui.enabled": "false",
    }
    command = [str(java_home(17, 17) / "bin" / "java"), "-Xmx3g", "-Xss4m", f"-javaagent:{agent}={server.uri}"]
    command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    command += [f"-D{key}={value}" for key, value in properties.items()]
    command += ["-cp", os.pathsep.join([str(folder / "conf"), *jars]), "org.scalatest.tools.Runner"]
    command += ["-oW", "-fW", str(folder / "report"), "-R", str(jars[0]), "-s", f"org.apache.spark.sql.hive.{suite}"]
    variables = {
        "SPARK_HOME": str(folder / "home"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",
        "SPARK_TEST_HIVE_CLIENT_VERSIONS": "2.3,3.1",
    }
    run_jvm(suite, command, folder / "home", variables)


def _results(suite: str, report: Path) -> Iterator[Outcome]:
    """Reads the runner's report. A suite that could not start counts as one failed test.

    A line `- name` stands for a test. The next line is the error of a failed one.
    """
    lines = report.read_text().splitlines() if report.exists() else []
    if not any(map(_TEST.fullmatch, lines)):
        yield Outcome(suite, "(start)", "no test has run: see the log")
    for line, following in pairwise([*lines, ""]):
        match = _TEST.fullmatch(line)
        if match and match["mark"] in (None, _FAILED):
            yield Outcome(suite, match["test"], following.strip() if match["mark"] else None)


if __name__ == "__main__":
    sys.exit(run_suites(_outcomes, SUITES, HERE / "expected.tsv"))
