"""The thread that reads the log for all streams: who takes nothing, or may not read, delays nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metastore.domain.event_stream import LoggedEvent, Wanted
from metastore.errors import PermissionDeniedError, QuotaExceededError
from metastore.web.console.authentication import Visitor
from metastore.web.event_reader import EventReader, Stream


class Log:
    """A log of `last` events. Reads by users in `failing` raise their error."""

    def __init__(self, last: int) -> None:
        self.last, self.reads, self.user = last, list[tuple[str | None, int]](), ""
        self.failing: dict[str, Exception] = {}
        self.reader = EventReader(lambda: self.last, self._read, self._as_visitor, "HIDDEN")

    def _as_visitor(self, visitor: Visitor, function: Callable[[], Any]) -> Any:
        self.user = visitor.user or ""
        return function()

    def _read(self, after: int, most: int) -> list[LoggedEvent]:
        self.reads.append((self.user, after))
        if self.user in self.failing:
            raise self.failing[self.user]
        numbers = range(after + 1, min(after + most, self.last) + 1)
        return [LoggedEvent(number, 0, "DROP_TABLE", "hive", "d", "t", "{}") for number in numbers]

    def stream(self, user: str, after: int | None) -> tuple[Stream, list[bytes]]:
        texts: list[bytes] = []
        stream = Stream(Visitor("peer", user), Wanted(), after, texts.append, details=False)
        self.reader.add(stream)
        return stream, texts


def ids(texts: list[bytes]) -> list[int]:
    lines = b"".join(texts).splitlines()
    return [int(line.removeprefix(b"id: ")) for line in lines if line.startswith(b"id: ")]


def test_a_stream_gets_a_batch_at_a_time() -> None:
    log = Log(250)
    stream, texts = log.stream("ann", 0)
    assert log.reader.fill()
    assert not log.reader.fill()  # the connection has not sent the first batch
    assert ids(texts) == [*range(1, 101), 100]
    for _ in range(2):
        log.reader.sent(stream)
        log.reader.fill()
    assert ids(texts)[-51:] == [*range(201, 251), 250]
    log.reader.sent(stream)
    log.reader.fill()
    assert log.reads == [("ann", 0), ("ann", 100), ("ann", 200)]  # nothing is read at the end of the log


def test_streams_of_one_user_at_one_place_share_a_read() -> None:
    log = Log(5)
    both = [log.stream("ann", 2)[1] for _ in range(2)]
    other = log.stream("bob", 2)[1]
    log.reader.fill()
    assert sorted(log.reads) == [("ann", 2), ("bob", 2)]
    assert [ids(each) for each in (*both, other)] == [[3, 4, 5, 5]] * 3


def test_who_may_not_read_delays_nobody() -> None:
    log = Log(1)
    log.failing = {"poor": QuotaExceededError("too many calls"), "eve": PermissionDeniedError("no")}
    poor, eve, ann = (log.stream(user, 0)[1] for user in ("poor", "eve", "ann"))
    log.reader.fill()
    assert (ids(ann), poor) == ([1, 1], [])
    assert b'"reason": "no"' in eve[0]
    assert eve[1:] == [b""]
    del log.failing["poor"]
    log.reader.fill()
    assert (ids(poor), len(eve)) == ([1, 1], 2)


def test_a_stream_without_a_place_begins_at_the_end() -> None:
    log = Log(7)
    stream, texts = log.stream("ann", None)
    log.reader.fill()
    assert (texts, log.reads) == ([b"id: 7\n\n"], [])
    log.last = 8
    log.reader.sent(stream)
    log.reader.fill()
    assert ids(texts) == [7, 8, 8]


def test_a_rewound_log_is_told_although_a_read_would_fail() -> None:
    log = Log(5)
    log.failing = {"poor": QuotaExceededError("too many calls")}
    stream, texts = log.stream("poor", 9)
    log.reader.fill()
    assert b'"type": "REWOUND"' in texts[0]
    log.reader.sent(stream)
    log.reader.fill()
    assert (len(texts), log.reads) == (1, [])
