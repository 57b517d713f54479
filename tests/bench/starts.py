"""Starts of sessions and of Spark's servers, ours and Spark's own, in turns: python -m tests.bench.starts
[--spark 3.5 --spark 4.1 --spark 4.3] [--of Connect --of Thrift] [--rounds 5]

A session is ready when it has answered `SELECT 1`, a server when its port accepts connections. Seconds and processor
time count from the start of the first process, and processor time is that of all its processes. Medians are printed.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from spark_client.jvm.versions import TESTED
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import Server
from tests.fixtures.sparks import python_of
from tests.interop.maven import class_path

OURS, PLAIN = "ours", "Spark's own"
SIDES, INTERFACES = (OURS, PLAIN), ("session", "Connect", "Thrift")
SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g"}
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
# For Spark 3.5, Spark Connect is a separate package.
_CONNECT_PACKAGE = "org.apache.spark:spark-connect_2.12:3.5.7"
_ANSWERED = "answered"
_ROOT = Path(__file__).parents[2]
_PAUSE, _LIMIT = 0.01, 300.0  # seconds between looks at a port; until a start has failed

_PLAIN_SESSION = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").enableHiveSupport()
for pair in sys.argv[1:]:
    builder = builder.config(*pair.split("=", 1))
"""
_OUR_SESSION = """
import sys
import spark_client
conf = dict(pair.split("=", 1) for pair in sys.argv[1:])
spark = spark_client.session(conf.pop("spark.hadoop.hive.metastore.uris"), master="local[2]", conf=conf)
"""
_ASK = f"""
spark.sql("SELECT 1").collect()
print("{_ANSWERED}", flush=True)
sys.stdin.read()
"""


def command(side: str, interface: str, python: str, uri: str, port: int) -> list[str]:
    """Returns the command line that starts a session or server."""
    conf = {**SETTINGS, "spark.hadoop.hive.metastore.uris": uri}
    if interface == "session":
        code = _OUR_SESSION if side == OURS else f"{_PLAIN_SESSION}\nspark = builder.getOrCreate()"
        return [python, "-c", code + _ASK, *(f"{key}={value}" for key, value in conf.items())]
    if interface == "Connect" and "/spark-3.5/" in python:
        conf["spark.jars"] = class_path(_CONNECT_PACKAGE).replace(os.pathsep, ",")
    if side == OURS:
        del conf["spark.hadoop.hive.metastore.uris"]
        arguments = ["--uri", uri, f"--{interface.lower()}", str(port), "--master", "local[2]"]
        return [python, "-m", "metastore.cli", "spark", "serve", *arguments, *_pairs(conf)]
    conf |= {
        "spark.master": "local[2]",
        "spark.sql.catalogImplementation": "hive",
        "spark.connect.grpc.binding.port": str(port),
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
    }
    code = "import os, pyspark; print(os.path.dirname(pyspark.__file__))"
    home = subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    class_ = _CONNECT if interface == "Connect" else _THRIFT
    return [f"{home}/bin/spark-submit", *_pairs(conf), "--class", class_, "spark-internal"]


def start(side: str, interface: str, python: str, uri: str, folder: Path) -> tuple[float, float]:
    """Starts a session or server, and stops it when it is ready. Returns seconds and processor time until then."""
    port = free_port()
    line = command(side, interface, python, uri, port)
    begun = time.monotonic()
    with _running(line, folder) as process:
        if interface == "session":
            assert process.stdout is not None
            while process.stdout.readline() != f"{_ANSWERED}\n":
                assert process.poll() is None, (folder / "log").read_text()
        else:
            _await_port(process, port, folder)
        return time.monotonic() - begun, _processor_time(psutil.Process(process.pid))


@contextmanager
def _running(line: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, env=_environment()
        )
    try:
        yield process
    finally:
        every = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        for each in (process, *every):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait()
        psutil.wait_procs(every)


def _environment() -> Mapping[str, str]:
    unset = ("PYSPARK_", "SPARK_", "PYTHONDONTWRITEBYTECODE")  # users' Python caches its bytecode
    others = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    return {**others, "PYTHONPATH": str(_ROOT)}


def _await_port(process: subprocess.Popen[str], port: int, folder: Path) -> None:
    deadline = time.monotonic() + _LIMIT
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert process.poll() is None, (folder / "log").read_text()
        time.sleep(_PAUSE)
    raise TimeoutError((folder / "log").read_text())


def _processor_time(process: psutil.Process) -> float:
    """Returns the processor time of a process and its descendants, with those that have ended."""
    every = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(time_.user + time_.system + time_.children_user + time_.children_system for time_ in every)


def compare(version: str, server: Server, folder: Path, interfaces: Sequence[str], rounds: int) -> Iterator[str]:
    """Yields a row of a Markdown table for each interface."""
    python = python_of(version)
    for interface in interfaces:
        figures: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
        for turn in range(1 + rounds):  # the first compiles Java classes, and fills the caches of the system
            for side in SIDES[:: 1 if turn % 2 else -1]:
                figures[side].append(start(side, interface, python, server.uri, folder))
        (wall, processor), (plain_wall, plain_processor) = (
            (median(values) for values in zip(*figures[side][1:], strict=True)) for side in SIDES
        )
        yield (
            f"| {version} | {interface} | {wall:.2f} | {plain_wall:.2f} | {wall - plain_wall:+.2f} | {processor:.2f} | "
            f"{plain_processor:.2f} | {processor - plain_processor:+.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="append", choices=TESTED)
    parser.add_argument("--of", action="append", choices=INTERFACES, dest="interfaces")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    from tests.bench.writing.__main__ import server

    with server() as running, TemporaryDirectory() as folder:
        _write("| Spark | start of | ours, s | Spark's own, s | | processor time: ours, s | Spark's own, s | |")
        _write("| --- | --- | --: | --: | --: | --: | --: | --: |")
        for version in options.spark or ("3.5", "4.1", "4.3"):
            for row in compare(version, running, Path(folder), options.interfaces or INTERFACES, options.rounds):
                _write(row)
    _write(f"load at the end {', '.join(map(str, os.getloadavg()))}")


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _pairs(conf: Mapping[str, str]) -> list[str]:
    return [text for key, value in conf.items() for text in ("--conf", f"{key}={value}")]


if __name__ == "__main__":
    main()
