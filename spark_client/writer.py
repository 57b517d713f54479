"""Writes DataFrames into Hive tables without SQL: `write(df).into("db.t", partition={"ds": "1"}).append()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from metastore.client.structs import Table
from metastore.domain.names import fold_column
from spark_client.context import check_kind, context_of, reject_remote, require
from spark_client.errors import InvalidInsertError
from spark_client.jvm.catalog import parse_create_table, refresh
from spark_client.jvm.sql_text import literal, quote
from spark_client.statements.run.clauses import resolve
from spark_client.table.settings import parse_size
from spark_client.write.create_as_select import create_as_select
from spark_client.write.insert import Insert, insert_all
from spark_client.write.result import WriteResult
from spark_client.write.writable import check_no_file_sink

_NO_METASTORE = "no metastore to write to: start a session with spark_client.session(…)"


def write(data: DataFrame) -> Writer:
    """Returns a writer for the rows of a DataFrame. Raises SessionError for a DataFrame of Spark Connect."""
    require(data, DataFrame, "write", "a DataFrame", "write(df).into('db.t').append()")
    reject_remote(data, "write", "INSERT INTO t SELECT …, or df.write.insertInto('t')")
    return Writer(data)


@dataclass(frozen=True, slots=True, repr=False)
class Writer:
    """The rows of a write. `into` selects the table."""

    data: DataFrame

    def __repr__(self) -> str:
        return "<Writer: nothing is written yet; choose the table with into('db.t')>"

    def into(
        self,
        table: str,
        *,
        partition: Mapping[str, object] | None = None,
        columns: Sequence[str] | None = None,
        files: int | None = None,
        max_file_size: int | str | None = None,
    ) -> Target:
        """Selects the table, which is named as in SQL.

        Args:
            table: The name of the table.
            partition: The PARTITION clause: a value for a column, or None if the rows supply it.
            columns: The columns that the rows have. Other columns get their DEFAULT or NULL. Without it, columns are
                assigned by position, partition columns last; rows that have just the table's names in another order
                are rejected.
            files: The number of tasks that write, and so the largest number of files in a partition.
            max_file_size: Maximum size of a file, in bytes or as "64MB".
        """
        check_kind(table, str, "into", "the name of a table", "into('db.t')")
        check_kind(partition or {}, Mapping, "into", "a dictionary as partition", "into('db.t', partition={'ds': '1'})")
        if files is not None and files < 1:
            raise InvalidInsertError(f"files is {files}; it must be at least 1")
        rows = self.data if files is None else self.data.repartition(files)
        size = None if max_file_size is None else parse_size("max_file_size", str(max_file_size))
        clause = {name: _text(value) for name, value in (partition or {}).items()}
        return Target(rows, table, clause, columns, size)


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """The rows and table of a write. Each method is one write: all of its rows become visible at once, or none.

    The methods raise NoSuchTableError, InvalidInsertError, PublishConflictError, WriteFailedError, WriteUncertainError.
    """

    data: DataFrame
    table: str
    partition: Mapping[str, str | None]
    columns: Sequence[str] | None
    max_file_size: int | None

    def __repr__(self) -> str:
        methods = "append(), overwrite_partitions(), overwrite() or create()"
        return f"<Target {self.table}: nothing is written yet; call {methods}>"

    def append(self, *, if_not_exists: bool = False) -> WriteResult:
        """Runs INSERT INTO. With `if_not_exists`, nothing is written if the partition of the clause exists."""
        return self._insert(if_not_exists=if_not_exists)

    def overwrite_partitions(self, *, if_not_exists: bool = False) -> WriteResult:
        """Runs INSERT OVERWRITE: replaces the partitions that receive rows, and the partition that the clause names in
        full.
        """
        return self._insert(overwrite=True, if_not_exists=if_not_exists)

    def overwrite(self) -> WriteResult:
        """Replaces the table, or all partitions that `partition` selects. Partitions without new rows become empty."""
        return self._insert(overwrite=True, whole=True)

    def create(
        self,
        *,
        partitioned_by: Sequence[str] = (),
        stored_as: str = "PARQUET",
        location: str | None = None,
        properties: Mapping[str, str] | None = None,
        if_not_exists: bool = False,
    ) -> WriteResult | None:
        """Runs CREATE TABLE AS SELECT with the names and types of the DataFrame's columns.

        Returns None if the table exists and `if_not_exists` is set. Raises TableExistsError if it exists otherwise.
        """
        if self.partition or self.columns is not None:
            raise InvalidInsertError("create() takes its columns from the rows: omit partition and columns")
        context = context_of(self.data.sparkSession, _NO_METASTORE)
        check_kind(partitioned_by, (list, tuple), "create", "a list as partitioned_by", "create(partitioned_by=['ds'])")
        keys = [name.lower() for name in partitioned_by]
        fields = {field.name.lower(): field.dataType.simpleString() for field in self.data.schema.fields}
        if not fields.keys() >= set(keys) or len(fields) < len(self.data.columns):
            raise InvalidInsertError(
                f"{self.table}: columns must have distinct names and include the partition columns"
            )
        names = [name for name in fields if name not in keys]
        if not names:
            raise InvalidInsertError(f"{self.table}: all columns are partition columns; a table needs another one")
        text = f"CREATE TABLE {self.table} ({_columns(fields, names)})"
        text += f" PARTITIONED BY ({_columns(fields, keys)})" if keys else ""
        text += f" STORED AS {stored_as}"
        text += f" LOCATION {literal(location)}" if location else ""
        pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in (properties or {}).items())
        text += f" TBLPROPERTIES ({pairs})" if pairs else ""
        definition = parse_create_table(context, text)
        if definition is None:
            raise InvalidInsertError(f"{self.table}: STORED AS {stored_as} does not create a Hive table")
        ordered = self.data.select(*map(quote, [*names, *keys]))
        return create_as_select(
            context, definition, ordered, if_not_exists=if_not_exists, max_file_size=self.max_file_size
        )

    def _insert(self, **options: Any) -> WriteResult:
        context = context_of(self.data.sparkSession, _NO_METASTORE)
        database, name = resolve(context, self.table)
        check_no_file_sink(context, database, name)
        if self.columns is None:
            self._check_order(context.metastore.get_table(database, name))
        insert = Insert(
            f"{database}.{name}",
            self.data,
            partition=self.partition,
            columns=self.columns,
            max_file_size=self.max_file_size,
            **options,
        )
        (result,) = insert_all(context, [insert])
        refresh(context.spark, database, name)
        return result

    def _check_order(self, table: Table) -> None:
        """Raises InvalidInsertError if the rows have exactly the table's columns, but in another order: by position,
        values would go into other columns than their names say.
        """
        given = {fold_column(name) for name, value in self.partition.items() if value is not None}
        expected = [column.name for column in (*table.columns, *table.partition_columns) if column.name not in given]
        found = [fold_column(name) for name in self.data.columns]
        if found != expected and sorted(found) == sorted(expected):
            raise InvalidInsertError(
                f"{table.full_name} has the columns {', '.join(expected)}, and the rows have them in the order "
                f"{', '.join(found)}. Columns are assigned by position: select them in the table's order, or assign "
                f"them by name with into('{table.full_name}', columns=df.columns)"
            )


def _text(value: object) -> str | None:
    """Returns a partition value as SQL writes it: booleans are true and false."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _columns(fields: Mapping[str, str], names: Sequence[str]) -> str:
    return ", ".join(f"{quote(name)} {fields[name]}" for name in names)
