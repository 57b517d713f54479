"""A statement in another engine's words, in Spark's; and what such engines' CREATE TABLE have in common. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.tokens import tokens


@dataclass(frozen=True, slots=True)
class Translation:
    """`text` is the statement in Spark's words."""

    text: str


def columns_and_keys(columns: Sequence[str], keys: Sequence[str], clause: str) -> tuple[str, str]:
    """Returns the data columns in brackets, and PARTITIONED BY, of all columns as they are defined.

    Raises InvalidStatementError, with the name of the clause, where `keys` are not the last columns, in their order.
    """
    defined = {next(tokens(column)).name: column for column in columns}
    names = [key.strip("`").lower() for key in keys]
    if missing := [name for name in names if name not in defined]:
        raise InvalidStatementError(f"{clause}: {missing[0]} is not among the columns")
    if names and list(defined)[-len(names) :] != names:
        raise InvalidStatementError(f"{clause}: {', '.join(names)} must be the last columns, in this order")
    data = ", ".join(column for name, column in defined.items() if name not in names)
    return f"({data})", f" PARTITIONED BY ({', '.join(defined[name] for name in names)})" if names else ""
