"""`metastore skew suggest`: the Spark client's find_skew, in a process of its own, as tables for people."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from metastore.cli.printing import print_table
from metastore.cli.spark import require_java, require_packages
from metastore.errors import MetastoreError, UnavailableError

_COMMAND: Final = "metastore skew suggest"


def suggest(uri: str, name: str, columns: str | None, *, share: float, limit: int | None, master: str) -> None:
    """Prints the heavy values of `columns`, or of each column for itself, and the statement that declares them."""
    require_packages(_COMMAND, "spark", "pyspark")
    require_java(_COMMAND)
    options = {"uri": uri, "columns": columns, "share": share, "limit": limit, "master": master}
    found = _ask(name, [f"--{option}={value}" for option, value in options.items() if value is not None])
    if columns is None:
        print_table(
            f"Columns of {name}, by what directories of heavy values save",
            ("column", "heavy values", "heaviest", "rows of all others", "not read on average"),
            [_column(each) for each in found],
        )
    best = found[0] if found else {"values": []}
    if not best["values"]:
        click.echo(f"no value has {share:.2%} of the rows of {name}")
        return
    print_table(
        f"Heavy values of {name}",
        (*best["columns"], "rows", "share", "a query for it does not read"),
        [_value(each) for each in best["values"]],
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


def _ask(name: str, options: Sequence[str]) -> list[dict[str, Any]]:
    """What the Spark client answers, as JSON. Raises MetastoreError with its text where it refuses."""
    command = [sys.executable, "-m", "spark_client.skew", name, *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        reply = json.loads(answer.stdout.strip().rpartition("\n")[2])
    except ValueError:
        reason = answer.stderr.strip().rpartition("\n")[2]
        raise UnavailableError(f"Spark ended with status {answer.returncode}: {reason}") from None
    if "error" in reply:
        raise MetastoreError(reply["error"])
    return list(reply["suggestions"])
