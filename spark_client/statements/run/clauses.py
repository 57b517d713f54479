"""What Spark's own parser makes of the names, constants and PARTITION clauses of statements that it does not know."""

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
    """Database and table of a name as written. Raises NoSuchTableError for a name of another catalog."""
    return _table_of(context, name, identifier(context, name))


def resolve_unless_temporary(context: Context, name: str) -> tuple[str, str] | None:
    """Resolves, as `resolve`; None where a temporary view has the name."""
    words = identifier(context, name)
    return None if is_temporary(context, words) else _table_of(context, name, words)


def resolve_table(context: Context, name: str) -> tuple[str, str]:
    """Resolves, as `resolve`, a table that is there. Raises NoSuchTableError where a temporary view has the name, too.

    For Spark takes a name for the view then; the table can be named with its database.
    """
    found = resolve_unless_temporary(context, name)
    if found is None:
        raise NoSuchTableError(f"{name} is a temporary view here; name the table with its database")
    return found


def _table_of(context: Context, name: str, words: Sequence[str]) -> tuple[str, str]:
    if len(words) == 3 and words[0] in ("spark_catalog", catalog_name(context)):
        words = words[1:]
    if len(words) > 2:
        raise NoSuchTableError(f"{name}: this works on tables of the session's own catalog only")
    return (words[0] if len(words) == 2 else context.spark.catalog.currentDatabase()), words[-1]


def partition_values(context: Context, table: Table, spec: PartitionValues) -> list[str]:
    """Returns the values of a partition specification in the table's order, "" for those that are not given.

    They are as their types are written: `03` on INT is `3`. Raises InvalidInsertError for one that is none of its type.
    """
    given = {key.lower(): value for key, value in spec.items()}
    names = [column.name for column in table.partition_columns]
    unknown = sorted(given.keys() - set(names))
    if unknown:
        raise InvalidStatementError(
            f"{unknown[0]} is no partition column of {table.full_name}; these are {', '.join(names)}"
        )
    static = {name: given[name] or DEFAULT_PARTITION for name in names if name in given}
    typed = normalise_static(context.spark, table, PartitionSpec(static, ()))
    return [typed.get(name, "") for name in names]


def whole_values(context: Context, table: Table, spec: PartitionValues) -> Sequence[str]:
    """Returns them as `partition_values`. Raises InvalidStatementError where one is not given."""
    values = partition_values(context, table, spec)
    missing = [column.name for column, value in zip(table.partition_columns, values, strict=True) if not value]
    if missing:
        raise InvalidStatementError(f"a partition of {table.full_name} needs a value of {', '.join(missing)}")
    return values


def typed_values(context: Context, table: Table, name: str, partition: str) -> tuple[str, ...]:
    """Returns the values of the one partition that a PARTITION clause names, as texts of their types: `03` on INT is
    `3`.

    Raises InvalidStatementError, and InvalidInsertError where a value is none of its type.
    """
    return tuple(whole_values(context, table, clause(context, name, partition)[0]))


def no_such_partition(table: Table, spec: PartitionValues) -> NoSuchPartitionError:
    """Returns the error for a specification that no partition has."""
    shown = ", ".join(f"{key}={value}" for key, value in spec.items())
    return NoSuchPartitionError(f"{table.full_name} has no partition ({shown})")
