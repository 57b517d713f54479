"""Handles the JVM's requests about writes: check, insert, create, truncate, change rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from metastore.client.structs import Column, Storage, Table
from spark_client.context import Context
from spark_client.errors import NoSuchTableError
from spark_client.jvm import Handlers
from spark_client.jvm.catalog import name_of, pop_property, refresh, table_definition, table_exists, with_schema
from spark_client.jvm.objects import to_python, unpacked
from spark_client.jvm.plans import elements, frame_of, kind
from spark_client.jvm.repeatable import one_source
from spark_client.jvm.requests import (
    ChangeClause,
    ChangeRows,
    CheckCreate,
    CheckInsert,
    CheckWrite,
    CreateAsSelect,
    InsertAll,
    Truncate,
)
from spark_client.jvm.versions import column_of
from spark_client.table.hive_settings import parse_dynamic_partitions
from spark_client.table.partition_spec import check_count, resolve_partition
from spark_client.write.change import Change, Clause
from spark_client.write.create_as_select import create_as_select
from spark_client.write.insert import Insert, failures_as_one_line, insert_all
from spark_client.write.rights import check_create, check_truncate, check_write
from spark_client.write.row_changes import change_rows
from spark_client.write.rows import is_normal, normalise_static
from spark_client.write.truncate import truncate
from spark_client.write.writable import check_no_file_sink

# Table property that ResolveV2Writes.java adds for replace() and createOrReplace(). With the value "or creates" the
# table may exist; otherwise it must.
_REPLACES, _OR_CREATES = "spark_client.replaces", "or creates"


class WriteHandlers:
    """Handlers of the requests about writes. The JVM sends the session of the statement with each request."""

    def __init__(self, metastore: MetastoreClient, session: Callable[[Any], SparkSession]) -> None:
        """`session` wraps a session of the JVM as PySpark's."""
        self._metastore = metastore
        self._session = session

    def handlers(self) -> Handlers:
        """Returns the handler of each class of request."""
        return {
            CheckInsert: self._check,
            CheckWrite: lambda asked, _: self._check_write(asked),
            CheckCreate: lambda asked, _: check_create(self._metastore, asked.database, asked.table, asked.location),
            InsertAll: self._insert,
            CreateAsSelect: self._create,
            Truncate: self._truncate,
            ChangeRows: self._change,
        }

    def _check(self, request: CheckInsert, session: Any) -> None:
        """Rejects invalid INSERTs with Hive's messages, before Spark rejects them with its own or accepts them."""
        keys = tuple(Column(name, type_) for name, type_ in request.partition_columns)
        table = Table(request.database, request.table, (), keys, None, Storage("", "", ""))
        spec = resolve_partition(
            table.full_name,
            [key.name for key in keys],
            request.partition,
            if_not_exists=request.if_not_exists,
            dynamic=parse_dynamic_partitions(request.dynamic, request.mode),
        )
        if not all(is_normal(spec.static[key.name], key.type) for key in keys if key.name in spec.static):
            normalise_static(self._session(session), table, spec)
        if request.count is not None:
            check_count(table.full_name, request.columns + len(spec.dynamic), request.count)

    def _check_write(self, request: CheckWrite) -> None:
        check_write(self._metastore, request.database, request.table, overwrite=request.overwrite)
        if request.truncates:
            check_truncate(self._metastore.get_table(request.database, request.table))

    def _insert(self, request: InsertAll, objects: Any) -> None:
        session, *queries = unpacked(objects, 1 + len(request.inserts))
        context = self._context(session)
        frames: Sequence[DataFrame] = [DataFrame(query, context.spark) for query in queries]
        with ExitStack() as stack:
            with failures_as_one_line("the INSERTs"):
                frames = stack.enter_context(one_source(frames))
            inserts = [
                Insert(
                    f"{insert.database}.{insert.table}",
                    frame,
                    partition=insert.partition,
                    overwrite=insert.overwrite,
                    if_not_exists=insert.if_not_exists,
                    whole=insert.whole,
                )
                for insert, frame in zip(request.inserts, frames, strict=True)
            ]
            insert_all(context, inserts)

    def _truncate(self, request: Truncate, objects: Any) -> None:
        context = self._context(objects[0])
        check_no_file_sink(context, request.database, request.table)
        truncate(context, request.database, request.table, request.partition)

    def _change(self, request: ChangeRows, objects: Any) -> None:
        """Runs DELETE, UPDATE or MERGE. The objects are the session and those that `ChangeRows` describes."""
        session, subject = unpacked(objects, 2)
        context = self._context(session)
        target, source, on, expressions = to_python(subject)
        clauses = [
            Clause(clause.when, _column(context, values[0]), _values(context, clause, values))
            for clause, values in zip(request.clauses, expressions, strict=True)
        ]
        change = Change(
            f"{request.database}.{request.table}",
            frame_of(context.spark, target),
            clauses,
            None if source is None else frame_of(context.spark, source),
            _column(context, on),
        )
        change_rows(context, change)

    def _create(self, request: CreateAsSelect, objects: Any) -> None:
        """Runs Spark's CREATE TABLE AS SELECT command. saveAsTable sends it too, also for tables that exist."""
        session, command = unpacked(objects, 2)
        context = self._context(session)
        table = command.tableDesc() if kind(command) == "CreateHiveTableAsSelectCommand" else command.table()
        definition, mode = table_definition(table), str(command.mode().name())
        if request.dropped and mode == "Overwrite":
            with suppress(NoSuchTableError):  # the metastore may keep no dropped tables
                context.metastore.undrop(*name_of(definition))
        replaces, definition = pop_property(definition, _REPLACES)
        if replaces:
            if replaces != _OR_CREATES and not table_exists(context, definition):
                raise NoSuchTableError(f"table {definition.name} does not exist; use createOrReplace() to create it")
            mode = "Overwrite"
        data = frame_of(context.spark, command.query()).toDF(*map(str, elements(command.outputColumnNames())))
        database, table_name = name_of(definition)
        name = f"{database}.{table_name}"
        if mode == "Append" and context.spark.catalog.tableExists(name):
            check_no_file_sink(context, database, table_name)
            insert_all(context, [Insert(name, data)])
            refresh(context.spark, database, table_name)
        else:
            whole = with_schema(definition, data)
            create_as_select(context, whole, data, if_not_exists=mode == "Ignore", replace_existing=mode == "Overwrite")

    def _context(self, session: Any) -> Context:
        return Context(self._session(session), self._metastore)


def _column(context: Context, expression: Any) -> SparkColumn | None:
    return None if expression is None else column_of(context.spark, expression)


def _values(context: Context, clause: ChangeClause, expressions: Any) -> Mapping[str, SparkColumn] | None:
    """Returns the assigned values by column, or None for DELETE. The first expression is the condition."""
    if clause.deletes:
        return None
    columns = [column_of(context.spark, expression) for expression in expressions[1:]]
    return dict(zip(clause.columns, columns, strict=True))
