"""Intervals and directories of drivers in tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from spark_client.gateway import drivers as module


@pytest.fixture
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHECK", 0.01)
    monkeypatch.setattr(module, "_STOP", 0.01)
    monkeypatch.setattr(module, "_PERMITTED_WITHOUT_LOGIN", 0)


@pytest.fixture
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories of drivers are in `tmp_path`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
