"""Translations of other engines' statements to Spark's syntax, and the common parts of their CREATE TABLE statements.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.tokens import tokens


@dataclass(frozen=True, slots=True)
class Translation:
    """`text` is the statement in Spark's syntax, `columns` the columns of its rows as in CREATE TABLE."""

    text: str
    columns: str = ""


def columns_and_keys(columns: Sequence[str], keys: Sequence[str], clause: str) -> tuple[str, str]:
    """Splits column definitions into the data columns in parentheses and a PARTITIONED BY clause for `keys`.

    `clause` is the name of the engine's clause, for messages. Raises InvalidStatementError unless the keys are the last
    columns, in their order.
    """
    defined = {next(tokens(column)).name: column for column in columns}
    names = [key.strip("`").lower() for key in keys]
    if missing := [name for name in names if name not in defined]:
        raise InvalidStatementError(f"{clause}: {missing[0]} is not among the columns")
    if names and list(defined)[-len(names) :] != names:
        raise InvalidStatementError(f"{clause}: {', '.join(names)} must be the last columns, in this order")
    data = ", ".join(column for name, column in defined.items() if name not in names)
    return f"({data})", f" PARTITIONED BY ({', '.join(defined[name] for name in names)})" if names else ""
