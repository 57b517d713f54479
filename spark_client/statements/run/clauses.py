"""Resolves the names and PARTITION clauses of parsed statements, with Spark's parser for their parts."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.client.structs import Table
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchPartitionError, NoSuchTableError
from spark_client.jvm.parser import PartitionValues, catalog_name, clause, identifier, is_temporary
from spark_client.table.partition_spec import PartitionSpec
from spark_client.write.rows import normalise_static


def resolve(context: Context, name: str) -> tuple[str, str]:
    """Returns the database and table of a name as written. Raises NoSuchTableError for a name of another catalog."""
    return _table_of(context, name, identifier(context, name))


def resolve_unless_temporary(context: Context, name: str) -> tuple[str, str] | None:
    """Resolves a name as `resolve`, or returns None if it is the name of a temporary view."""
    words = identifier(context, name)
    return None if is_temporary(context, words) else _table_of(context, name, words)


def resolve_table(context: Context, name: str) -> tuple[str, str]:
    """Resolves a name as `resolve`. Raises NoSuchTableError also for the name of a temporary view.

    Spark resolves such a name to the view; the user can qualify the table with its database.
    """
    resolved = resolve_unless_temporary(context, name)
    if resolved is None:
        raise NoSuchTableError(f"{name} is a temporary view in this session; qualify the table with its database")
    return resolved


def _table_of(context: Context, name: str, words: Sequence[str]) -> tuple[str, str]:
    if len(words) == 3 and words[0] in ("spark_catalog", catalog_name(context)):
        words = words[1:]
    if len(words) > 2:
        raise NoSuchTableError(f"{name} is in another catalog; this statement needs a table of the session catalog")
    return (words[0] if len(words) == 2 else context.spark.catalog.currentDatabase()), words[-1]


def partition_values(context: Context, table: Table, spec: PartitionValues) -> list[str]:
    """Returns the values of a partition specification in the table's order, or "" for columns without a value.

    Values are as the catalog writes them: `03` of an INT is `3`. Raises InvalidStatementError for unknown columns, and
    InvalidInsertError for a value that is not of its column's type.
    """
    values = {key.lower(): value for key, value in spec.items()}
    names = [column.name for column in table.partition_columns]
    unknown = sorted(values.keys() - set(names))
    if unknown:
        raise InvalidStatementError(
            f"{unknown[0]} is not a partition column of {table.full_name}; its partition columns are {', '.join(names)}"
        )
    static = {name: values[name] or DEFAULT_PARTITION for name in names if name in values}
    typed = normalise_static(context.spark, table, PartitionSpec(static, ()))
    return [typed.get(name, "") for name in names]


def full_values(context: Context, table: Table, spec: PartitionValues) -> Sequence[str]:
    """Returns the values as `partition_values`. Raises InvalidStatementError if a column has no value."""
    values = partition_values(context, table, spec)
    missing = [column.name for column, value in zip(table.partition_columns, values, strict=True) if not value]
    if missing:
        raise InvalidStatementError(f"the partition of {table.full_name} needs a value for {', '.join(missing)}")
    return values


def typed_values(context: Context, table: Table, name: str, partition: str) -> tuple[str, ...]:
    """Returns the values of the partition that a PARTITION clause names, as the catalog writes them.

    Raises InvalidStatementError, and InvalidInsertError for a value that is not of its column's type.
    """
    return tuple(full_values(context, table, clause(context, name, partition)[0]))


def no_such_partition(table: Table, spec: PartitionValues) -> NoSuchPartitionError:
    """Returns the error for a partition that does not exist."""
    partition = ", ".join(f"{key}={value}" for key, value in spec.items())
    return NoSuchPartitionError(f"{table.full_name} has no partition ({partition})")
