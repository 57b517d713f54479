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


@care.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--dry-run", is_flag=True, help="List the partitions, and drop none.")
@uri_option
@formats()
def expire(name: str, uri: str, *, dry_run: bool) -> int:
    """Drop partitions that have expired.

    Drops them by the retention of their tables. `metastore undrop` restores them. Partitions on which partitions of
    dependent tables rest are kept. Needs no Spark, and may be stopped at any time. The exit status is 1 if a table was
    refused.
    """
    from metastore.cli.care import expire as run_expire

    return run_expire(uri, name, dry_run=dry_run)


@care.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--dry-run", is_flag=True, help="List the partitions, and add and drop none.")
@uri_option
@formats()
def discover(name: str, uri: str, *, dry_run: bool) -> int:
    """Add partitions for new directories.

    Compares the directories of external tables whose discover.partitions is true with their partitions, and adds those
    that are missing. Partitions whose directories are gone are dropped if care.discovery.drop is on. This program lists
    the directories, with its own credentials. Needs no Spark. The exit status is 1 if something was refused or failed.
    """
    from metastore.cli.care_discover import discover as run_discover

    return run_discover(uri, name, dry_run=dry_run)


@care.command("run")
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--dry-run", is_flag=True, help="List what would be done, and change nothing. Needs no Spark.")
@click.option("--max-bytes", metavar="SIZE", help="Rewrite at most so many bytes: 50GiB.")
@click.option("--max-minutes", type=click.FloatRange(min=0), help="Begin no group of partitions later.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@uri_option
@formats()
def run_care(
    name: str, max_bytes: str | None, max_minutes: float | None, master: str, uri: str, *, dry_run: bool
) -> int:
    """Do what the policies say.

    Drops expired partitions, and adds partitions for new directories, as `metastore care expire` and `metastore care
    discover` do. Then merges the small files of cold partitions of tables whose policy care.compaction is on, with
    Spark, as OPTIMIZE does: those first that gain most for each byte rewritten. Then counts partitions without accurate
    statistics if care.statistics is on. May be stopped at any time, and run again. The exit status is 1 if something
    was refused or failed.
    """
    from metastore.cli.care_run import Limits, run

    return run(uri, name, Limits.parsed(max_bytes, max_minutes), master, dry_run=dry_run)
