"""`python -m spark_client.demo --uri thrift://host:port --warehouse DIR`: loads a skewed table, queries it, compares.

Exit status: 0 if every answer equals the answer of the raw CSV files, 1 if one does not or an error occurs, 130 after
Ctrl-C.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# A warning of PySpark about the installed pandas, which the demonstration does not use.
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from metastore.client import MetastoreClient  # noqa: E402
from spark_client.demo import flights  # noqa: E402
from spark_client.demo.console import DemoConsole  # noqa: E402
from spark_client.demo.questions import Outcome, ask, questions  # noqa: E402
from spark_client.errors import SparkClientError, first_line  # noqa: E402
from spark_client.session import Session, session  # noqa: E402

_HEAVY = 10
_RARE = "ANC"
_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_EXPLANATION = (
    "Each month is a partition. Each of the ten heaviest destinations has a directory in it; all other destinations "
    "share the default directory. Before a scan, Spark asks the metastore which directories can hold matching rows, "
    "and opens only their files. The second line of a cell is the total of the table; for [i]time[/], it is the same "
    "query on the CSV file."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demonstration. Returns the exit status."""
    options = _parser().parse_args(arguments)
    screen = DemoConsole()
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # PySpark logs stack traces as JSON there
    with tempfile.TemporaryDirectory(prefix="flights-") as folder:
        log = Path(folder) / "spark.log"
        try:
            return _run(screen, options, Path(folder), log)
        except SparkClientError as error:
            screen.console.print(f"[bold red]✗[/] {error}", soft_wrap=True)
        except KeyboardInterrupt:
            return 130
        except Exception as error:  # noqa: BLE001 - a demonstration reports any error in one line, not as a traceback
            screen.console.print(f"[bold red]✗[/] {first_line(error)}", soft_wrap=True)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m spark_client.demo", description="Load real flights into a skewed table and query it."
    )
    parser.add_argument(
        "--uri", required=True, help="address of the metastore: thrift://host:port[,thrift://host2:port2]"
    )
    parser.add_argument("--warehouse", required=True, help="directory for the tables")
    parser.add_argument(
        "--rows", type=int, default=flights.ROWS, help="number of flights to load (default: all %(default)s)"
    )
    return parser


def _run(screen: DemoConsole, options: argparse.Namespace, folder: Path, log: Path) -> int:
    rows = max(1, min(options.rows, flights.ROWS))
    screen.title(f"{rows:,} flights from New York City, skewed by destination")
    with MetastoreClient(options.uri) as metastore:
        metastore.get_database("default")  # fail before Spark starts if no metastore answers
    with screen.step("Unpacking the raw CSV"):
        raw = flights.unpack(folder, rows)
    with screen.step("Starting Spark"), _standard_error_to(log):
        warehouse = Path(options.warehouse).absolute() / "demo"
        spark = session(options.uri, app_name="demo", master="local[*]", warehouse=str(warehouse), conf=_SETTINGS)
        spark.sparkContext.setLogLevel("ERROR")
    try:
        heavy = _load(screen, spark, raw)
        demo_questions = questions(heavy[0], heavy[2], _RARE)
        outcomes = [ask(spark, question) for question in screen.follow("Running the queries", demo_questions)]
    finally:
        spark.stop()
    return show(screen, outcomes)


def show(screen: DemoConsole, outcomes: Sequence[Outcome]) -> int:
    """Prints the results. Returns the exit status."""
    screen.outcomes(outcomes)
    screen.note(_EXPLANATION)
    screen.verdict(outcomes)
    return 0 if all(outcome.is_right for outcome in outcomes) else 1


def _load(screen: DemoConsole, spark: Session, raw: Path) -> list[str]:
    """Creates and fills the table with plain SQL. Returns the heavy destinations."""
    with screen.step(f"Finding the {_HEAVY} heaviest destinations"):
        flights.register_raw(spark, raw)
        heavy = flights.heaviest(spark, _HEAVY)
    spark.sql("CREATE DATABASE IF NOT EXISTS demo")
    spark.sql(f"DROP TABLE IF EXISTS {flights.TABLE}")
    statement = flights.create_statement(heavy)
    with screen.step("Creating the table"):
        spark.sql(statement)
    screen.sql(statement)
    with screen.step("Loading the table"):
        spark.sql(flights.insert_statement())
    screen.sql(flights.insert_statement())
    _show_layout(screen, spark)
    with screen.step("Counting destinations for the console"):
        flights.record_survey(spark)
    spark.sql(f"DROP TABLE IF EXISTS {flights.BY_DAY}")
    with screen.step(f"Loading the table again, by day, without {len(flights.MISSING_DAYS)} days"):
        spark.sql(flights.by_day_statement())
    return heavy


def _show_layout(screen: DemoConsole, spark: Session) -> None:
    """Prints the directories of one month."""
    partition = spark.metastore.get_partitions("demo", "flights")[0]
    plan = spark.metastore.plan_scan("demo", "flights", is_query=False)
    sizes = []
    for directory in next(
        scan_partition.directories for scan_partition in plan.partitions if scan_partition.values == partition.values
    ):
        files = list(Path(directory.location.removeprefix("file:")).glob("[!._]*"))
        name = directory.location.removeprefix(f"{partition.location}/")
        sizes.append((name, len(files), sum(file.stat().st_size for file in files)))
    month = partition.location.rpartition("/")[2]
    screen.directories(f"Directories of partition {month}", sorted(sizes, key=lambda row: -row[2]))


@contextmanager
def _standard_error_to(log: Path) -> Iterator[None]:
    """Redirects the standard error of the processes that start within to the log. The JVM keeps the one it starts
    with.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("wb") as target:
            os.dup2(target.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


if __name__ == "__main__":
    sys.exit(main())
