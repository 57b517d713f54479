"""`metastore skew suggest`: the Spark client's find_skew, in a process of its own, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from metastore.cli.printing import print_table
from metastore.cli.spark import ask_client

_COMMAND: Final = "metastore skew suggest"


def suggest(uri: str, name: str, columns: str | None, *, share: float, limit: int | None, master: str) -> None:
    """Prints the heavy values of `columns`, or of each column for itself, and the statement that declares them."""
    options = {"uri": uri, "columns": columns, "share": share, "limit": limit, "master": master}
    arguments = [f"--{option}={value}" for option, value in options.items() if value is not None]
    found = ask_client(_COMMAND, "spark_client.commands.suggest_skew", name, *arguments)["suggestions"]
    if columns is None:
        print_table(
            f"Columns of {name}, by what directories of heavy values save",
            ("column", "heavy values", "heaviest", "rows of all others", "not read on average"),
            [_column(suggestion) for suggestion in found],
        )
    best = found[0] if found else {"values": []}
    if not best["values"]:
        click.echo(f"no value has {share:.2%} of the rows of {name}")
        return
    print_table(
        f"Heavy values of {name}",
        (*best["columns"], "rows", "share", "a query for it does not read"),
        [_value(value) for value in best["values"]],
    )
    click.echo(f"ALTER TABLE {name} {best['clause']};")


def _column(found: dict[str, Any]) -> Sequence[str]:
    heaviest = ", ".join(found["values"][0]["values"]) if found["values"] else ""
    return (
        ", ".join(found["columns"]),
        f"{len(found['values'])}",
        heaviest,
        f"{found['rest']:.2%}",
        f"{found['pruned']:.2%}",
    )


def _value(found: dict[str, Any]) -> Sequence[str]:
    return (*found["values"], f"{found['rows']}", f"{found['share']:.2%}", f"{found['pruned']:.2%}")
