"""Texts of a source on the terminal."""

from __future__ import annotations

import pytest

from metastore.cli.importing import _print_plan
from metastore.importing.plan import Plan
from metastore.importing.sources.source import Survey

CLEAR = "\x1b[2J"


def test_a_source_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey({CLEAR: 1}, [], {CLEAR: 1}, [])
    _print_plan(Plan(CLEAR, CLEAR, survey, [(CLEAR, 1, CLEAR)], CLEAR, [], 1.0, {}), CLEAR)
    printed = capsys.readouterr()
    assert CLEAR not in printed.out + printed.err
    assert r"\x1b[2J" in printed.err
