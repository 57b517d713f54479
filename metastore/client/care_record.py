"""Tells the metastore what table care did with a table, so that its audit trail and its metrics have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from metastore.client.errors import ClientError
from metastore.client.lease import LeaseHeldError
from metastore.domain.care_record import DONE, FAILED, REFUSED, SKIPPED, outcome_of
from thrift_idl.gen.metastore.ttypes import CareRecord

One = TypeVar("One")


def recorded(methods: Any, database: str, table: str, kind: str, each: Iterable[One]) -> Iterator[One]:
    """Yields the outcomes of an action on the partitions of a table, and records their numbers at the end.

    Args:
        methods: `MetastoreClient.methods`.
        database, table: the table.
        kind: the action: RETENTION, DISCOVERY, COMPACTION or STATISTICS.
        each: outcomes, with the attribute `outcome` and perhaps `files` and `bytes`.

    Raises what `each` raises, after it has recorded that the table was skipped, or refused. A record that the metastore
    does not take is left out: what was done stays done.
    """
    record = CareRecord(database, table, kind=kind, done=0, skipped=0, refused=0, failed=0, files=0, bytes=0)
    try:
        for one in each:
            _count(record, one)
            yield one
    except ClientError as error:
        word = SKIPPED if isinstance(error, LeaseHeldError) else REFUSED
        setattr(record, word, getattr(record, word) + 1)
        record.reason = record.reason or str(error)
        raise
    finally:
        if record.done or record.skipped or record.refused or record.failed:
            with suppress(ClientError):
                methods.record_care(record)


def _count(record: CareRecord, one: Any) -> None:
    word = outcome_of(one.outcome)
    setattr(record, word, getattr(record, word) + 1)
    if word == DONE:
        record.files += getattr(one, "files", None) or 0
        record.bytes += getattr(one, "bytes", None) or 0
    elif record.reason is None or (word == FAILED and record.failed == 1):
        partition = getattr(one, "partition", None) or getattr(one, "name", "")
        record.reason = f"{partition} {one.outcome}".strip()
