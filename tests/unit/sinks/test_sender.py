"""The sender of a sink: positions, failures, dead letters and leases, with a log and a clock of the test's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Event
from typing import Any

from metastore.app.sink_sender import Sender
from metastore.domain.cloud_events import Message
from metastore.domain.event_stream import LoggedEvent
from metastore.domain.sinks import parse_sinks
from metastore.errors import ConflictError
from metastore.sinks.destination import Failure, Outcome
from metastore.storage.repositories.sinks import Look, Move, Place

SINK = parse_sinks("s=http://h/#secret_file=/s&attempts=3&type=ADD_PARTITION&timeout=2")[0]


class World:
    """The database, the destination and the clock, as the sender sees them."""

    batch = 4

    def __init__(self) -> None:
        self.now, self.last, self.epoch, self.first = 0.0, 0, "e", 1
        self.place: Place | None = Place(0, "e", 0, 0.0)
        self.moves: list[Move] = []
        self.sent: list[Message] = []
        self.buried: list[Message] = []
        self.letters: list[tuple[int, Message]] = []
        self.claims = 0
        self.failures: dict[int, Failure] = {}  # by event
        self.unwanted: set[int] = set()
        self.takes = 0.0  # seconds for which the destination sends
        self.lost = False  # another server has taken the sink
        self.sender = Sender(SINK, self, self.read, self, Event(), clock=lambda: self.now, chance=lambda: 0.0)  # type: ignore[arg-type]

    def catalog(self) -> str:
        return "c"

    def claim(self, _name: str, _lease: float) -> Place | None:
        self.claims += 1
        return None if self.lost else self.place

    def look(self, _name: str) -> Look | None:
        if self.lost or self.place is None:
            return None
        return Look(self.place.position, self.place.attempts, self.last, self.epoch, bool(self.letters))

    def move(self, _name: str, _lease: float, move: Move, buried: Message | None = None) -> None:
        if self.lost or self.place is None or self.place.position != move.before:
            raise ConflictError("moved")
        self.moves.append(move)
        self.place = None if move.is_gone else Place(move.position, move.epoch, move.attempts, move.delay or 0.0)
        self.buried += [buried] if buried else []

    def requested(self, _name: str) -> list[tuple[int, Message]]:
        return self.letters

    def answered(self, _name: str, taken: list[int], refused: tuple[int, str] | None) -> None:
        self.letters = [
            each for each in self.letters if each[0] not in taken and (not refused or each[0] != refused[0])
        ]

    def read(self, after: int, most: int) -> Sequence[LoggedEvent]:
        start = max(after + 1, self.first)
        numbers = range(start, min(start + most - 1, self.last) + 1)
        kinds = {number: "DROP_TABLE" if number in self.unwanted else "ADD_PARTITION" for number in numbers}
        return [LoggedEvent(number, 0, kind, "hive", "d", "t", "{}") for number, kind in kinds.items()]

    def send(self, messages: Sequence[Message], _until: float) -> Outcome:
        self.now += self.takes
        for count, message in enumerate(messages):
            if message.number in self.failures:
                return Outcome(count, self.failures[message.number])
            self.sent.append(message)
        return Outcome(len(messages))

    def close(self) -> None:
        pass

    def steps(self, count: int = 5) -> None:
        for _ in range(count):
            self.sender.step()

    def numbers(self) -> list[int]:
        return [message.number for message in self.sent]

    def types(self) -> list[str]:
        return [json.loads(message.body)["data"]["type"] for message in self.sent]


def test_events_are_sent_in_batches_and_the_position_follows() -> None:
    world = World()
    world.last = 10
    world.steps()
    assert world.numbers() == [*range(1, 11)]
    assert [(move.before, move.position, move.sent) for move in world.moves] == [(0, 4, 4), (4, 8, 4), (8, 10, 2)]


def test_unwanted_events_are_passed_and_stored_from_time_to_time() -> None:
    world = World()
    world.last, world.unwanted = 10, {*range(1, 11)}
    world.steps()
    assert (world.sent, world.moves) == ([], [])
    world.now = 6
    world.steps(1)
    assert [(move.position, move.sent) for move in world.moves] == [(10, 0)]


def test_unwanted_events_are_stored_although_more_follow() -> None:
    world = World()
    world.last, world.unwanted = 10, {*range(1, 11)}
    world.steps(2)
    world.now = 6
    world.steps(1)
    assert [move.position for move in world.moves] == [4]


def test_the_log_is_read_at_once_while_it_has_events_and_later_at_its_end() -> None:
    world = World()
    world.last = 6
    world.steps(1)
    assert world.sender.step() == 0
    assert world.sender.step() > 0
    assert world.numbers() == [*range(1, 7)]


def test_a_failed_event_is_retried_later_and_nothing_overtakes_it() -> None:
    world = World()
    world.last, world.failures = 4, {3: Failure("no")}
    world.steps()
    assert (world.numbers(), world.place) == ([1, 2], Place(2, "e", 1, 1.0))
    world.now = 1
    world.steps()
    assert (world.place, world.moves[-1].delay) == (Place(2, "e", 2, 2.0), 2)
    world.failures = {}
    world.now = 2.9
    world.steps()
    assert world.numbers() == [1, 2]
    world.now = 3
    world.steps()
    assert (world.numbers(), world.place) == ([1, 2, 3, 4], Place(4, "e", 0, 0.0))


def test_a_message_that_is_never_taken_becomes_a_dead_letter() -> None:
    world = World()
    world.last, world.failures = 3, {2: Failure("no")}
    for now in (0, 1, 3):
        world.now = now
        world.steps()
    assert ([each.number for each in world.buried], world.numbers()) == ([2], [1, 3])
    assert sum(move.failed for move in world.moves) == 3
    assert sum(move.sent for move in world.moves) == 2


def test_a_message_that_cannot_be_taken_is_a_dead_letter_at_once() -> None:
    world = World()
    world.last, world.failures = 3, {2: Failure("too large", is_final=True)}
    world.steps()
    assert ([each.number for each in world.buried], world.numbers()) == ([2], [1, 3])


def test_a_pause_that_the_sink_asks_for_is_kept_after_a_restart() -> None:
    world = World()
    world.last, world.failures = 1, {1: Failure("busy", retry_after=60)}
    world.steps()
    assert world.place == Place(0, "e", 1, 60)
    again = World()
    again.last, again.place = 1, world.place
    again.steps()
    assert again.sent == []
    again.now = 60
    again.steps()
    assert again.numbers() == [1]


def test_a_sink_that_is_gone_gets_nothing_more() -> None:
    world = World()
    world.last, world.failures = 3, {2: Failure("410", is_gone=True)}
    world.steps()
    assert (world.numbers(), world.moves[-1].is_gone, world.moves[-1].position) == ([1], True, 1)


def test_nothing_is_sent_after_the_lease_was_lost() -> None:
    world = World()
    world.last = 2
    world.steps()
    world.last, world.lost = 4, True
    world.steps()
    assert world.numbers() == [1, 2]
    world.lost = False
    world.steps()
    assert world.numbers() == [1, 2, 3, 4]


def test_the_lease_is_renewed_before_an_attempt_could_outlast_it() -> None:
    world = World()
    world.steps(2)
    claims = world.claims
    world.now = 15.5  # the lease is 19 s, an attempt takes 2 s
    world.steps(1)
    assert world.claims == claims
    world.now, world.last = 16.5, 1
    world.steps(1)
    assert (world.claims, world.sent) == (claims + 1, [])
    world.steps(1)
    assert world.numbers() == [1]


def test_no_event_is_sent_if_requested_dead_letters_have_used_the_lease() -> None:
    world = World()
    world.steps(2)
    claims = world.claims
    world.now, world.takes, world.last = 15.5, 1, 1
    world.letters = [(7, Message(7, "7", "k", b"{}"))]
    world.steps(1)
    assert (world.numbers(), world.claims) == ([7], claims)
    world.steps(2)
    assert (world.numbers(), world.claims) == ([7, 1], claims + 1)


def test_a_gap_in_the_log_is_told() -> None:
    world = World()
    world.steps(2)
    world.first, world.last = 6, 7
    world.steps()
    assert world.types() == ["MISSED", "ADD_PARTITION", "ADD_PARTITION"]
    assert (world.numbers(), world.sent[0].identity) == ([5, 6, 7], "1-5@e")


def test_numbers_that_a_restore_has_skipped_are_waited_for() -> None:
    world = World()
    world.steps(2)
    world.first, world.last = 1_000_001, 1_000_000
    assert world.sender.step() > 0
    world.last = 1_000_001
    world.steps()
    assert world.types() == ["MISSED", "ADD_PARTITION"]


def test_a_restored_database_is_told_once_and_its_position_counts() -> None:
    world = World()
    world.last = 9
    world.steps()
    assert world.place == Place(9, "e", 0, 0.0)
    world.place, world.last, world.epoch = Place(5, "e", 0, 0.0), 6, "e:17"
    world.steps()
    assert world.types()[9:] == ["REWOUND", "ADD_PARTITION"]
    assert [(each.number, each.identity) for each in world.sent[9:]] == [(5, "5@e:17"), (6, "6@1970-01-01T00:00:00Z")]
    assert world.place == Place(6, "e:17", 0, 0.0)


def test_the_first_incarnation_of_the_catalog_is_stored_before_an_event() -> None:
    world = World()
    world.place = Place(0, "", 0, 0.0)
    world.steps()
    assert world.place == Place(0, "e", 0, 0.0)
    world.epoch = "f"
    world.steps()
    assert world.types() == ["REWOUND"]


def test_a_restore_is_told_again_if_the_sink_did_not_take_it() -> None:
    world = World()
    world.epoch, world.failures = "f", {0: Failure("no")}
    world.steps()
    assert world.place == Place(0, "e", 1, 1.0)
    world.now, world.failures = 1, {}
    world.steps()
    assert (world.types(), world.place) == (["REWOUND"], Place(0, "f", 0, 0.0))


def test_requested_dead_letters_are_sent_even_in_a_pause() -> None:
    world = World()
    world.last, world.failures = 1, {1: Failure("busy", retry_after=60), 8: Failure("no")}
    world.steps()
    old: list[Any] = [(number, Message(number, f"{number}", "k", b'{"data": {"type": "x"}}')) for number in (7, 8, 9)]
    world.letters = old
    world.steps(3)
    assert (world.numbers(), world.letters) == ([7, 9], [])
