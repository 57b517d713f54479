"""TRUNCATE TABLE as an overwrite without rows: running queries finish, and the metastore records the change."""

from __future__ import annotations

from collections.abc import Mapping

from spark_client.context import Context
from spark_client.errors import InvalidInsertError, NoSuchPartitionError
from spark_client.jvm.sessions import settings
from spark_client.table.partition_spec import PartitionSpec
from spark_client.write.commit import Commit
from spark_client.write.insert import failures_as_one_line
from spark_client.write.micro_batch import statement_of_batch
from spark_client.write.placement import Write
from spark_client.write.publication import publish
from spark_client.write.rights import check_truncate
from spark_client.write.rows import normalise_static
from spark_client.write.run_events import TRUNCATE, Statement, run_events
from spark_client.write.snapshot import take_snapshot
from spark_client.write.writable import writable_table


def truncate(context: Context, database: str, name: str, partition: Mapping[str, str]) -> None:
    """Empties a table, or its partitions with these values, in one transaction. The partitions themselves remain.

    Raises:
        NoSuchTableError: The table does not exist.
        InvalidStatementError: The table is protected.
        InvalidInsertError: The table cannot be written, or a column is not one of its partition columns.
        NoSuchPartitionError: No partition has these values.
        PublishConflictError: Another writer changed a partition during the statement. Run it again.
        WriteFailedError, WriteUncertainError: As for an INSERT.
    """
    with run_events(context, Statement("TRUNCATE", {f"{database}.{name}": TRUNCATE})):
        _truncate(context, database, name, partition)


def _truncate(context: Context, database: str, name: str, partition: Mapping[str, str]) -> None:
    table = writable_table(context, f"{database}.{name}")
    check_truncate(table)
    values = {column.lower(): value for column, value in partition.items()}
    unknown = values.keys() - {column.name for column in table.partition_columns}
    if unknown:
        keys = ", ".join(column.name for column in table.partition_columns) or "none"
        raise InvalidInsertError(
            f"{table.full_name} has no partition columns {sorted(unknown)}; its partition columns: {keys}"
        )
    static = normalise_static(context.spark, table, PartitionSpec(values, ()))
    snapshot = take_snapshot(context.metastore, table, static, with_skew=False)
    if static and not snapshot:
        raise NoSuchPartitionError(f"{table.full_name} has no partition {dict(static)}")
    with statement_of_batch(context.spark, table.full_name) as batch:
        if batch and batch.completed_partitions(context.metastore, table, static):
            return
        write = Write(table, static, overwrite=True, whole=True, batch=batch)
        with (
            failures_as_one_line(f"TRUNCATE of {table.full_name}"),
            Commit(context, write, settings(context.spark)) as commit,
        ):
            commit.set_files([], snapshot)
            publish(context, [commit])
