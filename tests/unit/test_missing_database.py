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


@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_an_unusable_folder_is_named_and_not_the_warehouse_below_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert run([command, "--data-dir", str(file)]) == 1
    said = capsys.readouterr()
    assert f"data folder {file} cannot be written (Not a directory); choose another" in said.out + said.err
    assert f"{file}/warehouse" not in said.err
