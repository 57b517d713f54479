"""`python -m spark_client.commands.driver`: the Spark driver of one user, which the gateway starts.

The first line of its standard input is the secret that clients must present. It ends when its standard input ends: with
the gateway.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from py4j.protocol import Py4JNetworkError  # noqa: E402
from pyspark import SparkContext  # noqa: E402
from pyspark.errors import PySparkException  # noqa: E402

from metastore.client import MetastoreClient  # noqa: E402
from spark_client import sandbox  # noqa: E402
from spark_client.errors import SparkClientError, first_line  # noqa: E402
from spark_client.jvm import sessions  # noqa: E402
from spark_client.serve import Servers, serve  # noqa: E402

_REAPING = 10.0  # seconds
_STOP = 15.0  # seconds; the gateway kills this process after 20
# The gateway reads plans, so clients must not compress them.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    sessions.RESTRICTED: "true",
    "spark.connect.session.planCompression.threshold": "-1",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one line when the servers listen, and serves until its standard input ends. Returns the exit status."""
    options = _parser().parse_args(arguments)
    ready = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of Java and libraries goes to the log: the pipe has no reader after the first line
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        sandbox.adopt_orphans()
        warehouse = options.warehouse or MetastoreClient(options.uri).get_database("default").location
        sandbox.restrict((), [*options.sandbox, *_local(warehouse)])
        os.environ["PYSPARK_PYTHON"] = str(_worker(options.sandbox[0]))
        secret = sys.stdin.readline().strip()
        servers = serve(
            options.uri,
            connect=options.connect,
            thrift=options.thrift,
            connect_token=secret if options.connect else None,
            thrift_password=secret,
            app_name="metastore spark serve",
            master=options.master,
            warehouse=warehouse,
            conf={**dict(pair.partition("=")[::2] for pair in options.conf), **_SETTINGS},
        )
        sessions.hide_secrets(servers.session)
    except (SparkClientError, PySparkException, sandbox.SandboxError) as error:
        sys.stderr.write(f"metastore: {first_line(error)}\n")
        return 1
    with ready:
        ready.write("ready\n")
    for end in (_stop_with_input, _stop_with_java):
        threading.Thread(target=end, args=(stop,), daemon=True).start()
    while not stop.wait(_REAPING):
        sandbox.reap_orphans()
    stopping = threading.Thread(target=_stop, args=(servers,), daemon=True)
    stopping.start()
    stopping.join(_STOP)
    sandbox.kill_descendants()  # Java, and what functions of the user have started
    shutil.rmtree(options.sandbox[0], ignore_errors=True)  # the gateway does it, too, unless it was killed
    return 0


def _stop(servers: Servers) -> None:
    with suppress(Py4JNetworkError, ConnectionError):  # Java has already ended
        servers.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m spark_client.commands.driver")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--connect", type=int)
    parser.add_argument("--thrift", type=int)
    for name in ("master", "warehouse"):
        parser.add_argument(f"--{name}")
    for name in ("sandbox", "conf"):
        parser.add_argument(f"--{name}", action="append", default=[])
    return parser


def _worker(folder: str) -> Path:
    """Returns a program that runs Python for functions of the user: it cannot read the warehouse.

    It reads the driver's folder, where Spark puts the user's modules, and writes to a directory in it.
    """
    own, program = Path(folder, "python"), Path(folder, "python-worker")
    own.mkdir()
    words = [sys.executable, sandbox.__file__, folder, str(own), sys.executable]
    program.write_text(f'#!/bin/sh\nTMPDIR={shlex.quote(str(own))} exec {shlex.join(words)} "$@"\n')
    program.chmod(0o500)
    return program


def _local(location: str) -> list[str]:
    """Returns the path of a location in the local file system."""
    url = urlsplit(location)
    return [unquote(url.path)] if url.scheme in ("", "file") else []


def _stop_with_java(stop: threading.Event) -> None:
    """Ends this process with its Java: the ports of a driver must not stay free while the gateway sends calls to it."""
    java: Any = SparkContext._gateway  # noqa: SLF001 - PySpark has no public API for it
    java.proc.wait()
    if not stop.is_set():
        sys.stderr.write("metastore: Java has ended, so the driver ends\n")
    stop.set()


def _stop_with_input(stop: threading.Event) -> None:
    while os.read(0, 4096):  # without Python's buffer, which a thread could hold locked at the end
        pass
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
