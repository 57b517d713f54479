"""Flink's table environment with a local mini cluster, and its Hive catalog, driven through Py4J."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from tests.interop.java import java_home, running_jvm
from tests.interop.maven import class_path
from tests.interop.report import Report

# The newest Flink with a Hive connector, and its newest release all of whose formats are on Maven Central.
FLINK, CONNECTOR = "1.20.1", "3.0.0-1.20"
PARTS = (
    "flink-table-planner_2.12",
    "flink-table-api-java-bridge",
    "flink-clients",
    "flink-table-runtime",
    "flink-connector-files",
    "flink-orc",
    "flink-parquet",
    "flink-csv",
    "flink-hadoop-compatibility_2.12",
)
LIBRARIES = (
    *(f"org.apache.hadoop:hadoop-{part}:3.3.6" for part in ("client", "auth", "common")),
    # Names that are old in Hive and new in Flink.
    "com.google.guava:guava:27.0-jre",
    "commons-io:commons-io:2.15.1",
    "org.apache.commons:commons-compress:1.26.0",
    "org.apache.commons:commons-lang3:3.14.0",
)
SITE = "<configuration><property><name>hive.metastore.uris</name><value>{}</value></property></configuration>"


class Flink:
    """Statements in the Hive catalog; each counts as an attempt."""

    def __init__(self, gateway: Any, report: Report, folder: Path, hive: str) -> None:
        self.api = gateway.jvm.org.apache.flink.table.api
        self.environment = self.api.TableEnvironment.create(self.api.EnvironmentSettings.inBatchMode())
        self.environment.getConfig().set("parallelism.default", "1")
        self.environment.getConfig().set("table.exec.resource.default-parallelism", "1")
        catalogs = gateway.jvm.org.apache.flink.table.catalog
        self.catalog = catalogs.hive.HiveCatalog("hive", "default", str(folder), hive)
        self.path = catalogs.ObjectPath
        self.report = report
        self.group = ""
        self.environment.registerCatalog("hive", self.catalog)
        self.environment.useCatalog("hive")

    def speak(self, dialect: str) -> None:
        """DEFAULT is Flink's own SQL, HIVE is Hive's."""
        self.environment.getConfig().setSqlDialect(getattr(self.api.SqlDialect, dialect))

    def do(self, *statements: str) -> None:
        """Runs statements that must succeed."""
        for statement in statements:
            with self.report.attempt(self.group, statement), readable():
                getattr(self.environment.executeSql(statement), "await")()

    def ask(self, statement: str, *expected: str) -> None:
        """Expects these rows, in any order, as Flink prints them: `1, x`."""
        with self.report.attempt(self.group, statement), readable():
            rows = self.environment.executeSql(statement).collect()
            actual: list[str] = []
            while rows.hasNext():
                actual.append(rows.next().toString().partition("[")[2].removesuffix("]"))
            rows.close()
            if sorted(actual) != sorted(expected):
                raise AssertionError(f"{actual!r} instead of {list(expected)!r}")

    def refuse(self, statement: str, said: str) -> None:
        """Expects an error with this text."""
        with self.report.attempt(self.group, f"refused: {statement}"):
            try:
                with readable():
                    self.environment.executeSql(statement)
            except RuntimeError as error:
                if said not in str(error):
                    raise
            else:
                raise AssertionError(f"it was not refused with {said}")


@contextmanager
def readable() -> Iterator[None]:
    """Returns Java's errors with their causes in one line."""
    try:
        yield
    except Py4JJavaError as error:
        causes, cause = [], error.java_exception
        while cause is not None:
            causes.append(str(cause.toString()))
            cause = cause.getCause()
        raise RuntimeError(" <- ".join(causes)) from None


@contextmanager
def running_flink(uri: str, hive: str, report: Report, folder: Path) -> Iterator[Flink]:
    """Starts Flink with the client of this version of Hive. Raises UnavailableError if it cannot be downloaded."""
    artifacts = [*(f"org.apache.flink:{part}:{FLINK}" for part in PARTS), *LIBRARIES]
    artifacts += [f"org.apache.flink:flink-connector-hive_2.12:{CONNECTOR}", f"org.apache.hive:hive-exec:{hive}"]
    home, jars = java_home(11, 17), class_path(*artifacts)
    (folder / "hive-site.xml").write_text(SITE.format(uri))
    with running_jvm(home, jars, folder, "-Xmx800m") as gateway:
        yield Flink(gateway, report, folder, hive)
