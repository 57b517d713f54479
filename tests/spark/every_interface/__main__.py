"""Runs the same statements in a classic session, with parameters, over Spark Connect and JDBC, and compares the rows.

    python -m tests.spark.every_interface [--spark 3.5]

Then it counts writes: each must be done once, whatever action its DataFrame gets, also over connections that break.
Features that a version lacks are listed. Takes some minutes. The status is 1 if two interfaces differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore", category=FutureWarning)

import pyspark  # noqa: E402

import spark_client  # noqa: E402
from spark_client.jvm.versions import TESTED  # noqa: E402
from tests.bench.servers import ours, postgres  # noqa: E402
from tests.fixtures.real_hive import free_port  # noqa: E402
from tests.fixtures.spark_servers import connect_settings  # noqa: E402
from tests.fixtures.sparks import python_of  # noqa: E402
from tests.interop.maven import UnavailableError  # noqa: E402
from tests.spark.every_interface import client  # noqa: E402
from tests.spark.every_interface.cutting import cutting  # noqa: E402
from tests.spark.every_interface.statements import statements  # noqa: E402
from tests.spark.since import is_there  # noqa: E402

ROOT = Path(__file__).parents[3]
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.scripting.enabled": "true",
}
INTERFACES = ("classic", "parameters", "connect", "jdbc")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", choices=TESTED)
    wanted = parser.parse_args().spark
    if wanted and not pyspark.__version__.startswith(f"{wanted}."):
        return subprocess.run([python_of(wanted), "-m", "tests.spark.every_interface"], check=False).returncode
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        with postgres(folder / "postgres") as database, ours(database, folder / "ours") as side:
            return compare(f"thrift://{side.host}:{side.port}", folder)


def compare(uri: str, folder: Path) -> int:
    connect, thrift = free_port(), free_port()
    packages, missing = _connect()
    servers = spark_client.serve(
        uri,
        connect=None if missing else connect,
        thrift=thrift,
        warehouse=str(folder / "warehouse"),
        conf={**SETTINGS, **packages},
    )
    spark = servers.session
    spark.sparkContext.setLogLevel("OFF")
    every = statements()
    here = [statement for statement in every if is_there(statement.since[0])]
    told = [statement.told() for statement in here]
    marked = {statement.plain() for statement in here if statement.values and is_there(statement.marked_since[0])}
    for interface in INTERFACES:
        spark.sql(f"CREATE DATABASE {interface} LOCATION '{folder / interface}'")
    actual: dict[str, list[Any]] = {}
    for interface in ("classic", "parameters"):
        session = spark.newSession()
        session.sql(f"USE {interface}")
        actual[interface] = client.answers(session, told, parameters=marked if interface == "parameters" else set())
    counts = {"classic": client.counted(session, changes=True)}
    if not missing:
        with cutting(connect) as cut:
            remote = _remote(
                f"sc://127.0.0.1:{connect}", {"statements": told, "changes": True, "cut": f"sc://127.0.0.1:{cut}"}
            )
        actual["connect"] = remote["answers"]
        counts |= {"connect": remote["counted"], "connect, cut": remote["retried"]}
    actual["jdbc"], counts["jdbc"] = _jdbc(spark, thrift, told)
    servers.stop()
    left_out = Counter(
        missed for statement in every for missed in (statement.since, statement.marked_since) if not is_there(missed[0])
    )
    missing += [f"{what} came with Spark {version} ({n} statements)" for (version, what), n in left_out.items()]
    for line in missing:
        _write(f"not tested: {line}")
    return _compared(told, actual, counts)


def _connect() -> tuple[dict[str, str], list[str]]:
    """Returns the settings for Spark Connect, and the reason if it cannot be tested."""
    try:
        return dict(pair.split("=") for pair in connect_settings()), []
    except UnavailableError as error:
        return {}, [f"Spark Connect: {error}"]


def _remote(address: str, given: dict[str, Any]) -> dict[str, Any]:
    made = [ROOT / "scripts/set-up-spark-client", pyspark.__version__]
    python = subprocess.run(made, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    command = [python, "-P", str(ROOT / "tests/spark/every_interface/client.py"), address, "connect"]
    ran = subprocess.run(command, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def _jdbc(spark: Any, port: int, told: list[dict[str, Any]]) -> tuple[list[Any], dict[str, int]]:
    """Runs the statements with Hive's JDBC driver, in Spark's JVM. Returns the answers and the counts of writes."""
    java = spark._jvm
    connection = java.org.apache.hive.jdbc.HiveDriver().connect(
        f"jdbc:hive2://127.0.0.1:{port}/jdbc", java.java.util.Properties()
    )
    statement = connection.createStatement()

    def run(text: str) -> list[list[str | None]]:
        if not statement.execute(text):
            return []
        with _closing(statement.getResultSet()) as rows:
            width, seen = rows.getMetaData().getColumnCount(), []
            while rows.next():
                seen.append([rows.getString(column + 1) for column in range(width)])
        return seen

    answers: list[Any] = []
    for each in told:
        try:
            answers.append(client.rows(run(each["plain"]), each["columns"]))
        except Exception as error:  # noqa: BLE001 - it is compared
            answers.append(f"{type(error).__name__}: {error}"[:400])
    run("CREATE TABLE counted (name STRING, n INT) STORED AS PARQUET")
    for number in range(6):
        run(f"INSERT INTO counted VALUES ('{number}', 1)")
    prepared = connection.prepareStatement("INSERT INTO counted VALUES (?, 1)")
    prepared.setString(1, "prepared, it's")
    prepared.execute()
    counts = {str(name): int(str(n)) for name, n in run("SELECT name, sum(n) FROM counted GROUP BY name")}
    connection.close()
    return answers, counts


@contextmanager
def _closing(rows: Any) -> Iterator[Any]:
    try:
        yield rows
    finally:
        rows.close()


def _compared(told: list[dict[str, Any]], actual: dict[str, list[Any]], counts: dict[str, dict[str, int]]) -> int:
    """Prints the differences. Returns the status."""
    wrong = 0
    for number, statement in enumerate(told):
        expected = actual["classic"][number]
        others = {interface: answers[number] for interface, answers in actual.items() if answers[number] != expected}
        if others or isinstance(expected, str):
            wrong += 1
            _write(f"{statement['plain']}\n  classic: {expected}")
            for interface, answer in others.items():
                _write(f"  {interface}: {answer}")
    for interface, each in counts.items():
        twice = {name: count for name, count in each.items() if count != 1}
        wrong += len(twice)
        _write(f"{interface}: {len(each)} writes, {f'not once: {twice}' if twice else 'each once'}")
    rows = sum(len(answer) for answer in actual["classic"] if not isinstance(answer, str))
    summary = f"{len(told)} statements with {rows} rows through {len(actual)} interfaces; {wrong or 'none'} differ"
    _write(f"Spark {pyspark.__version__}: {summary}")
    return 1 if wrong else 0


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
