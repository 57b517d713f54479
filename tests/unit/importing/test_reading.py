"""Reading a notification log whose IDs repeat, as Hive before 3.0 writes it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.importing.follower import log_reader
from metastore.importing.follower.log_reader import EVENTS, LogReader, before_gap
from metastore.importing.sources import thrift_source
from metastore.importing.sources.source import LogState
from metastore.importing.sources.thrift_source import ThriftSource
from thrift_idl.gen.hive_metastore.ttypes import (
    CurrentNotificationEventId,
    NotificationEvent,
    NotificationEventResponse,
)


class OldHive:
    """A log that is written as by Hive 2.3: a transaction reads the sequence, and sets it when it commits."""

    repeats_event_ids = True

    def __init__(self) -> None:
        self.next = 1
        self.written: list[NotificationEvent] = []
        self._open: dict[int, int] = {}

    def begin(self, transaction: int) -> None:
        self._open[transaction] = self.next

    def commit(self, transaction: int, text: str) -> None:
        number = self._open.pop(transaction)
        self.next = number + 1
        self.written.append(NotificationEvent(number, 0, "CREATE_TABLE", "db", "t", text))

    def log(self) -> LogState:
        last = max([self.next - 1, *(one.eventId for one in self.written)])
        return LogState(last, 1, 0, self.next - 1)

    def events(self, after: int, limit: int) -> list[NotificationEvent]:
        return sorted((one for one in self.written if one.eventId > after), key=lambda one: one.eventId)[:limit]


def follow(reader: LogReader, position: int, *, whole: bool) -> tuple[int, list[NotificationEvent]]:
    """Reads once, and records what was read."""
    events = reader.read(position, whole=whole)
    assert before_gap(position, events) == events
    reader.applied(events)
    return max([position, *(one.eventId for one in events)]), events


@given(st.lists(st.tuples(st.sampled_from(["transaction", "read", "read again"]), st.integers(0, 4)), max_size=60))
def test_each_event_is_returned_once(steps: list[tuple[str, int]]) -> None:
    hive, returned, position = OldHive(), list[NotificationEvent](), 0
    reader = LogReader(hive)  # type: ignore[arg-type] # it has what the reader needs
    running = set[int]()
    for step, transaction in steps:
        if step != "transaction":
            position, events = follow(reader, position, whole=step == "read again")
            returned += events
        elif transaction in running:
            running.remove(transaction)
            hive.commit(transaction, "equal" if transaction == 0 else str(len(hive.written)))
        else:
            running.add(transaction)
            hive.begin(transaction)
    position, events = follow(reader, position, whole=True)
    assert sorted(map(repr, [*returned, *events])) == sorted(map(repr, hive.written))
    assert follow(reader, position, whole=True)[1] == []


def test_events_with_one_id_are_not_separated_by_a_reading() -> None:
    hive = OldHive()
    for transaction in range(EVENTS - 1):
        hive.begin(transaction)
        hive.commit(transaction, "")
    for transaction in (1, 2, 3):
        hive.begin(transaction)
    for transaction in (1, 2, 3):
        hive.commit(transaction, str(transaction))
    reader = LogReader(hive)  # type: ignore[arg-type] # it has what the reader needs
    position, first = follow(reader, 0, whole=False)
    assert len(first) == EVENTS
    _, rest = follow(reader, position, whole=True)
    assert len(rest) == len(hive.written) - EVENTS


def test_a_late_event_is_returned_although_the_last_reading_was_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    hive, seconds = OldHive(), [0.0]
    monkeypatch.setattr(log_reader, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    hive.next = 2001
    reader = LogReader(hive)  # type: ignore[arg-type] # it has what the reader needs
    position, _ = follow(reader, 2000, whole=True)
    for transaction in (0, 1, 2, 3):
        hive.begin(transaction)
        if transaction:
            hive.commit(transaction, str(transaction))
    for seconds[0] in (1.0, 2.0):
        position, _ = follow(reader, position, whole=True)
    seconds[0] = 50.0
    hive.commit(0, "late")
    hive.begin(4)
    hive.commit(4, "4")
    seconds[0] = 90.0
    assert sorted(str(one.message) for one in follow(reader, position, whole=True)[1]) == ["4", "late"]


@pytest.mark.parametrize(
    ("position", "numbers", "kept"),
    [(5, [6, 7], 2), (5, [3, 6, 6, 7], 4), (5, [7], 0), (5, [6, 8], 1), (5, [3, 7], 1), (5, [], 0)],
)
def test_events_before_a_gap(position: int, numbers: list[int], kept: int) -> None:
    events: list[Any] = [NotificationEvent(number) for number in numbers]
    assert before_gap(position, events) == events[:kept]


def test_a_source_that_repeats_an_event_forever_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "get_current_notificationEventId": CurrentNotificationEventId(5),
        "get_next_notification": NotificationEventResponse([NotificationEvent(3, 0, "CREATE_TABLE", message="")]),
    }
    calls = SimpleNamespace(
        optional=lambda name, *_: answers.get(name), listed=lambda _, name, *__, items, key: items(answers[name])
    )
    monkeypatch.setattr(thrift_source, "ThriftCalls", lambda _: calls)
    source = ThriftSource("thrift://host")
    assert source.repeats_event_ids
    assert source.log() == LogState(5, 3, 0, 5)
    assert len(LogReader(source).read(0)) == 1
