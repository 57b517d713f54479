"""Stores objects of a source, and leaves out those that this server cannot store if broken objects are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metastore.errors import AlreadyExistsError, InvalidObjectError
from metastore.importing.batches import prepare, store
from metastore.importing.identities import identity_of, identity_text
from metastore.importing.sources.broken import BrokenRows
from metastore.importing.sources.objects import SourcePartition, SourceStatistics, Stage
from metastore.importing.sources.replies import INVALID
from metastore.importing.target import Target
from metastore.storage.importing.imports import Finding
from metastore.storage.unit_of_work import UnitOfWork

REJECTED: Final = (InvalidObjectError, *INVALID)
"""Errors of an object that cannot be prepared or stored."""
_DUPLICATES: Final = (Stage.TABLES, Stage.PARTITIONS)
"""Stages in which two objects of a source may have one name here."""


def store_accepted(
    work: UnitOfWork, target: Target, stage: Stage, objects: Sequence[Any], broken: BrokenRows
) -> tuple[int, list[Any]]:
    """Stores rewritten objects of one stage. Returns their number, and the objects that were accepted.

    The others are reported as broken. Raises the error of `BrokenRows.add` for the first one unless they are skipped.
    Findings are in `target.findings`.
    """
    findings: list[Finding] = []
    stored, accepted = _stored(work, target, stage, objects, broken, findings)
    target.findings = findings
    return stored, accepted


def _stored(
    work: UnitOfWork,
    target: Target,
    stage: Stage,
    objects: Sequence[Any],
    broken: BrokenRows,
    findings: list[Finding],
) -> tuple[int, list[Any]]:
    tables, databases = dict(target.tables), dict(target.databases)
    rejected = (*REJECTED, AlreadyExistsError) if stage in _DUPLICATES else REJECTED
    try:
        with work.attempt():
            stored = store(work, target, stage, prepare(target, stage, objects))
        findings += target.findings
        return stored, list(objects)
    except rejected as error:
        target.tables, target.databases = tables, databases
        if len(objects) == 1:
            problem = str(error).partition("\n")[0] or type(error).__name__
            broken.add(_key(stage, objects[0]), f"this server cannot store it: {problem}")
            return 0, []
    half = len(objects) // 2
    parts = [_stored(work, target, stage, some, broken, findings) for some in (objects[:half], objects[half:])]
    return sum(number for number, _ in parts), [one for _, accepted in parts for one in accepted]


def _key(stage: Stage, one: Any) -> str:
    """Returns the kind and the name of an object."""
    if isinstance(one, SourcePartition):
        return f"{stage.value}: {one.table}/{one.name}"
    if isinstance(one, SourceStatistics):
        return f"{stage.value}: {one.table}" + (f"/{one.partition}" if one.partition else "")
    try:
        name = getattr(one, "eventId", None) or getattr(one, "name", None) or identity_text(identity_of(one))
    except INVALID:
        return stage.value
    return f"{stage.value}: {name}"
