"""Hive itself in a virtual machine: the driver of HiveServer2, with its jobs on Hadoop's local runner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.fixtures.server import Server
from tests.interop.java import java_home, running_jvm
from tests.interop.maven import UnavailableError, class_path
from tests.interop.report import Report

HADOOP = "org.apache.hadoop:hadoop-client"
# Hive 3.1 does not start on Java newer than 8: it expects a system class loader to which jars can be added.
VERSIONS = {
    "2.3.10": ("org.apache.hive:hive-exec:2.3.10", f"{HADOOP}:3.1.0"),
    "4.1.0": ("org.apache.hive:hive-exec:4.1.0", f"{HADOOP}:3.4.1", "org.apache.hadoop:hadoop-hdfs:3.4.1"),
}
UNWANTED = "slf4j-log4j12"  # two bridges call each other

# The packages that the start scripts of Hive and Hadoop open.
OPENED = ("java.io", "java.time", "java.util.regex", "sun.nio.ch")
JAVA = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED)


class HiveError(Exception):
    """Hive's message for a failed statement."""


@contextmanager
def hive_session(version: str, server: Server, folder: Path, report: Report) -> Iterator[HiveSession]:
    """Starts that version of Hive on a metastore. If it cannot be downloaded, the report has the reason and the test is
    skipped.
    """
    try:
        home, jars = runtime(version)
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    with running_jvm(home, jars, folder, *JAVA) as gateway:
        yield HiveSession(gateway, version, server.uri, server.warehouse, folder, report)


def runtime(version: str) -> tuple[Path, str]:
    """Returns the Java runtime and the class path of a version of Hive. Raises UnavailableError."""
    jars = class_path(*VERSIONS[version]).split(os.pathsep)
    return java_home(17, 17), os.pathsep.join(jar for jar in jars if UNWANTED not in jar)


class HiveSession:
    """A session on a metastore."""

    def __init__(self, gateway: Any, version: str, uri: str, warehouse: str, folder: Path, report: Report) -> None:
        self.report = report
        self.version = version
        self._answers_errors = version < "4"  # later versions raise them
        self._jvm = jvm = gateway.jvm
        thread = jvm.java.lang.Thread.currentThread()
        none = gateway.new_array(jvm.java.net.URL, 0)
        # Hive needs a class loader to which jars can be added.
        thread.setContextClassLoader(jvm.java.net.URLClassLoader(none, thread.getContextClassLoader()))
        self._configuration = jvm.org.apache.hadoop.hive.conf.HiveConf()
        self._configuration.setClassLoader(thread.getContextClassLoader())
        for key, value in _settings(uri, warehouse, folder).items():
            self._configuration.set(key, value)
        session = jvm.org.apache.hadoop.hive.ql.session.SessionState
        session.start(session(self._configuration))

    def set(self, key: str, value: str) -> None:
        """A setting of the session."""
        self._configuration.set(key, value)

    def run(self, statement: str) -> list[str]:
        """Returns the rows, values separated by tabs. Raises HiveError."""
        driver = self._jvm.org.apache.hadoop.hive.ql.Driver(self._configuration)
        try:
            answer = driver.run(statement)
            if self._answers_errors and answer.getResponseCode():
                raise HiveError(answer.getErrorMessage())
            rows = self._jvm.java.util.ArrayList()
            while driver.getResults(rows):
                pass
            return [str(row) for row in rows]
        except Py4JJavaError as error:
            raise HiveError(error.java_exception.toString()) from None
        finally:
            driver.close()

    def do(self, *statements: str) -> None:
        """Runs statements that must succeed."""
        for statement in statements:
            with self.report.attempt("statements", statement):
                self.run(statement)

    def ask(self, statement: str, *expected: str) -> None:
        """Expects these rows, in any order."""
        with self.report.attempt("queries", statement):
            rows = sorted(self.run(statement))
            if rows != sorted(expected):
                raise AssertionError(f"{rows} instead of {list(expected)}")

    def refuse(self, statement: str, said: str) -> None:
        """Expects an error with this text."""
        with self.report.attempt("refused", statement):
            try:
                self.run(statement)
            except HiveError as error:
                if said not in str(error):
                    raise
            else:
                raise AssertionError(f"it was not refused with {said}")


def _settings(uri: str, warehouse: str, folder: Path) -> dict[str, str]:
    return {
        "hive.metastore.uris": uri,
        "hive.metastore.warehouse.dir": warehouse,  # Hive 4 has a setting for the location of databases
        "hive.metastore.warehouse.external.dir": warehouse,
        "hive.metastore.client.capability.check": "false",
        "hive.exec.scratchdir": f"{folder}/scratch",
        "hive.exec.local.scratchdir": f"{folder}/local",
        "hive.downloaded.resources.dir": f"{folder}/resources",
        "hadoop.tmp.dir": f"{folder}/hadoop",
        "fs.defaultFS": "file:///",
        "hive.execution.engine": "mr",  # the others need more than jars
        "mapreduce.framework.name": "local",
        "hive.exec.mode.local.auto": "true",
        "hive.support.concurrency": "false",
        "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DummyTxnManager",
        "hive.stats.autogather": "false",
    }
