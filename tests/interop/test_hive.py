"""Hive's Java clients of newer versions than the one in Spark: every group of methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fixtures.server import Server
from tests.interop.hive import (
    contract,
    databases,
    dependents,
    hiveserver,
    notifications,
    objects,
    partitions,
    security,
    tables,
    transactions,
)
from tests.interop.hive.client import Hive
from tests.interop.java import java_home, running_jvm
from tests.interop.maven import UnavailableError, class_path
from tests.interop.report import Report

GROUPS: list[Callable[[Hive, Path], None]] = [
    databases.databases,
    databases.catalogs,
    tables.tables,
    partitions.partitions,
    partitions.filters,
    objects.functions,
    objects.column_statistics,
    objects.constraints,
    security.roles,
    security.privileges,
    security.tokens,
    security.configuration,
    transactions.locks,
    transactions.transactions,
    hiveserver.hiveserver,
    notifications.notifications,
    dependents.dependents,
]


class Client(NamedTuple):
    """A client, and the Java versions that it and its Hadoop support."""

    artifacts: tuple[str, ...]
    least_java: int
    most_java: int


CLIENTS = {
    "3.1.3": Client(
        ("org.apache.hive:hive-standalone-metastore:3.1.3", "org.apache.hadoop:hadoop-client:3.1.0"), 8, 17
    ),
    "4.1.0": Client(("org.apache.hive:hive-standalone-metastore-common:4.1.0",), 17, 21),
    "4.2.0": Client(("org.apache.hive:hive-standalone-metastore-client:4.2.0",), 21, 21),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", CLIENTS)
def test_hive_client(
    version: str, metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]
) -> None:
    report = new_report(f"Hive's Java client {version}")
    client = CLIENTS[version]
    try:
        jars = class_path(*client.artifacts)
        home = java_home(client.least_java, client.most_java)
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    with running_jvm(home, jars, tmp_path) as gateway:
        hive = Hive(gateway, version, metastore_server.uri, report)
        contract.check(hive, jars)
        for group in GROUPS:
            with report.attempt(group.__name__, "all of it"):
                group(hive, tmp_path)
        hive.client.close()
    assert report.failures == []
