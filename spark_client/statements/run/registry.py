"""The statements of this library: each noun with its grammar, and with what carries it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.statements.grammar import concatenate as read_concatenate
from spark_client.statements.grammar import databases as read_databases
from spark_client.statements.grammar import dependent_tables as read_dependent_tables
from spark_client.statements.grammar import descriptions as read_descriptions
from spark_client.statements.grammar import new_tables as read_new_tables
from spark_client.statements.grammar import skewed_tables as read_skewed_tables
from spark_client.statements.grammar import table_properties as read_table_properties
from spark_client.statements.run import (
    concatenate,
    databases,
    dependent_tables,
    descriptions,
    new_tables,
    skewed_tables,
    table_properties,
)
from spark_client.statements.run.query import Query


@dataclass(frozen=True, slots=True)
class Noun:
    """What some statements are about: `parse` takes the text of one, or leaves it to others (None).

    `execute` answers with its rows, or with None where it is Spark's after all. `with_parameters`: also where the query
    has parameters; else such a query is Spark's.
    """

    parse: Callable[[str], Any | None]
    execute: Callable[[Context, Any, Query], DataFrame | None]
    with_parameters: bool = False


# In this order: properties are looked at first; what is a dependent table's is nobody else's.
NOUNS = (
    Noun(read_table_properties.parse, table_properties.execute, with_parameters=True),
    Noun(read_dependent_tables.parse, dependent_tables.execute),
    Noun(read_descriptions.parse, descriptions.execute),
    Noun(read_concatenate.parse, concatenate.execute),
    Noun(read_skewed_tables.parse, skewed_tables.execute, with_parameters=True),
    Noun(read_new_tables.parse, new_tables.execute, with_parameters=True),
    Noun(read_databases.parse, databases.execute, with_parameters=True),
)


def answer(context: Context, query: Query) -> DataFrame | None:
    """Returns the rows of a statement of ours, None where it is Spark's. Raises SparkClientError."""
    for noun in NOUNS:
        if query.has_parameters and not noun.with_parameters:
            continue
        if (statement := noun.parse(query.text)) is None:
            continue
        if (rows := noun.execute(context, statement, query)) is not None:
            return rows
    return None
