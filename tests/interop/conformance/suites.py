"""The test suites: Hive's version, the jar, and what the tests need."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.interop.maven import class_path, fetched

CLIENT = "org/apache/hadoop/hive/metastore/client/"
PACKAGE = "org.apache.hadoop.hive.metastore."
FOLDER = Path(__file__).parent
# Derby's dependencies include an old Hadoop; the one that Hive is built with is in a jar of its own.
UNWANTED = "2.6.0"
_EMPTYING = (
    "testTxns",
    "testOpenTxnNotExcluded",
    "testTxnRange",
    "testLocks",
    "testLocksWithTxn",
    "stringifyValidTxns",
)
JUNIT = ("junit:junit:4.13.2", "org.mockito:mockito-core:3.12.4")


@dataclass(frozen=True)
class Suite:
    """One version's tests of its metastore: the classes of `client`, and others of clients and servers."""

    version: str
    server: str
    also: tuple[str, ...]  # artifacts whose tests are needed, too
    libraries: tuple[str, ...]
    folders: tuple[str, ...]  # of our own classes
    others: tuple[str, ...] = ()
    """Classes beside those of `client`, or single tests (`Class#test`) that want a server where nothing has been yet.
    TestRunningHiveMetaStore is Hive's TestHiveMetaStore, of a server that runs.
    """

    @property
    def expected(self) -> Path:
        """Returns the file that lists the tests that do not pass."""
        return FOLDER / f"expected-{self.version}.tsv"

    @property
    def sources(self) -> list[Path]:
        """Returns our own classes, which precede Hive's on the class path."""
        return [path for folder in ("java", *self.folders) for path in (FOLDER / folder).rglob("*.java")]

    @cached_property
    def tests(self) -> Path:
        return fetched(f"{self.server}:{self.version}", "-tests.jar")

    @property
    def classes(self) -> dict[str, str]:
        """Returns the test classes' full names by their last part."""
        with zipfile.ZipFile(self.tests) as archive:
            names = [name.removesuffix(".class") for name in archive.namelist() if name.startswith(f"{CLIENT}Test")]
        actual = sorted(name.replace("/", ".") for name in names if "$" not in name)
        others = (f"{PACKAGE}{name}" for name in self.others)
        return {name.rpartition(".")[2]: name for name in (*others, *actual)}

    @property
    def jars(self) -> list[str]:
        """Returns the class path of the tests, with the tests first."""
        own = [str(self.tests), *(str(fetched(f"{text}:{self.version}", "-tests.jar")) for text in self.also)]
        return [*own, *self.jars_of_server]

    @property
    def jars_of_server(self) -> list[str]:
        """Returns the class path of the metastore itself."""
        return [jar for jar in class_path(*self.libraries).split(os.pathsep) if UNWANTED not in jar]


HIVE_4 = Suite(
    "4.0.1",
    "org.apache.hive:hive-standalone-metastore-server",
    ("org.apache.hive:hive-standalone-metastore-common",),
    (
        "org.apache.hive:hive-standalone-metastore-server:4.0.1",
        *JUNIT,
        "org.apache.hadoop:hadoop-client-runtime:3.3.5",
        "org.apache.hadoop:hadoop-hdfs:3.3.5",
    ),
    ("newer",),
)
HIVE_3 = Suite(
    "3.1.3",
    "org.apache.hive:hive-standalone-metastore",
    (),
    (
        "org.apache.hive:hive-standalone-metastore:3.1.3",
        *JUNIT,
        "org.apache.hadoop:hadoop-client:3.1.0",
        "org.apache.hadoop:hadoop-hdfs:3.1.0",
        "javax.annotation:javax.annotation-api:1.3.2",
    ),
    ("newer", "remote"),
    (
        "TestRunningHiveMetaStore",
        "TestHiveMetaStoreGetMetaConf",
        "TestHiveMetaStorePartitionSpecs",
        *(f"TestHiveMetaStoreTxns#{test}" for test in _EMPTYING),
        "TestMarkPartition",
    ),
)
HIVE_2 = Suite(
    "2.3.10",
    "org.apache.hive:hive-metastore",
    (),
    (
        "org.apache.hive:hive-metastore:2.3.10",
        *JUNIT,
        "org.apache.hadoop:hadoop-client:3.1.0",
        "org.apache.hadoop:hadoop-hdfs:3.1.0",
        "javax.annotation:javax.annotation-api:1.3.2",
    ),
    ("older",),
    ("TestHiveMetaStoreGetMetaConf", "TestHiveMetaStorePartitionSpecs"),
)
SUITES = {suite.version: suite for suite in (HIVE_4, HIVE_3, HIVE_2)}
