"""A pytest plug-in for runs of an hour: shows each failure when it occurs."""

from __future__ import annotations

import sys

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        print(f"\n{report.when} of {report.nodeid}: {report.longreprtext[-3000:]}", file=sys.__stdout__, flush=True)
