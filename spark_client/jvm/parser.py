"""What Spark's own parser makes of the names, constants and PARTITION clauses of statements that it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spark_client.context import Context


def identifier(context: Context, name: str) -> list[str]:
    """The parts of a name as written, in lower case."""
    parts = _state(context).sqlParser().parseMultipartIdentifier(name)
    return [str(each).lower() for each in elements(parts)]


def is_temporary(context: Context, name: str) -> bool:
    """Whether a name as written is that of a temporary view."""
    words = identifier(context, name)
    return len(words) == 1 and bool(_state(context).catalog().getTempView(words[0]).isDefined())


def parsed(context: Context, text: str) -> Any:
    """Spark's plan of a statement."""
    return _state(context).sqlParser().parsePlan(text)


def default_format(context: Context) -> str:
    """STORED AS, for a table of which nothing says how: Hive's setting, else Parquet."""
    return f"STORED AS {context.spark.conf.get('hive.default.fileformat', 'PARQUET')}"


def literal(context: Context, text: str) -> str:
    """The text of a constant as written."""
    return str(_state(context).sqlParser().parseExpression(text).value())


def clause(context: Context, table: str, partition: str) -> Iterator[Any]:
    """The specifications of a PARTITION clause as written, with its brackets."""
    return (part.spec() for part in elements(parsed(context, f"ALTER TABLE {table} ADD PARTITION {partition}").parts()))


def elements(seq: Any) -> Iterator[Any]:
    """Of a Scala sequence."""
    return (seq.apply(index) for index in range(seq.size()))


def entries(spec: Any) -> Iterator[tuple[Any, str | None]]:
    """Of a Scala map; a value may be an Option."""
    keys = spec.keysIterator()
    while keys.hasNext():
        key = keys.next()
        value = spec.apply(key)
        yield key, None if value is None else str(value)


def _state(context: Context) -> Any:
    return context.spark._jsparkSession.sessionState()  # noqa: SLF001
