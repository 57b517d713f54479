"""`python -m spark_client.commands.serve --uri=…`: runs Spark's servers for `metastore spark serve`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from py4j.protocol import INPUT_CONVERTER, Py4JNetworkError  # noqa: E402
from pyspark.errors import PySparkException  # noqa: E402

from spark_client.errors import SessionError, SparkClientError, first_line  # noqa: E402
from spark_client.serve import serve  # noqa: E402

_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_MIN_TOKEN = 16  # characters


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the addresses and serves until SIGTERM or Ctrl-C. Returns the exit status."""
    parser = argparse.ArgumentParser("python -m spark_client.commands.serve")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--connect", type=int)
    parser.add_argument("--thrift", type=int)
    parser.add_argument("--connect_token_file", type=Path)
    for name in ("host", "master", "warehouse"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--conf", action="append", default=[])
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_, lambda *_: stop.set())
    settings = [pair.partition("=")[::2] for pair in options.conf]
    _pass_no_arrays()
    try:
        servers = serve(
            options.uri,
            connect=options.connect,
            thrift=options.thrift,
            host=options.host or "127.0.0.1",
            connect_token=_token(options.connect_token_file),
            app_name="metastore spark serve",
            master=options.master,
            warehouse=options.warehouse,
            conf={**_SETTINGS, **dict(settings)},
        )
    except (SparkClientError, PySparkException) as error:
        sys.stderr.write(f"metastore: {first_line(error)}\n")
        return 1
    served = ", ".join(address for address in (servers.connect, servers.thrift) if address)
    sys.stdout.write(f"spark is ready on {served}, metastore {options.uri}\n")
    sys.stdout.flush()
    stop.wait()
    with suppress(Py4JNetworkError, ConnectionError):  # a signal to the whole process group has already stopped Java
        servers.stop()
    return 0


def _pass_no_arrays() -> None:
    """Lets PySpark pass no NumPy arrays to Java: this program has none, and looking for one imports pandas."""
    for converter in [one for one in INPUT_CONVERTER if type(one).__name__.startswith("Numpy")]:
        INPUT_CONVERTER.remove(converter)


def _token(file: Path | None) -> str | None:
    """Reads the token of Spark Connect. Raises SessionError if the file has no token, or other users can read it."""
    if file is None:
        return None
    try:
        mode, token = file.stat().st_mode, file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SessionError(f"the token file {file} cannot be read: {error}") from None
    if mode & 0o077:
        raise SessionError(f"other users can access the token file {file}: run  chmod 600 {file}")
    if len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise SessionError(
            f"the token file {file} must hold one line of {_MIN_TOKEN} or more ASCII characters without blanks: "
            f"run  openssl rand -hex 32 > {file}"
        )
    return token


if __name__ == "__main__":
    sys.exit(main())
