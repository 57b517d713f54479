"""A misspelt data folder is reported and not created."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.cli.commands import run


@pytest.mark.parametrize(
    "command",
    ["db current", "db upgrade --finish", "db backup f", "db servers", "db verify", "audit", "tokens list"],
)
def test_the_error_is_one_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    misspelt = tmp_path / "tpyo"
    assert run([*command.split(), "--data-dir", str(misspelt)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"metastore: no database in {misspelt}: name its folder with --data-dir")
    assert said.count("\n") == 1
    assert not misspelt.exists()
