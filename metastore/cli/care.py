"""`metastore care plan` and `metastore care expire`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from metastore.cli.client import connected, connected_client
from metastore.cli.names import split_object
from metastore.cli.printing import Cell, is_json, is_terminal, print_table, printable
from metastore.client.care import HELD
from metastore.client.care import expire as expire_partitions
from metastore.client.errors import MetastoreRefusedError, NoSuchObjectError, PermissionDeniedError
from metastore.client.lease import LeaseHeldError
from metastore.domain.care_plan import RETENTION
from thrift_idl.gen.metastore.ttypes import CareAction, CarePlan, CarePlanRequest, CareTable

_ACTIONS = ("table", "action", "mode", "partitions", "files", "bytes", "files after", "bytes after", "rewritten bytes")
_TABLES = ("table", "partitions", "rows", "bytes", "files", "small files", "growth a day", "measured", "notes")


def show_plan(uri: str, name: str, limit: int) -> None:
    """Prints the plan of the catalog, of a database or of a table. `limit`: number of tables."""
    database, table = split_object(name) if name else ("", "")
    with connected(uri) as client:
        plan: CarePlan = client.get_care_plan(CarePlanRequest(database, table, limit=limit))
    rows = [(*_action(action), action.reason) for action in plan.actions]
    if is_json():
        rows = [(*row[:-1], action.gain, row[-1]) for row, action in zip(rows, plan.actions, strict=True)]
    header = (*_ACTIONS, *(["gain"] if is_json() else []), "reason")
    print_table("Actions, those that gain most for each byte rewritten first", header, rows, name="actions")
    print_table("Tables", _TABLES, [_table(one) for one in plan.tables], name="tables")
    if plan.leftOff:
        click.echo(
            f"{plan.leftOff:,} tables with less to do were not considered. Name a database or a table.", err=True
        )
    if is_terminal() and plan.tables:
        unread = "Scans are not recorded: tables that nobody reads are not in the plan."
        if plan.scansSince:
            unread = f"Scans are recorded since {plan.scansSince}: what was read before is not known."
        click.echo(unread, err=True)
    if is_terminal() and not plan.actions:
        click.echo("Nothing to do.", err=True)


def _action(action: CareAction) -> tuple[Cell, ...]:
    return (
        f"{action.dbName}.{action.tableName}",
        action.kind,
        action.mode,
        action.partitions or None,
        action.files,
        action.bytes,
        action.filesAfter,
        action.bytesAfter,
        action.rewrittenBytes,
    )


def _table(table: CareTable) -> tuple[Any, ...]:
    at = table.measuredAt
    return (
        f"{table.dbName}.{table.tableName}",
        table.partitions,
        table.rows,
        table.bytes,
        table.files,
        table.smallFiles,
        table.growth,
        None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "; ".join(table.notes),
    )


def expire(uri: str, name: str, *, dry_run: bool) -> int:
    """Drops the expired partitions of the catalog, of a database or of a table, and prints them.

    `dry_run`: drops nothing. Returns the exit status: 1 if a table was refused, which is printed with the reason.
    """
    rows: list[tuple[Cell, ...]] = []
    refused: list[str] = []
    with connected_client(uri) as client:
        for database, table in expiring(client.methods, name, named=True):
            full_name = f"{database}.{table}"
            try:
                rows += [
                    (full_name, *one) for one in expire_partitions(client.methods, database, table, dry_run=dry_run)
                ]
            except LeaseHeldError as error:
                click.echo(printable(f"skipped: {error}"), err=True)
            except (MetastoreRefusedError, NoSuchObjectError, PermissionDeniedError) as error:
                refused.append(str(error))
    print_table("Expired partitions", ("table", "partition", "files", "bytes", "outcome"), rows)
    dropped = [row for row in rows if row[-1] != HELD]
    size = sum(int(row[3] or 0) for row in dropped)
    click.echo(f"{len(dropped):,} partitions{' would be' if dry_run else ''} dropped, {size:,} bytes", err=True)
    for text in refused:
        click.echo(printable(f"metastore: {text}"), err=True)
    return 1 if refused else 0


def expiring(methods: Any, name: str, *, named: bool) -> list[tuple[str, str]]:
    """Returns the tables with expired partitions. `named`: a named table in any case, so that the reason is told."""
    database, table = split_object(name) if name else ("", "")
    if table and named:
        return [(database, table)]
    plan: CarePlan = methods.get_care_plan(CarePlanRequest(database, table))
    return [(action.dbName, action.tableName) for action in plan.actions if action.kind == RETENTION]
