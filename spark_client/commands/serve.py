"""`python -m spark_client.commands.serve --uri=…`: runs Spark's servers for `metastore spark serve`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from py4j.protocol import Py4JNetworkError  # noqa: E402
from pyspark.errors import PySparkException  # noqa: E402

from spark_client.errors import SparkClientError, first_line  # noqa: E402
from spark_client.serve import serve  # noqa: E402

_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the addresses and serves until SIGTERM or Ctrl-C. Returns the exit status."""
    parser = argparse.ArgumentParser("python -m spark_client.commands.serve")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--connect", type=int)
    parser.add_argument("--thrift", type=int)
    for name in ("host", "master", "warehouse"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--conf", action="append", default=[])
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_, lambda *_: stop.set())
    settings = [pair.partition("=")[::2] for pair in options.conf]
    try:
        servers = serve(
            options.uri,
            connect=options.connect,
            thrift=options.thrift,
            host=options.host or "127.0.0.1",
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


if __name__ == "__main__":
    sys.exit(main())
