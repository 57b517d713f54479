"""`metastore skew suggest`: runs the Spark client's `find_skew` in a process of its own and prints its result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import click

from metastore.cli.client import connected
from metastore.cli.names import split_table
from metastore.cli.printing import Cell, is_json, print_table, print_text
from metastore.cli.spark import run_client
from metastore.client.convert import scan_request
from metastore.domain.expression import FALSE
from metastore.domain.skew_survey import SURVEY, HeavyColumns, Survey, encoded
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext

_TOO_SMALL: Final = (
    "Each value has less than 1 MiB in an average partition, so that directories would only make small files."
)
_COMMAND: Final = "metastore skew suggest"


def suggest(
    uri: str, name: str, columns: str | None, *, share: float, limit: int | None, master: str, record: bool = False
) -> None:
    """Prints the heavy values and the statement that declares them. `record`: stores them with the table.

    `columns`: columns to analyze together, separated by commas; None analyzes each column on its own. `share`: minimum
    share of the rows. `limit`: maximum number of values. `master`: Spark's master.
    """
    options = {"uri": uri, "columns": columns, "share": share, "limit": limit, "master": master}
    arguments = [f"--{option}={value}" for option, value in options.items() if value is not None]
    suggestions = run_client(_COMMAND, "spark_client.commands.suggest_skew", name, *arguments)["suggestions"]
    if columns is None:
        print_table(
            f"Columns of {name}, by the rows that skew directories let queries skip",
            ("column", "heavy values", "heaviest", "share of other rows", "skipped on average"),
            [_column(suggestion) for suggestion in suggestions],
            name="columns",
        )
    if record:
        record_survey(uri, name, share, suggestions)
    best = suggestions[0] if suggestions else {"values": []}
    if not best["values"]:
        click.echo(f"No value has {share:.2%} or more of the rows of {name}.", err=is_json())
        return
    print_table(
        f"Heavy values of {name}",
        (*best["columns"], "rows", "share", "skipped by a query for it", "saved bytes"),
        [_value(value) for value in best["values"]],
        name="values",
    )
    if best["clause"]:
        print_text(f"ALTER TABLE {name} {best['clause']};", name="statement")
    else:
        click.echo(f"{name}: no directory is suggested. {_TOO_SMALL}", err=True)


def record_survey(uri: str, name: str, share: float, suggestions: Sequence[dict[str, Any]]) -> None:
    """Stores heavy values that deserve a directory in the table's parameters. Fails if another client changes the table
    meanwhile.

    Raises NotFoundError, PermissionDeniedError.
    """
    rows = max((suggestion["rows"] for suggestion in suggestions), default=0)
    found = [
        HeavyColumns(
            tuple(suggestion["columns"]),
            tuple((tuple(value["values"]), round(value["share"], 6)) for value in deserving),
        )
        for suggestion in suggestions
        if (deserving := [value for value in suggestion["values"] if value["deserves_directory"]])
    ]
    database, table_name = split_table(name)
    with connected(uri) as client:
        version = client.plan_scan(scan_request(database, table_name, FALSE)).tableVersion
        table = client.get_table(database, table_name)
        table.parameters[SURVEY] = encoded(Survey(int(time.time()), rows, share, tuple(found)))
        # Without the version, a table that is overwritten meanwhile would get its old location back.
        context = EnvironmentContext({"expected_version": str(version), "DO_NOT_UPDATE_STATS": "true"})
        client.alter_table_with_environment_context(table.dbName, table.tableName, table, context)


def _column(suggestion: dict[str, Any]) -> Sequence[str]:
    heaviest = ", ".join(suggestion["values"][0]["values"]) if suggestion["values"] else ""
    return (
        ", ".join(suggestion["columns"]),
        f"{len(suggestion['values'])}",
        heaviest,
        f"{suggestion['rest']:.2%}",
        f"{suggestion['pruned']:.2%}",
    )


def _value(value: dict[str, Any]) -> Sequence[Cell]:
    saved = value.get("saved_bytes")
    return (*value["values"], value["rows"], f"{value['share']:.2%}", f"{value['pruned']:.2%}", saved)
