"""The commands about the record of scans."""

from __future__ import annotations

import click

from metastore.cli.options import formats, uri_option

_DAYS = click.option(
    "--days", type=click.IntRange(1, 36_500), default=30, show_default=True, help="Days of the record, up to today."
)


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@_DAYS
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Number of rows, the newest first."
)
@uri_option
@formats()
def scans(name: str, days: int, limit: int, uri: str) -> None:
    """Show what queries of a table filter by and read.

    Each row has the scans of one day and user with the same filters: the partitions, skew directories, files and bytes
    that a scan keeps on average, and those of the whole table. Values are not recorded by default.
    """
    from metastore.cli.scans import show_scans

    show_scans(uri, name, days, limit)


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@_DAYS
@uri_option
@formats("columns", "advice", "statement")
def advise(name: str, days: int, uri: str) -> None:
    """Advise a layout by the queries of a table.

    Lists the columns by which its recorded queries filter, and prints the statement to try. Needs no Spark. ADVISE in a
    session of spark_client also measures what layouts would save.
    """
    from metastore.cli.scans import advise as run_advise

    run_advise(uri, name, days)
