"""The systemd unit and its environment file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from metastore.settings import PREFIX, Settings

FOLDER = Path(__file__).parents[2] / "deploy/systemd"
UNIT = (FOLDER / "metastore.service").read_text()
INSTALLED = "/opt/metastore/bin/metastore"


def verify(unit: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Checks a unit with systemd's own parser. The program must exist, so it is the one of these tests."""
    program = Path(sys.executable).parent / "metastore"
    file = folder / "metastore.service"
    file.write_text(unit.replace(INSTALLED, str(program)))
    return subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing (Debian: systemd)")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    result = verify(UNIT, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing (Debian: systemd)")
def test_systemd_reports_a_misspelt_option(tmp_path: Path) -> None:
    assert "ProtectSytem" in verify(UNIT.replace("ProtectSystem", "ProtectSytem"), tmp_path).stderr


def test_every_variable_is_a_setting() -> None:
    named = re.findall(
        rf"^(?:Environment=)?({PREFIX}\w+)=", UNIT + (FOLDER / "metastore.env").read_text(), re.MULTILINE
    )
    assert len(named) == 5
    assert set(named) <= {PREFIX + field.name.upper() for field in fields(Settings)}


def test_calls_have_time_to_finish() -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(seconds) > Settings.drain_timeout


def test_the_guide_installs_all_files_of_the_unit() -> None:
    guide = (FOLDER.parents[1] / "docs/how-to/systemd.md").read_text()
    assert f"ExecStart={INSTALLED} serve" in UNIT
    assert INSTALLED in guide
    assert "/etc/metastore/metastore.env" in UNIT
    for file in FOLDER.iterdir():
        assert f"deploy/systemd/{file.name}" in guide
