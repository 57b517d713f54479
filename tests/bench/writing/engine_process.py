"""A program with one session of plain Spark or of Hive, which runs the statement of each line of its input."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.fixtures.java_options import set_java_options
from tests.interop.hive.queries import JAVA, HiveError, HiveSession, runtime
from tests.interop.java import running_jvm
from tests.interop.report import Report

Run = Callable[[str], list[list[Any]]]

_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "1",
}


def main(kind: str, uri: str, warehouse: str) -> None:
    """Answers `{"sql": …}` with `{"rows": […]}` or `{"error": …}`."""
    with tempfile.TemporaryDirectory() as folder, _SESSIONS[kind](uri, warehouse, Path(folder)) as run:
        for line in sys.stdin:
            try:
                answer: dict[str, Any] = {"rows": run(json.loads(line)["sql"])}
            except (HiveError, PySparkException, Py4JError) as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)  # noqa: T201


@contextmanager
def _plain_spark(uri: str, warehouse: str, _: Path) -> Iterator[Run]:
    set_java_options()
    builder = SparkSession.builder.master("local[1]").enableHiveSupport()
    places = {"spark.hadoop.hive.metastore.uris": uri, "spark.sql.warehouse.dir": warehouse}
    for key, value in (_SETTINGS | places).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    yield lambda statement: [list(row) for row in spark.sql(statement).collect()]
    spark.stop()


@contextmanager
def _hive(uri: str, warehouse: str, folder: Path) -> Iterator[Run]:
    version = "4.1.0"
    home, jars = runtime(version)
    with running_jvm(home, jars, folder, *JAVA) as gateway:
        session = HiveSession(gateway, version, uri, warehouse, folder, Report("Hive"))
        # Otherwise a query of Hive may list the directory of another session's INSERT while that is removed, and fail.
        session.set("hive.exec.stagingdir", f"{folder}/staging")
        yield lambda statement: [line.split("\t") for line in session.run(statement)]


_SESSIONS: Final = {"spark": _plain_spark, "hive": _hive}


if __name__ == "__main__":
    main(*sys.argv[1:])
