"""Runs Spark statements and queries, and compares the results. Needs only PySpark of any version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


class Script:
    """Runs statements and counts them. A failure does not stop the rest."""

    def __init__(self, spark: SparkSession, database: str, folder: str) -> None:
        """`database`: created by the script. `folder`: for files outside of the warehouse."""
        self.spark = spark
        self.database = database
        self.folder = folder
        self.statements = 0
        self.failures: list[str] = []

    def do(self, *statements: str) -> None:
        """Runs statements that must succeed; queries check their effect."""
        for statement in statements:
            self._attempt(statement, self._rows)

    def ask(self, statement: str, *expected: Any) -> None:
        """Expects these rows, in any order; a row of one column is written without its tuple."""

        def check(statement: str) -> None:
            rows = [row[0] if len(row) == 1 else tuple(row) for row in self._rows(statement)]
            _equal(sorted(rows, key=repr), sorted(expected, key=repr))

        self._attempt(statement, check)

    def tell(self, statement: str, expected: dict[str, str]) -> None:
        """Expects these values in the second column of a DESCRIBE or SHOW, by the names in its first."""

        def check(statement: str) -> None:
            said = {row[0].strip().rstrip(":"): str(row[1]).strip() for row in self._rows(statement)}
            _equal({name: said.get(name) for name in expected}, expected)

        self._attempt(statement, check)

    def holds(self, statement: str, *texts: str) -> None:
        """Expects these texts anywhere in the result."""

        def check(statement: str) -> None:
            answer = "\n".join(str(value) for row in self._rows(statement) for value in row)
            _equal([text for text in texts if text not in answer], [])

        self._attempt(statement, check)

    def refuse(self, statement: str, text: str) -> None:
        """Expects an error with this text."""

        def check(statement: str) -> None:
            try:
                self._rows(statement)
            except Exception as error:
                if text not in str(error):
                    raise
            else:
                raise AssertionError(f"it was not refused with {text}")

        self._attempt(statement, check)

    def _rows(self, statement: str) -> list[Any]:
        return list(self.spark.sql(statement).collect())

    def _attempt(self, statement: str, action: Callable[[str], Any]) -> None:
        self.statements += 1
        try:
            action(statement)
        except Exception as error:  # noqa: BLE001 - every failure is reported, with its statement
            self.failures.append(f"{statement}\n    {type(error).__name__}: {str(error)[:500]}")


def _equal(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")
