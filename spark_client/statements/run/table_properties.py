"""Looks at the properties that a statement gives a table; it is Spark, or another noun, that carries it out."""

from __future__ import annotations

from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.parameters import PARAMETER
from spark_client.statements.grammar.table_properties import TableProperties
from spark_client.table.properties import problem_of


def check(_: Context, statement: TableProperties) -> bool:
    """Returns False. Raises InvalidStatementError for a property of ours that is misspelt or has a wrong value."""
    known = {name: value for name, value in statement.properties.items() if value != PARAMETER.strip("'")}
    if problem := problem_of(known):
        raise InvalidStatementError(f"{statement.table} cannot have these TBLPROPERTIES: {problem}")
    return False
