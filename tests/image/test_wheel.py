"""The wheel installs and works outside of the checkout, and its metadata is valid."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the files that git tracks, so that no earlier build leaks in."""
    source = tmp_path_factory.mktemp("source")
    archive = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in archive.decode().rstrip("\0").split("\0"):
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


def test_twine_accepts_the_metadata(wheel: Path) -> None:
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=wheel.parent, NO_COLOR="1")


def test_the_installed_wheel_is_complete(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", installed, wheel),
        cwd=tmp_path,
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PIP_ROOT_USER_ACTION="ignore",
    )
    tracked = subprocess.run(
        ["git", "ls-files", "metastore", "migrations", "spark_client", "thrift_idl"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    shipped = [name for name in tracked if (ROOT / name).exists() and not name.endswith("/SHA256SUMS")]
    missing = [name for name in shipped if not (installed / name).exists()]
    assert missing == []
    program = "import metastore.cli, spark_client; print(metastore.cli.__file__)"
    assert run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(installed)).startswith(str(installed))
    assert "serve" in run(sys.executable, "-m", "metastore.cli", "--help", cwd=tmp_path, PYTHONPATH=str(installed))
