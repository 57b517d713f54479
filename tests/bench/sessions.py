"""Cost of our session beside plain Spark's: its start, and a statement that our library does not handle: python -m
tests.bench.sessions [--starts 7] [--queries 3000]

Both run in turn on one metastore; medians are printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g"}
PLAIN, OURS = "plain", "ours"
WARM_UP = 500


def plain_session(uri: str) -> Any:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]").enableHiveSupport().config("spark.hadoop.hive.metastore.uris", uri)
    )
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def our_session(uri: str) -> Any:
    import spark_client

    return spark_client.session(uri, master="local[2]", conf=SETTINGS)


def start(kind: str, uri: str) -> dict[str, float]:
    """Returns the seconds until a session exists, and until its first answer."""
    begun = time.perf_counter()
    spark = our_session(uri) if kind == OURS else plain_session(uri)
    made = time.perf_counter()
    spark.sql("SELECT 1").collect()
    return {"session": made - begun, "answered": time.perf_counter() - begun}


def queries(uri: str, count: int) -> dict[str, dict[str, float]]:
    """Returns medians in milliseconds of two sessions in one driver, which take turns."""
    from pyspark.sql import SparkSession

    from spark_client.jvm import versions

    ours = our_session(uri)
    context: Any = ours.sparkContext
    without_rules = versions.sql_class(context._jvm, "SparkSession")(context._jsc.sc(), {})
    sessions = {PLAIN: SparkSession(context, without_rules), OURS: ours}
    asked: dict[str, Callable[[Any], object]] = {
        'spark.sql("SELECT 1")': lambda spark: spark.sql("SELECT 1"),
        'spark.sql("SELECT 1").collect()': lambda spark: spark.sql("SELECT 1").collect(),
    }
    actual: dict[str, dict[str, float]] = {}
    for name, ask in asked.items():
        times: dict[str, list[float]] = {PLAIN: [], OURS: []}
        for turn in range(WARM_UP + (count if "collect" not in name else count // 5)):
            for kind in (PLAIN, OURS) if turn % 2 else (OURS, PLAIN):
                begun = time.perf_counter()
                ask(sessions[kind])
                if turn >= WARM_UP:
                    times[kind].append(1000 * (time.perf_counter() - begun))
        actual[name] = {kind: median(each) for kind, each in times.items()}
    return actual


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--queries", type=int, default=3000)
    options = parser.parse_args()
    from tests.bench.servers import ours, postgres

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        with postgres(folder / "postgres") as database, ours(database, folder / "ours") as side:
            uri = f"thrift://{side.host}:{side.port}"
            starts: dict[str, list[dict[str, float]]] = {PLAIN: [], OURS: []}
            for _ in range(options.starts):
                for kind in (PLAIN, OURS):
                    starts[kind].append(_child(folder, "start", kind, uri))
            measured = _child(folder, "queries", uri, str(options.queries))
    for what in ("session", "answered"):
        plain, own = (median(each[what] for each in starts[kind]) for kind in (PLAIN, OURS))
        _write(f"{what}: plain {plain:.2f} s, ours {own:.2f} s, {own - plain:+.2f} s")
    for name, each in measured.items():
        _write(f"{name}: plain {each[PLAIN]:.3f} ms, ours {each[OURS]:.3f} ms, {each[OURS] / each[PLAIN] - 1:+.1%}")


def _child(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.sessions", *arguments]
    directory = {"cwd": Path(__file__).parents[2], "stderr": (folder / "log").open("w")}
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **directory)
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)
    if sys.argv[1:2] == ["start"]:
        _write(json.dumps(start(*sys.argv[2:])))
    elif sys.argv[1:2] == ["queries"]:
        _write(json.dumps(queries(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
