"""Virtual environments with other PySparks than the installed one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.interop.maven import ATTEMPTS, CACHE, UnavailableError


def python_with(*packages: str) -> Path:
    """Returns the program python of an environment with these packages. Raises UnavailableError."""
    home = CACHE / "-".join(["python", *(package.replace("=", "").replace("*", "x") for package in packages)])
    python = home / "bin" / "python"
    if not (home / ".ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(home)])
        command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
        for attempt in range(ATTEMPTS):
            try:
                _run(command)
                break
            except UnavailableError:
                if attempt == ATTEMPTS - 1:
                    raise
        (home / ".ready").touch()
    return python


def _run(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if ran.returncode:
        raise UnavailableError(f"{' '.join(command[1:])}: {ran.stderr.strip()[-300:]}")
