"""Events sent to a webhook by servers: order, failures, kills, restores and the administrator's commands."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import psutil

from metastore.services.sinks import SinkAdministration
from tests.fixtures.database import execute
from tests.fixtures.receiver import SECRET, Answer, Delivery, Receiver, receiving
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table, partition, table
from tests.wire.sinks.conftest import Command
from thrift_idl.gen.hive_metastore.ttypes import Database

KEYS = [("ds", "string")]
OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
Start = Callable[..., Server]
Hook = Callable[..., str]


def add(server: Server, database: str, *days: str) -> None:
    with connected(server) as client:
        for day in days:
            client.add_partition(partition(database, "t", [day]))


def made(server: Server, receiver: Receiver) -> str:
    """Creates a table in a database, and waits until the receiver knows it: the sink has its place in the log."""
    with connected(server) as client:
        while not receiver.deliveries:
            database, _ = new_table(client, KEYS)
            with receiver.changed:
                receiver.changed.wait_for(lambda: receiver.deliveries, 1)
    receiver.wait(
        lambda: any(each.event.get("database") == database and "table" in each.event for each in receiver.taken)
    )
    return database


def day(delivery: Delivery) -> str:
    partitions: Any = delivery.event.get("partitions")
    return str(partitions[0]["ds"]) if partitions else ""


def days(receiver: Receiver) -> str:
    return "".join(map(day, receiver.taken))


def failing(status: int, wanted: str, **headers: str) -> Callable[[Delivery], Answer]:
    """Answers so for the partition of one day."""
    return lambda delivery: Answer(status, headers) if day(delivery) == wanted else Answer()


def sender(server: Server) -> psutil.Process:
    """Returns the process that sends, which starts after the worker."""
    return max(psutil.Process(server.process.pid).children(), key=lambda process: process.pid)


def test_events_arrive_signed_and_in_order(
    receiver: Receiver, hook: Hook, start_metastore: Start, database_url: str, command: Command
) -> None:
    server = start_metastore(database_url, "--sinks", hook())
    database = made(server, receiver)
    add(server, database, "a", "b", "c")
    receiver.wait(lambda: days(receiver) == "abc")
    numbers = receiver.numbers()
    assert numbers == [*range(numbers[0], numbers[-1] + 1)]
    last = receiver.taken[-1]
    assert last.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert (last.document["type"], last.document["subject"]) == ("metastore.add_partition", f"{database}.t")
    assert last.document["id"] == last.identity == f"{last.event['id']}@{last.event['time']}"
    assert server.stop() == 0
    (state,) = json.loads(command("--format", "json"))
    assert (state["position"], state["behind"], state["sent"], state["failed"]) == (numbers[-1], 0, len(numbers), 0)
    assert (state["state"], state["error"]) == ("no server sends", None)
    assert "token" not in server.log.read_text()
    assert "no sink other" in command("resume", "other", status=1)


def test_a_pause_can_be_ended_and_a_sink_that_is_gone_resumed(
    receiver: Receiver,
    hook: Hook,
    start_metastore: Start,
    database_url: str,
    command: Command,
    sinks: SinkAdministration,
) -> None:
    server = start_metastore(database_url, "--sinks", hook())
    database = made(server, receiver)
    receiver.answer = failing(503, "b", **{"Retry-After": "3600"})
    add(server, database, "a", "b", "c")
    receiver.wait(lambda: day(receiver.deliveries[-1]) == "b")
    while not sinks.states()[0]["attempts"]:
        pass
    (state,) = json.loads(command("--format", "json"))
    assert state["state"] == "retries"
    assert state["error"] == f"{receiver.url.partition('?')[0]} answers 503 Service Unavailable"
    receiver.answer = failing(410, "c")
    assert "send to hook again" in command("resume", "hook")
    receiver.wait(lambda: day(receiver.deliveries[-1]) == "c")
    while not sinks.states()[0]["is_disabled"]:
        pass
    receiver.answer = lambda _: Answer()
    sinks.resume("hook")
    receiver.wait(lambda: days(receiver) == "abc")


def test_a_dead_letter_can_be_sent_again_or_discarded(
    receiver: Receiver,
    hook: Hook,
    start_metastore: Start,
    database_url: str,
    command: Command,
    sinks: SinkAdministration,
) -> None:
    server = start_metastore(database_url, "--sinks", hook("&attempts=1"))
    database = made(server, receiver)
    receiver.answer = lambda delivery: Answer(500 if day(delivery) in ("b", "c") else 204)
    add(server, database, "a", "b", "c", "d")
    receiver.wait(lambda: days(receiver) == "ad")
    while len(sinks.letters("hook", 9)) != 2:
        pass
    letters = json.loads(command("dead", "hook", "--format", "json"))
    assert all("500 Internal Server Error" in letter["error"] for letter in letters)
    receiver.answer = lambda _: Answer()
    assert "1 dead letter of hook will be sent" in command("resend", "hook", "--number", str(letters[0]["number"]))
    receiver.wait(lambda: days(receiver) == "adb")
    assert "1 dead letter of hook deleted" in command("discard", "hook", "--number", str(letters[1]["number"]))
    while sinks.letters(None, 9):
        pass
    assert "has no dead letters" in command("resend", "hook", status=1)
    (again,) = (each for each in receiver.taken if day(each) == "b")
    assert again.document == json.loads(letters[0]["message"])


def test_a_secret_can_be_rotated_while_a_server_runs(
    receiver: Receiver,
    hook: Hook,
    start_metastore: Start,
    database_url: str,
    sinks: SinkAdministration,
    secret_file: Path,
) -> None:
    server = start_metastore(database_url, "--sinks", hook())
    database = made(server, receiver)
    secret_file.write_text(OTHER)
    add(server, database, "a")
    receiver.wait(lambda: receiver.invalid)
    secret_file.write_text(f"{OTHER}\n{SECRET}\n")
    sinks.resume("hook")
    receiver.wait(lambda: days(receiver) == "a")
    assert len(receiver.taken[-1].headers["webhook-signature"].split(" ")) == 2
    secret_file.unlink()
    add(server, database, "b")
    while f"secret_file {secret_file} cannot be read" not in (sinks.states()[0]["error"] or ""):
        pass


def test_a_sender_that_is_killed_before_it_stores_its_position_sends_again(
    receiver: Receiver, hook: Hook, start_metastore: Start, database_url: str
) -> None:
    server = start_metastore(database_url, "--sinks", hook())
    database = made(server, receiver)
    killed: list[int] = []

    def kill(delivery: Delivery) -> Answer:
        if day(delivery) == "b" and not killed:
            killed.append(sender(server).pid)
            os.kill(killed[0], signal.SIGKILL)
        return Answer()

    receiver.answer = kill
    add(server, database, "a", "b", "c")
    receiver.wait(lambda: days(receiver).endswith("c"))
    assert killed
    assert days(receiver) in ("abbc", "ababc")  # with "a" if its position was not stored either
    repeated = [each for each in receiver.taken if day(each) == "b"]
    assert len({each.identity for each in repeated}) == 1
    assert repeated[0].document == repeated[1].document


def test_one_of_several_servers_sends_and_another_continues(
    receiver: Receiver, hook: Hook, start_metastore: Start, database_url: str
) -> None:
    first = start_metastore(database_url, "--sinks", hook())
    database = made(first, receiver)
    others = [start_metastore(database_url, "--sinks", hook()) for _ in range(2)]
    add(first, database, "a", "b")
    receiver.wait(lambda: days(receiver) == "ab")
    first.stop()
    add(others[0], database, "c")
    receiver.wait(lambda: days(receiver) == "abc")
    for each in others:  # one of them sends
        for process in (*psutil.Process(each.process.pid).children(), psutil.Process(each.process.pid)):
            process.kill()
    execute(database_url, "UPDATE event_sinks SET held_until = now() WHERE held_until > now()")  # as after its lease
    last = start_metastore(database_url, "--sinks", hook())
    add(last, database, "d")
    receiver.wait(lambda: days(receiver).endswith("d"))
    assert sorted({*days(receiver)}) == ["a", "b", "c", "d"]
    assert days(receiver) in ("abcd", "abccd")


def test_a_read_only_server_sends_nothing(
    hook: Hook, start_metastore: Start, database_url: str, sinks: SinkAdministration
) -> None:
    server = start_metastore(database_url, "--sinks", hook(), "--read-only")
    assert len(psutil.Process(server.process.pid).children()) == 1  # the worker
    server.stop()
    assert sinks.states() == []


def test_a_sink_that_hangs_delays_no_other_and_filters_apply(
    receiver: Receiver, hook: Hook, start_metastore: Start, database_url: str, secret_file: Path
) -> None:
    released = Event()
    with receiving() as slow:
        slow.answer = lambda _: Answer(then=lambda _: released.wait(60))
        sinks = f"{hook()} slow={slow.url}#secret_file={secret_file}&database=%s&table=T&type=add_partition"
        server = start_metastore(database_url, "--sinks", sinks % "wanted")
        with connected(server) as client:
            made(server, receiver)
            client.create_database(Database(name="wanted"))
            for name in ("t", "u"):
                client.create_table(table("wanted", name, KEYS))
                client.add_partition(partition("wanted", name, ["a"]))
            slow.wait(lambda: slow.deliveries)
        add(server, "wanted", "b", "c")
        receiver.wait(lambda: days(receiver) == "aabc")
        assert days(slow) == "a"
        released.set()
        slow.wait(lambda: days(slow) == "abc")
        assert {each.event["type"] for each in slow.taken} == {"ADD_PARTITION"}
        assert {each.document["subject"] for each in slow.taken} == {"wanted.t"}


def test_a_log_that_was_shortened_is_told(
    receiver: Receiver, hook: Hook, start_metastore: Start, database_url: str
) -> None:
    server = start_metastore(database_url, "--sinks", hook())
    database = made(server, receiver)
    server.stop()
    known = receiver.numbers()[-1]
    without = start_metastore(database_url)
    add(without, database, "a", "b", "c")
    execute(database_url, f"DELETE FROM notification_log WHERE event_id <= {known + 2}")
    start_metastore(database_url, "--sinks", hook())
    receiver.wait(lambda: days(receiver) == "c")
    missed = receiver.taken[-2].event
    assert (missed["type"], missed["first"], missed["last"]) == ("MISSED", known + 1, known + 2)
    assert receiver.taken[-2].document["type"] == "metastore.missed"


def test_a_restored_database_is_told(
    receiver: Receiver,
    hook: Hook,
    start_metastore: Start,
    database_url: str,
    copied: Callable[[str], str],
    tmp_path: Path,
) -> None:
    url, warehouse = database_url, ["--warehouse", str(tmp_path / "warehouse")]
    server = start_metastore(url, "--sinks", hook(), *warehouse)
    database = made(server, receiver)
    server.stop()
    older = copied(url)
    server = start_metastore(url, "--sinks", hook(), *warehouse)
    add(server, database, "a")
    receiver.wait(lambda: days(receiver) == "a")
    lost = receiver.taken[-1]
    server.stop()
    with connected(start_metastore(url, *warehouse)) as client:  # the witness learns of the last event at a start
        witness = tmp_path / "warehouse" / ".metastore_catalog.json"
        while json.loads(witness.read_text())["event"] < client.get_current_notificationEventId().eventId:
            pass
    restored = start_metastore(older, "--sinks", hook(), *warehouse)
    receiver.wait(lambda: receiver.taken[-1].event["type"] == "REWOUND")
    assert receiver.taken[-1].event["id"] == lost.event["id"] - 1
    add(restored, database, "b")
    receiver.wait(lambda: days(receiver) == "ab")
    again = receiver.taken[-1]
    assert again.event["id"] == lost.event["id"]
    assert again.identity != lost.identity
