"""Clients from Maven Central against one running server. A summary is printed at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.report import Report
from tests.wire.security.conftest import (  # noqa: F401 - fixtures
    authority,
    environment,
    host_pem,
    realm,
    start,
    tls_options,
)
from tests.wire.security.test_jwt import Issuer

os.environ.pop("JDK_JAVA_OPTIONS", None)  # conflicts with the options of Trino and Flink

REPORTS = pytest.StashKey[list[Report]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORTS] = []


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    actual = Issuer(tmp_path_factory.mktemp("jwt") / "keys.json")
    actual.add("one")
    return actual


@pytest.fixture
def new_report(pytestconfig: pytest.Config) -> Callable[[str], Report]:
    """`new_report(client)` returns an empty report of a client, for the summary."""

    def make(client: str) -> Report:
        report = Report(client)
        pytestconfig.stash[REPORTS].append(report)
        return report

    return make


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints the results, and what was not tried with the reason."""
    terminalreporter.section("interoperability")
    for report in config.stash[REPORTS]:
        for line in report.lines():
            terminalreporter.write_line(line)
