"""The kinds of statements of this library. Each has a parser and the functions that execute it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar import care as read_care
from spark_client.statements.grammar import columns as read_columns
from spark_client.statements.grammar import concatenate as read_concatenate
from spark_client.statements.grammar import databases as read_databases
from spark_client.statements.grammar import dependent_tables as read_dependent_tables
from spark_client.statements.grammar import descriptions as read_descriptions
from spark_client.statements.grammar import doris as read_doris
from spark_client.statements.grammar import doris_catalogs as read_doris_catalogs
from spark_client.statements.grammar import external_tables as read_external_tables
from spark_client.statements.grammar import new_tables as read_new_tables
from spark_client.statements.grammar import repair as read_repair
from spark_client.statements.grammar import skewed_tables as read_skewed_tables
from spark_client.statements.grammar import surveys as read_surveys
from spark_client.statements.grammar import table_properties as read_table_properties
from spark_client.statements.grammar import text_tables as read_text_tables
from spark_client.statements.grammar import trino as read_trino
from spark_client.statements.grammar import undrop as read_undrop
from spark_client.statements.run import (
    care,
    columns,
    concatenate,
    databases,
    dependent_tables,
    descriptions,
    doris_catalogs,
    external_tables,
    new_tables,
    partition_renames,
    repair,
    skewed_tables,
    surveys,
    table_properties,
    translation,
    undrop,
)


def _always(_: Context, __: Any) -> bool:
    return True


def _no_columns(_: Context, __: Any) -> None:
    return None


def _not_executed(_: Context, __: Any, ___: str) -> DataFrame:
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StatementKind:
    """A kind of statement. All functions may raise SparkClientError.

    Attributes:
        parse: Returns the parsed statement, or None if the text is of another kind.
        columns: Called when Spark analyzes the statement. Returns the columns of its rows, as in CREATE TABLE, or None
            if the statement is Spark's.
        execute: Runs the statement and returns its rows.
        check: Called when Spark parses the text. Returns whether the statement may belong to this library.
    """

    parse: Callable[[str], Any | None]
    columns: Callable[[Context, Any], str | None] = _no_columns
    execute: Callable[[Context, Any, str], DataFrame] = _not_executed
    check: Callable[[Context, Any], bool] = _always


# The order matters. Translations come first; their results are parsed again. Properties are checked before a statement
# is executed. Dependent tables come before the statements that all tables share.
STATEMENT_KINDS = (
    StatementKind(read_doris.parse, translation.columns, translation.execute),
    StatementKind(read_trino.parse, translation.columns, translation.execute),
    StatementKind(read_text_tables.parse, translation.columns, translation.execute),
    StatementKind(read_doris_catalogs.parse, doris_catalogs.columns, doris_catalogs.execute),
    StatementKind(read_table_properties.parse, check=table_properties.check),
    StatementKind(
        read_dependent_tables.parse, dependent_tables.columns, dependent_tables.execute, check=dependent_tables.check
    ),
    StatementKind(
        read_dependent_tables.parse, partition_renames.columns, partition_renames.execute, check=partition_renames.check
    ),
    StatementKind(read_descriptions.parse, descriptions.columns, descriptions.execute),
    StatementKind(read_columns.parse, columns.columns, columns.execute, check=columns.check),
    StatementKind(read_concatenate.parse, concatenate.columns, concatenate.execute),
    StatementKind(read_skewed_tables.parse, skewed_tables.columns, skewed_tables.execute),
    StatementKind(read_new_tables.parse, new_tables.columns, new_tables.execute),
    StatementKind(read_external_tables.parse, external_tables.columns, external_tables.execute),
    StatementKind(read_databases.parse, databases.columns, databases.execute),
    StatementKind(read_undrop.parse, undrop.columns, undrop.execute),
    StatementKind(read_surveys.parse, surveys.columns, surveys.execute),
    StatementKind(read_care.parse, care.columns, care.execute),
    StatementKind(read_repair.parse, repair.columns, repair.execute),
)


def is_candidate(context: Context, text: str) -> bool:
    """Returns whether a text may be a statement of this library. Raises SparkClientError if it is an invalid one."""
    return any([kind.check(context, statement) for kind, statement in _parsed(text)])  # noqa: C419 - every check must run, as it may raise


def columns_of(context: Context, text: str) -> str | None:
    """Returns the columns of a statement's rows, as in CREATE TABLE, or None if the statement is Spark's."""
    return next((columns for columns, _, __ in _matching(context, text)), None)


def run(context: Context, text: str) -> DataFrame:
    """Runs a statement of this library and returns its rows. Raises SparkClientError."""
    for _, kind, statement in _matching(context, text):
        return kind.execute(context, statement, text)
    raise InvalidStatementError(f"the tables of this statement changed while it was analyzed; run it again: {text}")


def _matching(context: Context, text: str) -> Iterator[tuple[str, StatementKind, Any]]:
    for kind, statement in _parsed(text):
        if (columns := kind.columns(context, statement)) is not None:
            yield columns, kind, statement


def _parsed(text: str) -> Iterator[tuple[StatementKind, Any]]:
    return ((kind, statement) for kind in STATEMENT_KINDS if (statement := kind.parse(text)) is not None)
