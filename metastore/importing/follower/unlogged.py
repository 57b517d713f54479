"""Objects that the source's log does not describe completely.

These are functions, constraints, indexes, roles, privileges, tokens and transactions.

A sweep reads them all and replaces the objects of the followed databases. Of roles, their members and privileges on the
whole metastore, it removes those that the import has added: the others belong to this server.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from metastore.domain.names import DatabaseName
from metastore.importing.access import settle_roles, withdraw
from metastore.importing.attached_objects import BEYOND
from metastore.importing.batches import rewritten
from metastore.importing.rejections import store_accepted
from metastore.importing.sources.broken import NOT_READ, UNKNOWN_PRINCIPAL, BrokenRows
from metastore.importing.sources.objects import BESIDE_TABLES, Selection, Stage
from metastore.importing.sources.source import Source
from metastore.importing.target import Target
from metastore.storage.importing.imports import Finding
from metastore.storage.unit_of_work import UnitOfWork

_REPORTED: Final = (*NOT_READ, UNKNOWN_PRINCIPAL)
_STAGES: Final = (*BESIDE_TABLES, Stage.MASTER_KEYS, Stage.TOKENS, Stage.TRANSACTIONS)


@dataclass
class Sweep:
    """The objects that a sweep has read, by kind.

    Attributes:
        digests: of their texts, to skip unchanged kinds.
        findings: rows that are left out.
        partial: kinds of which the source may have more objects than it has returned, so that none is deleted.
    """

    objects: dict[Stage, list[Any]] = field(default_factory=dict)
    digests: dict[Stage, int] = field(default_factory=dict)
    partial: set[Stage] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)


def read_unlogged(source: Source, names: Collection[DatabaseName]) -> Sweep:
    """Reads all objects that a sweep replaces."""
    selection, sweep = Selection(frozenset(names)), Sweep()
    for stage in _STAGES:
        if stage in source.stages:
            found = []
            for batch in source.read(stage, "", selection):
                found += batch.objects
                sweep.findings += [one for one in batch.findings if one.kind in _REPORTED]
                if batch.is_partial:
                    sweep.partial.add(stage)
            sweep.objects[stage] = found
            sweep.digests[stage] = hash(tuple(sorted(map(repr, found))))
    return sweep


def store_unlogged(
    work: UnitOfWork,
    target: Target,
    names: Collection[DatabaseName],
    sweep: Sweep,
    stored: Mapping[Stage, int],
    broken: BrokenRows,
) -> None:
    """Replaces the objects that a sweep has read, except kinds with the digests of `stored`.

    `broken`: of the source, for objects that this server rejects.
    """
    target.load(work, names)
    ids = work.bulk_load.database_ids(names).values()
    found = list(sweep.findings)
    for stage, objects in sweep.objects.items():
        if stored.get(stage) != sweep.digests[stage]:
            if stage not in sweep.partial:
                _clear(work, target, stage, names, ids, objects)
            store_accepted(work, target, stage, rewritten(target, objects), broken)
            found += [one for one in target.findings if one.kind == BEYOND]
    if Stage.ROLES in sweep.objects.keys() - sweep.partial:
        settle_roles(work, target, sweep.objects[Stage.ROLES])
    work.imports.report_new(target.import_id, [*found, *broken.taken()])


def _clear(
    work: UnitOfWork,
    target: Target,
    stage: Stage,
    names: Collection[DatabaseName],
    ids: Collection[int],
    objects: list[Any],
) -> None:
    """Deletes the existing objects of a kind, before the objects of the source replace them."""
    clears: Mapping[Stage, Callable[[], None]] = {
        Stage.FUNCTIONS: lambda: work.bulk_changes.delete_functions(ids),
        Stage.CONSTRAINTS: lambda: work.bulk_changes.delete_constraints(ids),
        Stage.INDEXES: lambda: work.bulk_changes.delete_indexes(ids),
        Stage.PRIVILEGES: lambda: work.bulk_changes.delete_privileges(ids),
        Stage.TRANSACTIONS: lambda: work.bulk_changes.delete_imported_transactions(names),
    }
    if stage in clears:
        clears[stage]()
    if stage in (Stage.ROLE_GRANTS, Stage.PRIVILEGES):
        work.change_privileges()
        withdraw(work, target, stage, objects)
