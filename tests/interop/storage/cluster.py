"""A Spark cluster of two hosts. On one host, Spark starts no second attempt of a task that still runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.fixtures.installed_postgres import free_port

_HOSTS = ("127.0.0.2", "127.0.0.3")


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Yields the address of a master. Each of its two workers has one core. `folder`: of the workers' files."""
    address = f"127.0.0.1:{free_port()}"
    host, port = address.split(":")
    with ExitStack() as stack:
        _start(stack, "master.Master", "--host", host, "--port", port, "--webui-port", "0")
        for worker in _HOSTS:
            place = ("--host", worker, "--webui-port", "0", "--work-dir", str(folder / worker))
            _start(stack, "worker.Worker", *place, "--cores", "1", "--memory", "1g", f"spark://{address}")
        yield f"spark://{address}"


def _start(stack: ExitStack, daemon: str, *arguments: str) -> None:
    command = [str(Path(os.environ["SPARK_HOME"]) / "bin/spark-class"), f"org.apache.spark.deploy.{daemon}", *arguments]
    process = stack.enter_context(subprocess.Popen(command, stdout=sys.stderr))
    stack.callback(process.terminate)
