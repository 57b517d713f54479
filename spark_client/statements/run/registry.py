"""The statements of this library: each noun with its grammar, and with what carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar import columns as read_columns
from spark_client.statements.grammar import concatenate as read_concatenate
from spark_client.statements.grammar import databases as read_databases
from spark_client.statements.grammar import dependent_tables as read_dependent_tables
from spark_client.statements.grammar import descriptions as read_descriptions
from spark_client.statements.grammar import doris as read_doris
from spark_client.statements.grammar import doris_catalogs as read_doris_catalogs
from spark_client.statements.grammar import external_tables as read_external_tables
from spark_client.statements.grammar import new_tables as read_new_tables
from spark_client.statements.grammar import skewed_tables as read_skewed_tables
from spark_client.statements.grammar import surveys as read_surveys
from spark_client.statements.grammar import table_properties as read_table_properties
from spark_client.statements.grammar import trino as read_trino
from spark_client.statements.grammar import undrop as read_undrop
from spark_client.statements.run import (
    columns,
    concatenate,
    databases,
    dependent_tables,
    descriptions,
    doris_catalogs,
    external_tables,
    new_tables,
    skewed_tables,
    surveys,
    table_properties,
    translation,
    undrop,
)


def _always(_: Context, __: Any) -> bool:
    return True


def _nothing(_: Context, __: Any) -> None:
    return None


def _nobody(_: Context, __: Any, ___: str) -> DataFrame:
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StatementKind:
    """What some statements are about: `parse` takes the text of one, or leaves it to others (None).

    `check`: whether it may be ours, asked when it is parsed; `columns`: those of its rows, as in a CREATE TABLE, or
    None where it is not ours, asked when it is analyzed; `execute` answers with its rows. All raise SparkClientError.
    """

    parse: Callable[[str], Any | None]
    columns: Callable[[Context, Any], str | None] = _nothing
    execute: Callable[[Context, Any, str], DataFrame] = _nobody
    check: Callable[[Context, Any], bool] = _always


# In this order: what is in others' words comes again in Spark's; properties are looked at first; what
# is a dependent table's is nobody else's.
STATEMENT_KINDS = (
    StatementKind(read_doris.parse, translation.columns, translation.execute),
    StatementKind(read_trino.parse, translation.columns, translation.execute),
    StatementKind(read_doris_catalogs.parse, doris_catalogs.columns, doris_catalogs.execute),
    StatementKind(read_table_properties.parse, check=table_properties.check),
    StatementKind(
        read_dependent_tables.parse, dependent_tables.columns, dependent_tables.execute, check=dependent_tables.check
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
)


def may_be_ours(context: Context, text: str) -> bool:
    """Tells whether a text may be a statement of ours. Raises SparkClientError for one that is, but is broken."""
    return any([noun.check(context, statement) for noun, statement in _parsed(text)])  # noqa: C419 - each is asked


def columns_of(context: Context, text: str) -> str | None:
    """Returns the columns of the rows of a statement, as in a CREATE TABLE; None where it is Spark's."""
    return next((found for found, _, __ in _ours(context, text)), None)


def run(context: Context, text: str) -> DataFrame:
    """Runs a statement of ours, and returns its rows. Raises SparkClientError."""
    for _, noun, statement in _ours(context, text):
        return noun.execute(context, statement, text)
    raise InvalidStatementError(f"the tables of this statement have changed since it was read; run it again: {text}")


def _ours(context: Context, text: str) -> Iterator[tuple[str, StatementKind, Any]]:
    for noun, statement in _parsed(text):
        if (columns := noun.columns(context, statement)) is not None:
            yield columns, noun, statement


def _parsed(text: str) -> Iterator[tuple[StatementKind, Any]]:
    return ((noun, statement) for noun in STATEMENT_KINDS if (statement := noun.parse(text)) is not None)
