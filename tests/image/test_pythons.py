"""Server, client and commands start, work and stop on each supported version of Python that this machine has.

scripts/set-up-python creates an environment for each version.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from metastore.client import connect
from tests.fixtures.sparks import made

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
_PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_LISTED: Final = [
    version
    for each in _PROJECT["classifiers"]
    if (version := each.removeprefix("Programming Language :: Python :: ")) != each and "." in version
]
_VERSION: Final = "import sys; print('%d.%d' % sys.version_info[:2], sys.version_info.releaselevel)"
_NAME: Final = re.compile(r"(?:^|python)(3\.\d+)(?:\.\d+)?$")
_CLIENT: Final = """
import sys
from metastore.client import connect
with connect(sys.argv[1]) as client:
    print(client.get_database("default").name)
"""


def candidates() -> dict[str, list[str]]:
    """Returns paths that may be a Python, by the version in their names (3.11, 3.12, …): pyenv's and those on PATH."""
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found: dict[str, list[str]] = {}
    for path in sorted((home / "versions").glob("3.*/bin/python")):
        if name := _NAME.search(path.parts[-3]):
            found.setdefault(name[1], []).append(str(path))
    for directory in os.get_exec_path():
        for path in Path(directory).glob("python3.*"):
            if name := _NAME.search(path.name):
                found.setdefault(name[1], []).append(str(path))
    return {version: paths for version, paths in found.items() if _number(version) >= _number(_LISTED[0])}


def interpreter(version: str) -> str | None:
    """Returns the path of a released Python of this version, or None if this machine has none."""
    for path in _CANDIDATES.get(version, ()):
        done = subprocess.run([path, "-c", _VERSION], capture_output=True, text=True, check=False)
        if done.stdout.strip() == f"{version} final":
            return path
    return None


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


_CANDIDATES: Final = candidates()


def run(python: str, *arguments: str) -> str:
    done = subprocess.run(
        [python, *arguments], cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def environment() -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith(("METASTORE_", "PYTHON"))}
    return {**others, "PYTHONPATH": str(ROOT)}


@contextmanager
def served(python: str, data: Path, log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yields the process of a server, and its address."""
    options = ["--port=0", "--http-port=0", "--workers=2", f"--data-dir={data}"]
    command = [python, "-m", "metastore.cli", "serve", *options]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        try:
            assert server.stdout
            address = re.match(r"metastore is ready on (thrift://\S+) with 2 workers", server.stdout.readline())
            assert address, log.read_text()
            yield server, address[1]
        finally:
            server.kill()


def test_the_metadata_lists_the_oldest_version() -> None:
    assert _PROJECT["requires-python"] == f">={_LISTED[0]}"


_VERSIONS = sorted({*_LISTED, *_CANDIDATES}, key=_number)


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(each, marks=pytest.mark.long if each not in (_VERSIONS[0], _LISTED[-1]) else [])
        for each in _VERSIONS
    ],
)
def test_it_starts_answers_and_stops(version: str, tmp_path: Path) -> None:
    found = interpreter(version)
    if found is None:
        pytest.skip(f"this machine has no Python {version}")
    python = made("set-up-python", found)
    assert run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip() == version
    log = tmp_path / "log"
    with served(python, tmp_path / "data", log) as (server, uri), connect(uri) as idle:
        assert idle.get_database("default").name == "default"
        assert run(python, "-c", _CLIENT, uri) == "default\n"
        assert run(python, "-m", "metastore.cli", "databases", "--uri", uri).startswith("default\t")
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0, "an open connection must not keep the server from stopping"
    text = log.read_text()
    assert text.endswith("draining: SIGTERM\n")
    assert "Traceback" not in text
