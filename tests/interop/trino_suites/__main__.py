"""Runs Trino's own tests of its Hive connector against our server.

    python -m tests.interop.trino_suites [SUITE …]

SUITE is the name of a class below io.trino.plugin.hive, such as TestHiveConnectorTest. Without one, the suites of
`SUITES` run. Two classes of the tests are replaced (`java`): the plugin, which gives a remote metastore to tests that
would have one in files, and the base class of containers, whose ports lead to this server and to an S3 server (moto).
`expected.tsv` lists the tests that do not pass, each with its reason. The status is 1 if another test fails, or a
listed one passes.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from moto.server import ThreadedMotoServer

from tests.fixtures.server import Server, connected
from tests.interop.java import java_home
from tests.interop.maven import class_path, fetched
from tests.interop.suites import JUNIT, Outcome, junit_arguments, junit_outcomes, own_server, run_jvm, run_suites
from tests.interop.trino import JVM, LEAST_JAVA, MOST_JAVA, VERSION, unpacked
from tests.interop.trino_suites.own_roles import with_own_roles
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType

PACKAGE = "io.trino.plugin.hive."
SUITES = (
    "metastore.thrift.TestBridgingHiveMetastore",
    "metastore.thrift.TestHiveMetastoreCatalogs",
    "metastore.thrift.TestHiveMetastoreAccessOperations",
    "metastore.thrift.TestHiveMetastoreMetadataQueriesAccessOperations",
    "metastore.cache.TestCachingHiveMetastoreWithQueryRunner",
    "TestHiveConnectorSmokeTest",
    "TestHiveCustomCatalogConnectorSmokeTest",
    "TestHiveConnectorTest",
    "TestHive3OnDataLake",
    "TestHiveCreateExternalTable",
    "TestHiveFileBasedSecurity",
    "TestHiveMetadataListing",
    "TestHiveRoles",
    "TestHiveSystemSecurity",
    "TestPartitionDrops",
    "TestRegexTable",
    "TestShowStats",
    "s3.TestHiveS3MinioQueries",
)
TESTS = "hive", "main", "filesystem", "spi"
LIBRARIES = (
    *JUNIT,
    *(f"io.trino:trino-{name}:{VERSION}" for name in ("hive", "testing", "testing-containers")),
    "io.trino.hive:hive-apache:3.1.2-23",
    "org.assertj:assertj-core:3.27.3",
)
ROLES = "TestHiveRoles"  # it drops all roles after each test
ADMINISTRATORS = "admin", "hive", "hdfs"  # of a metastore in files
ZONE = "America/Bahia_Banderas"  # of Trino's tests
HERE = Path(__file__).parent


def _outcomes(folder: Path, suites: Sequence[str]) -> Iterator[Outcome]:
    """Runs each suite with its own database, server and virtual machine."""
    with _s3() as s3:
        jars = _jars(folder)
        for suite in suites:
            with own_server(folder / suite, "s3:/") as server:
                _grant_administrators(server)
                uri = with_own_roles(server) if suite == ROLES else server.uri
                _run(suite, jars, uri, s3, folder / suite)
                yield from junit_outcomes(suite, folder / suite / "report")


@contextmanager
def _s3() -> Iterator[str]:
    """Yields the address of an S3 server, which our server uses, too."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs each request
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "accesskey",
            "AWS_SECRET_ACCESS_KEY": "secretkey",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        yield os.environ["AWS_ENDPOINT_URL"]
    finally:
        server.stop()


def _grant_administrators(server: Server) -> None:
    with connected(server, ThriftHiveMetastore) as client:
        for user in ADMINISTRATORS:
            client.grant_role("admin", user, PrincipalType.USER, "admin", PrincipalType.USER, True)


def _jars(folder: Path) -> list[str]:
    """Returns the class path: our classes, Trino's tests (unpacked), Trino, and the test libraries."""
    jars = [fetched(f"io.trino:trino-{module}:{VERSION}", "-tests.jar") for module in TESTS]
    tests = [str(folder / jar.stem) for jar in jars]  # not in jars: a test opens a resource as a file
    for jar, unpacked_jar in zip(jars, tests, strict=True):
        shutil.unpack_archive(jar, unpacked_jar, "zip")
    # The server's jars come first: Maven chooses other versions of some. Hadoop's file system is not published alone.
    parts = (unpacked() / part for part in ("lib", "plugin/hive", "plugin/hive/hdfs"))
    server = [str(jar) for part in parts for jar in part.glob("*.jar")]
    libraries = [*server, *class_path(*LIBRARIES).split(os.pathsep)]
    classes = str(folder / "classes")
    javac = shutil.which("javac", path=str(java_home(LEAST_JAVA, MOST_JAVA) / "bin")) or "javac"
    sources = map(str, (HERE / "java").rglob("*.java"))
    subprocess.run([javac, "-cp", os.pathsep.join([*tests, *libraries]), "-d", classes, *sources], check=True)
    return [classes, *tests, *libraries]


def _run(suite: str, jars: Sequence[str], uri: str, s3: str, folder: Path) -> None:
    command = [str(java_home(LEAST_JAVA, MOST_JAVA) / "bin" / "java"), *JVM, "-Xmx3g", f"-Duser.timezone={ZONE}"]
    command += [f"-Dmetastore.uri={uri}", f"-Ds3.uri={s3}", "-cp", os.pathsep.join(jars)]
    run_jvm(suite, [*command, *junit_arguments(PACKAGE + suite, folder / "report")], folder, {})


if __name__ == "__main__":
    sys.exit(run_suites(_outcomes, SUITES, HERE / "expected.tsv"))
