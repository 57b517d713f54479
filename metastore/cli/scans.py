"""`metastore scans` and `metastore advise`: what queries filter by and read, and which layout would help them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from metastore.cli.client import connected
from metastore.cli.names import split_table
from metastore.cli.printing import Cell, print_table, print_text
from metastore.client.scans import recorded_workload, shape_of_record
from metastore.domain.care_rules import unmanaged
from metastore.domain.layout_advice import SKEW, Layout, Prediction, Values, candidates, predicted, why_none
from metastore.domain.layout_statements import auto_statement, layout_statements
from metastore.domain.scan_shapes import shown
from metastore.domain.scan_workload import ColumnUse, Workload, columns_used
from metastore.domain.skew_survey import SURVEY, decoded
from metastore.domain.table_definitions import definition_of, layout_of
from thrift_idl.gen.metastore.ttypes import ScanRecord, ScanRecordsRequest

_SCANS: Final = (
    *("day", "last", "user", "filters", "scans", "partitions", "of partitions"),
    *("directories", "of directories", "files", "of files", "bytes", "of bytes"),
)
_OTHER: Final = {
    "opened": "(definition read by a client that plans scans itself)",
    "other": "(further filters, counted together)",
}
_USES: Final = ("column", "layout", "filters", "scans", "share of scans", "share of bytes", "equalities")


def show_scans(uri: str, name: str, days: int, limit: int) -> None:
    """Prints the record of a table's scans, the newest day first. Figures are averages of a scan."""
    database, table = split_table(name)
    with connected(uri) as client:
        reply = client.get_scans(ScanRecordsRequest(database, table, days=days, limit=limit))
    print_table(f"Scans of {name}, averages", _SCANS, [_scan(record) for record in reply.records])
    if not reply.records:
        click.echo(_nothing(reply.since, name, days), err=True)


def _nothing(since: str | None, name: str, days: int) -> str:
    if since is None:
        return "Scans are not recorded: METASTORE_SCAN_RECORD_RETENTION is 0, or no server has begun to."
    return f"No scans of {name} in the last {days} days. Scans are recorded since {since}, and appear after a minute."


def _scan(record: ScanRecord) -> tuple[Cell, ...]:
    moment = f"{datetime.fromtimestamp(record.lastAt, UTC):%Y-%m-%dT%H:%M:%SZ}"
    filters = _OTHER.get(record.kind) or shown(shape_of_record(record)) or "(none)"
    head = (record.day, moment, record.user, filters, record.scans)
    if record.kind == "opened":
        return (*head, *[None] * (len(_SCANS) - len(head)))
    sized = record.sized or None
    return (
        *head,
        *(_average(total, record.scans) for total in (record.keptPartitions, record.partitions)),
        *(_average(total, record.scans) for total in (record.keptDirectories, record.directories)),
        *(_average(total, sized) for total in (record.keptFiles, record.files, record.keptBytes, record.bytes)),
    )


def _average(total: int | None, scans: int | None) -> int | None:
    return None if total is None or not scans else round(total / scans)


def advise(uri: str, name: str, days: int) -> None:
    """Prints by which columns the queries of a table filter, and which statement would help them. Needs no Spark."""
    database, table_name = split_table(name)
    with connected(uri) as client:
        queries, since = recorded_workload(client, database, table_name, days)
        table = client.get_table(database, table_name)
    layout = layout_of(table)
    uses = columns_used(queries, layout.roles)
    full = f"{table.dbName}.{table.tableName}"
    print_table(f"Columns by which queries of {full} filter", _USES, [_use(use) for use in uses], name="columns")
    if reason := unmanaged(table.parameters or {}):
        print_text(f"no advice: the format lays out its own files ({reason})", name="advice")
        return
    chosen = candidates(uses, 1)
    if not chosen:
        print_text(why_none(queries, uses, since), name="advice")
        return
    text, statements = _advice(table, queries, chosen[0])
    print_text(f"{text}. {_measure(full)}", name="advice")
    for statement in statements[:1]:
        print_text(statement, name="statement")


def _advice(table: Any, queries: Workload, use: ColumnUse) -> tuple[str, Sequence[str]]:
    """Returns the advice for a column, and statements; with an estimate if a survey has counted its values."""
    declared = definition_of(table)
    text = f"{use.equal:.0%} of the bytes are read by queries for single values of {use.column}"
    values = _surveyed(table.parameters or {}, use.column)
    if values is None or layout_of(table).skewed or layout_of(table).bucketed:
        return text, list(filter(None, [auto_statement(declared, use.column)]))
    chosen = Layout(SKEW, use.column, directories=frozenset(value for value, _ in values.heavy))
    estimate: Prediction = predicted(queries, (), chosen, {use.column: values})
    saved = f"directories for {len(values.heavy)} values that a survey found would save {estimate.saving:.0%}"
    return f"{text}; {saved}", layout_statements(declared, chosen, [value for value, _ in values.heavy])


def _surveyed(parameters: dict[str, str], column: str) -> Values | None:
    """Returns the heavy values of a column that `metastore skew suggest --record` has counted."""
    survey = decoded(parameters.get(SURVEY, ""))
    found = [each for each in (survey.found if survey else ()) if [name.lower() for name in each.columns] == [column]]
    if not found or not found[0].values:
        return None
    heavy = tuple((value[0], share) for value, share in found[0].values)
    return Values(heavy, len(heavy) + 1)


def _measure(name: str) -> str:
    return f"ADVISE {name} in a session of spark_client measures what layouts would save"


def _use(use: ColumnUse) -> tuple[Cell, ...]:
    shares = (f"{share:.0%}" for share in (use.share, use.weight, use.equal))
    return (use.column, use.role, ", ".join(use.operators), use.scans, *shares)
