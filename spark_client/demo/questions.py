"""The queries of the demonstration, which run on the skewed table and on the raw CSV."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from spark_client.demo.flights import AIRPORTS, RAW, TABLE
from spark_client.scan.report import TableScan, scan_report

_COUNT = "SELECT count(*), round(avg(arr_delay), 1) FROM {flights}"
_LATE = "{0:,} flights\ndelay {1} min"
# Each query runs this many times, and the fastest run counts: the first run also compiles.
_RUNS = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A query in which `{flights}` stands for the table, and the format of its only row as an answer."""

    title: str
    condition: str
    sql: str
    answer: str = _LATE

    def ask(self, flights: str) -> str:
        """Returns the query on a table or view."""
        return self.sql.format(flights=flights)


def _where(title: str, condition: str) -> Question:
    return Question(title, condition, f"{_COUNT} WHERE {condition}")


def questions(heavy: str, other_heavy: str, rare: str) -> tuple[Question, ...]:
    """Returns the questions. `heavy` destinations have a directory of their own, a `rare` one is in the default
    directory.
    """
    return (
        _where("one heavy value", f"dest = '{heavy}'"),
        _where("… of one month", f"dest = '{heavy}' AND month = 1"),
        _where("a rare value", f"dest = '{rare}'"),
        _where("… of one month", f"dest = '{rare}' AND month = 7"),
        _where("both", f"dest IN ('{heavy}', '{rare}')"),
        _where("a range of months", "month BETWEEN 6 AND 8"),
        Question(
            "a join with airports",
            f"a.faa = '{other_heavy}'",
            f"SELECT a.name, count(*) FROM {{flights}} f JOIN {AIRPORTS} a ON f.dest = a.faa "  # noqa: S608
            f"WHERE a.faa = '{other_heavy}' GROUP BY a.name",
            "{0}\n{1:,} flights",
        ),
        _where("another column", "dep_delay > 300"),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The table's answer, the data that was read for it, and the answer of the raw CSV. Times are in seconds."""

    question: Question
    rows: Sequence[tuple[Any, ...]]
    raw_rows: Sequence[tuple[Any, ...]]
    seconds: float
    raw_seconds: float
    scan: TableScan

    @property
    def is_right(self) -> bool:
        """Returns whether both answers are equal."""
        return self.rows == self.raw_rows

    @property
    def answer(self) -> str:
        """The answer in words."""
        return self.question.answer.format(*self.rows[0]) if self.rows else "nothing"


def ask(spark: SparkSession, question: Question) -> Outcome:
    """Runs the query on the table and on the raw CSV."""
    rows, seconds = _timed(spark, question.ask(TABLE))
    raw_rows, raw_seconds = _timed(spark, question.ask(RAW))
    (scan,) = scan_report(spark.sql(question.ask(TABLE))).scans
    return Outcome(question, rows, raw_rows, seconds, raw_seconds, scan)


def _timed(spark: SparkSession, sql: str) -> tuple[list[tuple[Any, ...]], float]:
    seconds = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        rows = spark.sql(sql).collect()
        seconds.append(time.perf_counter() - start)
    return sorted(tuple(row) for row in rows), min(seconds)
