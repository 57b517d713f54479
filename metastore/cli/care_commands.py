"""The commands of table care."""

from __future__ import annotations

import click

from metastore.cli.options import Group, formats, uri_option


@click.group(cls=Group)
def care() -> None:
    """Care for tables: small files, retention, statistics."""


@care.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=500,
    show_default=True,
    help="Number of tables to consider, those with the most to do first.",
)
@uri_option
@formats("actions", "tables")
def plan(name: str, limit: int, uri: str) -> None:
    """Show what would be done, and why.

    Lists expired partitions, small files, empty partitions, too many partitions and outdated statistics by the policies
    of each table, those first that gain most for each byte rewritten. Changes nothing. Needs no Spark.
    """
    from metastore.cli.care import show_plan

    show_plan(uri, name, limit)
