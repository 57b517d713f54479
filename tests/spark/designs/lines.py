"""A line of a design, and what it must do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_client.errors import SparkClientError


class Line(NamedTuple):
    """A statement as it is typed.

    `rows`: the rows that it returns, in any order; None if they are not checked. `error`: a pattern of the one-line
    message, if it must fail. `design`: the document's own text, if it has placeholders that a statement cannot have.
    `why`: the reason for the error, or for a difference from the document.
    """

    text: str
    rows: Sequence[tuple[Any, ...]] | None = None
    error: str | None = None
    design: str | None = None
    why: str | None = None


def setup(text: str) -> Line:
    """A statement that the document leaves to its reader, such as the one that makes a source."""
    return Line(text)


def failures(spark: SparkSession, lines: Sequence[Line], values: Mapping[str, str]) -> Iterator[str]:
    """Types the lines in their order. Yields a message for each whose outcome is another one.

    `values`: the texts of `<name>` in the lines.
    """
    for number, line in enumerate(lines, start=1):
        text = line.text
        for name, value in values.items():
            text = text.replace(f"<{name}>", value)
        try:
            found = [tuple(row) for row in spark.sql(text).collect()]
        except (PySparkException, SparkClientError) as error:
            message = next(iter(str(error).strip().splitlines()), "")
            if line.error is None or not re.search(line.error, message):
                yield f"line {number}: {line.text}\n    failed: {type(error).__name__}: {message}"
            continue
        if line.error is not None:
            yield f"line {number}: {line.text}\n    did not fail"
        elif line.rows is not None and sorted(map(repr, found)) != sorted(map(repr, line.rows)):
            yield f"line {number}: {line.text}\n    returned {found}"


def outcome(spark: SparkSession, lines: Sequence[Line], name: str, uris: str) -> list[str]:
    """Types a design in a new database, which is dropped afterwards. Returns the failures."""
    spark.sql(f"CREATE DATABASE {name}")
    try:
        spark.sql(f"USE {name}")
        described = {str(row[0]).lower(): str(row[1]) for row in spark.sql(f"DESCRIBE DATABASE {name}").collect()}
        location = described["location"].rstrip("/")
        return list(failures(spark, lines, {"location": location, "name": name, "uris": uris}))
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP DATABASE {name} CASCADE")
