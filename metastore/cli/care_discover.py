"""`metastore care discover`: partitions of external tables for new directories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click

from metastore.cli.client import connected_client
from metastore.cli.names import split_object
from metastore.cli.printing import Cell, print_table, printable
from metastore.client import MetastoreClient
from metastore.client.discovery import ADDED, DROPPED, WOULD_BE_ADDED, WOULD_BE_DROPPED, Discovered
from metastore.client.discovery import discover as discover_partitions
from metastore.client.errors import ClientError
from metastore.client.lease import LeaseHeldError
from metastore.domain.care_plan import DISCOVERY
from metastore.errors import MetastoreError
from metastore.warehouse.listing import subdirectories
from thrift_idl.gen.metastore.ttypes import CarePlan, CarePlanRequest

_HEADER: Final = ("table", "partition", "location", "outcome")


def discover(uri: str, name: str, *, dry_run: bool) -> int:
    """Adds partitions to the tables of the catalog, of a database or to a table, and prints them.

    Returns the exit status: 1 if a table was refused or a partition failed.
    """
    rows: list[tuple[Cell, ...]] = []
    refused: list[str] = []
    with connected_client(uri) as client:
        for full_name, found in discovered(client, name, named=True, dry_run=dry_run):
            if isinstance(found, LeaseHeldError):
                click.echo(printable(f"skipped: {found}"), err=True)
            elif isinstance(found, Exception):
                refused.append(str(found))
            else:
                rows.append((full_name, *found))
    print_table("Partitions by their directories", _HEADER, rows)
    outcomes = [row[-1] for row in rows]
    added, dropped = (sum(map(outcomes.count, each)) for each in ((ADDED, WOULD_BE_ADDED), (DROPPED, WOULD_BE_DROPPED)))
    click.echo(f"{added:,} partitions{' would be' if dry_run else ''} added, {dropped:,} dropped", err=True)
    for text in refused:
        click.echo(printable(f"metastore: {text}"), err=True)
    return 1 if refused or any(str(outcome).startswith("failed") for outcome in outcomes) else 0


def discovered(
    client: MetastoreClient, name: str, *, named: bool, dry_run: bool
) -> Iterator[tuple[str, Discovered | Exception]]:
    """Discovers partitions of tables, and yields them with the names of the tables. An error says why a table is
    refused, or skipped.

    `named`: a named table in any case, so that the reason is told.
    """
    for database, table in _tables(client.methods, name, named=named):
        full_name = f"{database}.{table}"
        try:
            for one in discover_partitions(client.methods, database, table, subdirectories, dry_run=dry_run):
                yield full_name, one
        except (ClientError, MetastoreError) as error:
            yield full_name, error


def _tables(methods: Any, name: str, *, named: bool) -> list[tuple[str, str]]:
    database, table = split_object(name) if name else ("", "")
    if table and named:
        return [(database, table)]
    plan: CarePlan = methods.get_care_plan(CarePlanRequest(database, table, kind=DISCOVERY))
    return [(action.dbName, action.tableName) for action in plan.actions if action.kind == DISCOVERY]
