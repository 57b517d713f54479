"""What Spark's own parser makes of the names, constants and PARTITION clauses of statements that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchPartitionError, NoSuchTableError
from spark_client.write.names import DEFAULT_PARTITION
from spark_client.write.partition_spec import PartitionSpec
from spark_client.write.rows import normalise_static


def resolve(context: Context, name: str) -> tuple[str, str]:
    """Database and table of a name as written. Raises NoSuchTableError for a name of another catalog."""
    words = identifier(context, name)
    if len(words) == 3 and words[0] == "spark_catalog":
        words = words[1:]
    if len(words) > 2:
        raise NoSuchTableError(f"{name}: this works on tables of the session's own catalog only")
    return (words[0] if len(words) == 2 else context.spark.catalog.currentDatabase()), words[-1]


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


def partition_values(table: Table, spec: Any) -> list[str]:
    """The values of a partition specification in the table's order, "" for those that are not given."""
    given = {str(key).lower(): value for key, value in _entries(spec)}
    names = [column.name for column in table.partition_columns]
    unknown = sorted(given.keys() - set(names))
    if unknown:
        raise InvalidStatementError(
            f"{unknown[0]} is no partition column of {table.full_name}; these are {', '.join(names)}"
        )
    return ["" if name not in given else (given[name] or DEFAULT_PARTITION) for name in names]


def whole_values(table: Table, spec: Any) -> Sequence[str]:
    """As `partition_values`. Raises InvalidStatementError where one is not given."""
    values = partition_values(table, spec)
    missing = [column.name for column, value in zip(table.partition_columns, values, strict=True) if not value]
    if missing:
        raise InvalidStatementError(f"a partition of {table.full_name} needs a value of {', '.join(missing)}")
    return values


def typed_values(context: Context, table: Table, name: str, partition: str) -> tuple[str, ...]:
    """The values of the one partition that a PARTITION clause names, as texts of their types: `03` on INT is `3`.

    Raises InvalidStatementError, and InvalidInsertError where a value is none of its type.
    """
    spec = next(clause(context, name, partition))
    columns = [column.name for column in table.partition_columns]
    values = dict(zip(columns, whole_values(table, spec), strict=True))
    return tuple(normalise_static(context.spark, table, PartitionSpec(values, ())).values())


def no_such_partition(table: Table, spec: Any) -> NoSuchPartitionError:
    """The error for a specification that no partition has."""
    shown = ", ".join(f"{key}={value}" for key, value in _entries(spec))
    return NoSuchPartitionError(f"{table.full_name} has no partition ({shown})")


def elements(seq: Any) -> Iterator[Any]:
    """Of a Scala sequence."""
    return (seq.apply(index) for index in range(seq.size()))


def _entries(spec: Any) -> Iterator[tuple[Any, str | None]]:
    """Of a Scala map; a value may be an Option."""
    keys = spec.keysIterator()
    while keys.hasNext():
        key = keys.next()
        value = spec.apply(key)
        yield key, None if value is None else str(value)


def _state(context: Context) -> Any:
    return context.spark._jsparkSession.sessionState()  # noqa: SLF001
