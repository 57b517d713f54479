"""TRUNCATE TABLE: an overwrite without rows: readers that have begun finish, and the metastore learns of it."""

from __future__ import annotations

from collections.abc import Mapping

from spark_client.context import Context
from spark_client.errors import InvalidInsertError, NoSuchPartitionError
from spark_client.table.partition_spec import PartitionSpec
from spark_client.write.commit import Commit
from spark_client.write.insert import failures_as_one_line
from spark_client.write.micro_batch import statement_of_batch
from spark_client.write.placement import Write
from spark_client.write.publication import publish
from spark_client.write.rows import normalise_static
from spark_client.write.snapshot import take_snapshot
from spark_client.write.writable import writable_table


def truncate(context: Context, database: str, name: str, partition: Mapping[str, str]) -> None:
    """Empties a table, or its partitions of these values, at once. The partitions stay.

    Raises:
        NoSuchTableError: there is no such table.
        InvalidInsertError: the values are not of partition columns of the table, or it cannot be written.
        NoSuchPartitionError: no partition has these values.
        PublishConflictError: another writer changed one of them meanwhile; run it again.
        WriteFailedError, WriteUncertainError: as an INSERT.
    """
    table = writable_table(context, f"{database}.{name}")
    given = {column.lower(): value for column, value in partition.items()}
    unknown = given.keys() - {column.name for column in table.partition_columns}
    if unknown:
        raise InvalidInsertError(f"{table.full_name} has no partition columns {sorted(unknown)}: name some that it has")
    static = normalise_static(context.spark, table, PartitionSpec(given, ()))
    snapshot = take_snapshot(context.metastore, table, static, with_skew=False)
    if static and not snapshot:
        raise NoSuchPartitionError(f"{table.full_name} has no partition {dict(static)}")
    with statement_of_batch(context.spark, table.full_name) as batch:
        if batch and batch.completed_partitions(context.metastore, table, static):
            return
        with (
            failures_as_one_line(f"TRUNCATE of {table.full_name}"),
            Commit(context, Write(table, static, overwrite=True, whole=True, batch=batch)) as commit,
        ):
            commit.set_files([], snapshot)
            publish(context, [commit])
