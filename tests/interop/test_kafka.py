"""Events sent to a broker of Kafka: order, a topic that is missing, a broker and a sender that are killed, and messages
that are too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metastore.domain.cloud_events import CONTENT_TYPE
from metastore.services.sinks import SinkAdministration
from tests.fixtures.server import Server, connected
from tests.interop.kafka import Broker, Reader, document, running_broker
from tests.interop.maven import UnavailableError
from tests.wire.builders import new_database, partition, table, unique
from tests.wire.sinks.conftest import sinks as sinks
from tests.wire.sinks.test_webhook import sender

KEYS = [("ds", "string")]
Start = Callable[..., Server]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        with running_broker(tmp_path_factory.mktemp("kafka")) as started:
            yield started
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def topic(broker: Broker) -> str:
    name = unique("events")
    broker.create(name)
    return name


@pytest.fixture
def read(broker: Broker, topic: str) -> Iterator[Iterator[Any]]:
    reader = Reader(broker, topic)
    yield reader.messages()
    reader.close()


def made(client: Any, sinks: SinkAdministration, tables: int = 1) -> str:
    """Creates tables in a database after the sink has got its place in the log."""
    while not sinks.states():
        pass
    database = new_database(client)
    for number in range(tables):
        client.create_table(table(database, f"t{number}", KEYS))
    return database


def days_until(messages: Iterator[Any], last: str, tables: int = 1) -> dict[str, list[str]]:
    """Returns the days of each table, when all tables have a last one. Repeated messages count once."""
    days: dict[str, list[str]] = {}
    for message in messages:
        event = document(message)
        if "partitions" not in event["data"]:
            continue
        (day,) = (each["ds"] for each in event["data"]["partitions"])
        known = days.setdefault(message.key().decode(), [])
        if day not in known:
            known.append(day)
        if len(days) == tables and all(each[-1] == last for each in days.values()):
            return days
    raise AssertionError


def test_events_of_a_table_arrive_in_order(
    broker: Broker,
    topic: str,
    read: Iterator[Any],
    start_metastore: Start,
    database_url: str,
    sinks: SinkAdministration,
) -> None:
    server = start_metastore(database_url, "--sinks", f"bus=kafka://{broker.address}/{topic}")
    with connected(server) as client:
        database = made(client, sinks, 4)
        for day in range(50):
            for number in range(4):
                client.add_partition(partition(database, f"t{number}", [str(day)]))
    first = next(read)
    assert dict(first.headers())["content-type"] == CONTENT_TYPE.encode()
    assert (first.key().decode(), document(first)["type"]) == (database, "metastore.create_database")
    days = days_until(read, "49", 4)
    assert days == {f"{database}.t{number}": [str(day) for day in range(50)] for number in range(4)}
    server.stop()
    assert [(each["behind"], each["failed"]) for each in sinks.states()] == [(0, 0)]


def test_a_missing_topic_is_named_and_waited_for(
    broker: Broker, start_metastore: Start, database_url: str, sinks: SinkAdministration
) -> None:
    name = unique("later")
    server = start_metastore(database_url, "--sinks", f"bus=kafka://{broker.address}/{name}")
    with connected(server) as client:
        database = made(client, sinks)
        client.add_partition(partition(database, "t0", ["a"]))
        while not (state := sinks.states()[0])["error"]:
            pass
        assert state["error"].startswith(f"kafka://{broker.address}/{name}: ")
        assert "Unknown topic" in state["error"]
        broker.create(name)
        reader = Reader(broker, name)
        assert days_until(reader.messages(), "a") == {f"{database}.t0": ["a"]}
        reader.close()


def test_kills_of_the_broker_and_of_the_sender_lose_nothing(
    broker: Broker,
    topic: str,
    read: Iterator[Any],
    start_metastore: Start,
    database_url: str,
    sinks: SinkAdministration,
) -> None:
    server = start_metastore(database_url, "--sinks", f"bus=kafka://{broker.address}/{topic}#timeout=5")
    with connected(server) as client:
        database = made(client, sinks)
        for day in range(200):
            client.add_partition(partition(database, "t0", [f"{day:03d}"]))
            if day == 50:
                broker.kill()
            if day == 100:
                broker.start()
            if day in (120, 150):
                sender(server).kill()
    assert days_until(read, "199") == {f"{database}.t0": [f"{day:03d}" for day in range(200)]}
    assert sinks.letters(None, 1) == []


def test_a_message_that_is_too_large_stops_no_other(
    broker: Broker,
    topic: str,
    read: Iterator[Any],
    start_metastore: Start,
    database_url: str,
    sinks: SinkAdministration,
) -> None:
    broker.configure(topic, max_message_bytes="1600")  # of a batch: three small messages are too large, too
    server = start_metastore(database_url, "--sinks", f"bus=kafka://{broker.address}/{topic}")
    with connected(server) as client:
        database = made(client, sinks)
        days = [f"{day:02d}" for day in range(40)]
        for day in days:
            client.add_partition(partition(database, "t0", [day]))
            if day == "20":  # one event of several partitions
                client.add_partitions([partition(database, "t0", [f"{'x' * 100}{number}"]) for number in range(15)])
    assert days_until(read, "39") == {f"{database}.t0": days}
    while not (letters := sinks.letters("bus", 9)):
        pass
    assert [each["key"] for each in letters] == [f"{database}.t0"]
    assert "too large" in letters[0]["error"].lower()


def test_a_broker_that_cannot_be_reached_is_named(
    start_metastore: Start, database_url: str, sinks: SinkAdministration
) -> None:
    server = start_metastore(database_url, "--sinks", "bus=kafka://127.0.0.1:1/topic#timeout=1")
    with connected(server) as client:
        made(client, sinks)
    while not (state := sinks.states()[0])["error"]:
        pass
    assert state["error"].startswith("kafka://127.0.0.1:1/topic: ")
    assert "127.0.0.1:1" in state["error"]
