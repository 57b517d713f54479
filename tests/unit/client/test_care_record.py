"""What table care tells the metastore about its work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from metastore.client.care_record import recorded
from metastore.client.errors import MetastoreRefusedError, PermissionDeniedError
from metastore.client.lease import LeaseHeldError
from metastore.domain.care_record import DONE, FAILED, REFUSED, SKIPPED, outcome_of


class One(NamedTuple):
    partition: str
    outcome: str
    files: int | None = 2
    bytes: int | None = 10


class Methods:
    def __init__(self, error: Exception | None = None) -> None:
        self.told: list[Any] = []
        self._error = error

    def record_care(self, record: Any) -> None:
        self.told.append(record)
        if self._error:
            raise self._error


def told(methods: Methods, *outcomes: One, error: Exception | None = None) -> list[One]:
    def each() -> Iterator[One]:
        yield from outcomes
        if error:
            raise error

    return list(recorded(methods, "shop", "orders", "compaction", each()))


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("compacted", DONE),
        ("dropped: its directory is gone", DONE),
        ("skipped: another writer changed it", SKIPPED),
        ("kept: partitions of dependent tables rest on it", SKIPPED),
        ("ignored: 1 directory is no partition: x", SKIPPED),
        ("failed: the disk is full", FAILED),
        ("refused: it was dropped", REFUSED),
    ],
)
def test_texts_are_outcomes(text: str, outcome: str) -> None:
    assert outcome_of(text) == outcome


def test_numbers_and_the_first_reason_are_recorded() -> None:
    methods = Methods()
    rows = [
        One("d=1", "compacted"),
        One("d=2", "compacted", None, None),
        One("d=3", "skipped: another writer changed it"),
        One("d=4", "failed: the disk is full"),
        One("d=5", "failed: something else"),
    ]
    assert told(methods, *rows) == rows
    (record,) = methods.told
    assert (record.dbName, record.tableName, record.kind) == ("shop", "orders", "compaction")
    assert (record.done, record.skipped, record.refused, record.failed) == (2, 1, 0, 2)
    assert (record.files, record.bytes, record.reason) == (2, 10, "d=4 failed: the disk is full")


@pytest.mark.parametrize(
    ("error", "numbers"),
    [(LeaseHeldError("etl on h holds its lease"), (1, 1, 0)), (MetastoreRefusedError("it is protected"), (1, 0, 1))],
)
def test_an_error_is_recorded_and_raised(error: Exception, numbers: tuple[int, int, int]) -> None:
    methods = Methods()
    with pytest.raises(type(error)):
        told(methods, One("d=1", "compacted"), error=error)
    (record,) = methods.told
    assert (record.done, record.skipped, record.refused) == numbers
    assert record.reason == str(error)


def test_nothing_done_is_not_recorded() -> None:
    methods = Methods()
    assert told(methods) == []
    assert methods.told == []


def test_a_record_that_is_denied_changes_nothing() -> None:
    methods = Methods(PermissionDeniedError("no right to write"))
    assert told(methods, One("d=1", "compacted")) == [One("d=1", "compacted")]
    assert len(methods.told) == 1
