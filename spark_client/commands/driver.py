"""`python -m spark_client.commands.driver`: the Spark driver of one user, which the gateway starts.

It reads what to do from its standard input (`driver_process`), and ends when its standard input ends: with the gateway,
or because the gateway stops it. The gateway may have no permission to send a signal to it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from typing import Any

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from py4j.protocol import Py4JNetworkError  # noqa: E402
from pyspark import SparkContext  # noqa: E402
from pyspark.errors import PySparkException  # noqa: E402

from spark_client.errors import SparkClientError, first_line  # noqa: E402
from spark_client.gateway.driver_process import Order, free_port, ready_line  # noqa: E402
from spark_client.serve import serve  # noqa: E402

_STOP = 15.0  # seconds; the gateway waits for 20
_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def main() -> int:
    """Prints one line when the servers listen, and serves until its standard input ends. Returns the exit status."""
    ready = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of Java and libraries goes to the log: the pipe has no reader after the first line
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        order = Order.read(sys.stdin.readline())
    except ValueError:
        sys.stderr.write("metastore: `metastore spark serve` starts this program\n")
        return 1
    folder = tempfile.mkdtemp(prefix="spark-driver-")
    threading.Thread(target=_end_with_input, args=(stop, folder), daemon=True).start()
    try:
        _serve(order, folder, ready, stop)
    except (SparkClientError, PySparkException) as error:
        sys.stderr.write(f"metastore: {first_line(error)}\n")
        return 1
    finally:
        _kill_java()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _serve(order: Order, folder: str, ready: Any, stop: threading.Event) -> None:
    os.environ.update(_environment(order, folder))
    os.chdir(folder)
    connect, thrift = (free_port() if is_wanted else None for is_wanted in (order.connect, order.thrift))
    servers = serve(
        order.uri,
        connect=connect,
        thrift=thrift,
        connect_token=order.secret if order.connect else None,
        thrift_password=order.secret,
        app_name="metastore spark serve",
        master=order.master,
        warehouse=order.warehouse,
        conf={**order.conf, **_SETTINGS},
    )
    with ready:
        ready.write(ready_line(connect, thrift))
    threading.Thread(target=_stop_with_java, args=(stop,), daemon=True).start()
    stop.wait()
    with suppress(Py4JNetworkError, ConnectionError):  # Java has already ended
        servers.stop()


def _environment(order: Order, folder: str) -> dict[str, str]:
    """Returns the variables of this process, which the launch command may have set for another user, or not at all.

    The user's name is a system property: with the environment variable HADOOP_USER_NAME, Spark's Thrift server would
    run statements as a proxy user without tokens.
    """
    with suppress(KeyError):  # a user id without an account, as in containers
        os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
    return {
        "METASTORE_CLIENT_TOKEN": order.token,
        "SPARK_USER": order.user,
        "SPARK_SUBMIT_OPTS": f"-Djava.io.tmpdir={folder} -DHADOOP_USER_NAME={order.user}",
        "TMPDIR": folder,
    }


def _end_with_input(stop: threading.Event, folder: str) -> None:
    """Ends this process after its standard input, also if it still starts or does not stop."""
    while os.read(0, 4096):  # without Python's buffer, which a thread could hold locked at the end
        pass
    stop.set()
    time.sleep(_STOP)
    _kill_java()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _stop_with_java(stop: threading.Event) -> None:
    """Ends this process with its Java: the ports of a driver must not stay free while the gateway sends calls to it."""
    java: Any = SparkContext._gateway  # noqa: SLF001 - PySpark has no public API for it
    java.proc.wait()
    if not stop.is_set():
        sys.stderr.write("metastore: Java has ended, so the driver ends\n")
    stop.set()


def _kill_java() -> None:
    java: Any = SparkContext._gateway  # noqa: SLF001
    if java is not None:
        java.proc.kill()


if __name__ == "__main__":
    sys.exit(main())
