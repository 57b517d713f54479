"""Virtual environments of programs that this project works with, each made once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.interop.maven import CACHE

ROOT = Path(__file__).parents[2]


def installed(name: str, *packages: str) -> Path:
    """Installs packages, and this project with the extras that a package `.[…]` names. Returns the environment."""
    venv = CACHE / name
    pip = [venv / "bin/python", "-m", "pip", "install", "--quiet"]
    if not (venv / ".ready").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([*pip, *packages], check=True, cwd=ROOT)
        subprocess.run([venv / "bin/python", "-m", "pip", "check"], check=True)
        (venv / ".ready").touch()
    elif "-e" in packages:  # another copy of this repository may have made it
        subprocess.run([*pip, "--no-deps", "-e", ROOT], check=True)
    return venv
