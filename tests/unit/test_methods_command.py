"""`metastore methods` lists supported methods, and unsupported ones with the reason."""

from __future__ import annotations

import pytest

from metastore.cli import printing
from metastore.cli.commands import run
from metastore.handlers.registry import served
from metastore.protocol.unsupported import refused

Capture = pytest.CaptureFixture[str]


def lines(capsys: Capture, *options: str) -> list[list[str]]:
    assert run(["methods", *options]) == 0
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_every_method_is_one_line(capsys: Capture) -> None:
    actual = lines(capsys)
    assert sorted(name for _, name, state, _ in actual if state == "supported") == sorted(served())
    assert sorted(name for _, name, state, _ in actual if state == "not supported") == sorted(refused())
    assert all(bool(reason) is (state == "not supported") for _, _, state, reason in actual)
    assert [row[0] for row in actual] == sorted(row[0] for row in actual)


def test_unsupported_lists_only_rejected_methods(capsys: Capture) -> None:
    actual = lines(capsys, "--unsupported")
    assert {name: (noun, reason) for noun, name, _, reason in actual} == refused()


def test_people_see_a_row_for_each_noun(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "is_terminal", lambda: True)
    monkeypatch.setattr("metastore.cli.methods.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["methods"]) == 0
    shown = capsys.readouterr().out
    assert f"{len(served()) + len(refused())} methods" in shown
    assert "6 not supported" in shown
    assert "no engine uses Hive's schema registry: add_schema_version" in shown


def test_other_words_are_one_line(capsys: Capture) -> None:
    assert run(["methods", "nonsense"]) != 0
    error = capsys.readouterr().err
    assert error.startswith("metastore: ")
    assert error.count("\n") == 1
