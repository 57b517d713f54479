"""The plan of an import: the objects that it would copy, and problems to solve before it. Only reads."""

from __future__ import annotations

import importlib.util
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from metastore.domain.names import DatabaseName, TableName
from metastore.importing.batches import odd_names
from metastore.importing.digests import Digests
from metastore.importing.sources.broken import NOT_READ, UNKNOWN_PRINCIPAL
from metastore.importing.sources.objects import Selection, SourcePartition, Stage
from metastore.importing.sources.source import LogState, Source, Survey
from metastore.importing.target import existing_of
from metastore.storage.importing.imports import Finding
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots

_MOST: Final = 1_000  # findings of one kind
_SAMPLE: Final = 20_000  # partitions that are read to estimate the time


@dataclass(frozen=True)
class Plan:
    """The plan of an import. `roots`: the roots of locations, with the number of objects and the access to each.
    `seconds`: the estimated time. `digests`: of the databases, without the objects in them."""

    address: str
    version: str
    survey: Survey
    roots: Sequence[tuple[str, int, str]]
    log: str
    collisions: Sequence[DatabaseName]
    seconds: float
    digests: dict[str, str]


def make_plan(source: Source, work: UnitOfWork | None, roots: Roots, selection: Selection) -> Plan:
    """Returns the plan. `work`: the database of this server, if it exists already."""
    with source.snapshot():
        source.broken.are_skipped = True  # so that all of them are found
        survey = source.survey()
        findings = dict.fromkeys([*survey.findings, *source.oddities(), *rows_of_note(source)])
        survey = replace(survey, findings=list(findings))
        databases = [one for batch in source.read(Stage.DATABASES, "", selection) for one in batch.objects]
        log, rate = source.log(), _rate(source, selection)
    reached = [(root.location, root.objects, access(root.location, roots)) for root in survey.roots]
    names = {DatabaseName(one.catalogName, one.name) for one in databases}
    digests = Digests()
    digests.add(Stage.DATABASES.value, digests.of(databases))
    objects = survey.counts.get("partitions", 0) + 10 * survey.counts.get("tables", 0)
    return Plan(
        source.address,
        source.version,
        survey,
        reached,
        describe_log(log),
        collisions(work, names) if work else [],
        objects / rate,
        digests.texts(),
    )


def rows_of_note(source: Source) -> list[Finding]:
    """Returns the objects that are broken or of an unknown principal, and partitions whose names contradict their
    values: at most a thousand of each kind. Reads everything, as an import does.
    """
    keys: dict[TableName, list[str]] = {}
    found = source.broken.taken()
    for stage in source.stages:
        for batch in source.read(stage, "", Selection()):
            found += [one for one in batch.findings if one.kind in (*NOT_READ, UNKNOWN_PRINCIPAL)]
            if stage is Stage.TABLES:
                keys |= {
                    TableName(one.catName, one.dbName, one.tableName): [key.name for key in one.partitionKeys]
                    for one in batch.objects
                }
            if stage is Stage.PARTITIONS:
                by_table = groupby(sorted(batch.objects, key=_table_of), key=_table_of)
                found += [odd for name, some in by_table for odd in odd_names(keys.get(name, []), list(some))]
    numbers: Counter[str] = Counter()
    kept = []
    for one in found:
        numbers[one.kind] += 1
        if numbers[one.kind] <= _MOST:
            kept.append(one)
    more = {kind: number - _MOST for kind, number in numbers.items() if number > _MOST}
    return kept + [Finding(kind, f"{number} more", "") for kind, number in more.items()]


def _table_of(one: SourcePartition) -> TableName:
    return one.table


def access(location: str, roots: Roots) -> str:
    """Returns how this server reaches a root of locations after the switch. The import itself accesses no file."""
    if not paths.absolute([f"{location.rstrip('/')}/x"]):
        return "only registered: it is not an absolute location"
    scheme = paths.SERVED.get(paths.canonical_scheme(location.partition(":")[0].lower() if ":" in location else "file"))
    if scheme is None:
        return "only registered: this server has no library for the scheme"
    if scheme.module and importlib.util.find_spec(scheme.module) is None:
        return f"only registered; managed tables need: pip install 'metastore[{scheme.extra}]'"
    if location in roots.all or roots.within([f"{location.rstrip('/')}/x"]):
        return "below a root of this server"
    if location.endswith("://"):  # a scheme without a host, such as file://: the setting must not name the whole disk
        return "only registered; managed tables need METASTORE_ALLOWED_LOCATIONS with their directory"
    return f"only registered; managed tables need METASTORE_ALLOWED_LOCATIONS={location}"


def describe_log(log: LogState | None) -> str:
    """Returns whether changes during the import can be followed."""
    if log is None:
        return (
            "off, unreadable, or still empty: changes during the import are not noticed. "
            "Set hive.metastore.transactional.event.listeners=org.apache.hive.hcatalog.listener.DbNotificationListener"
        )
    if log.first is None:
        return f"on, at event {log.last}, and empty"
    since = f"{datetime.fromtimestamp(log.first_time, UTC):%Y-%m-%d %H:%M} UTC" if log.first_time else "an unknown time"
    return f"on, at event {log.last}, back to event {log.first} of {since}"


def collisions(work: UnitOfWork, names: set[DatabaseName]) -> list[DatabaseName]:
    """Returns the databases that exist on this server and do not come from an import."""
    return sorted(existing_of(work, names) - work.imports.databases().keys(), key=str)


def _rate(source: Source, selection: Selection) -> float:
    """Returns objects per second, from reading some partitions. Storing them takes about as long again."""
    begun, read = time.monotonic(), 0
    for batch in source.read(Stage.PARTITIONS, "", selection):
        read += len(batch.objects)
        if read >= _SAMPLE:
            break
    seconds = time.monotonic() - begun
    return read / max(seconds, 0.001) / 2 if read > 1_000 else 10_000.0
