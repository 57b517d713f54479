"""Reading the notification log, as clients do that follow it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TApplicationException

from metastore.services.authorization.everyone import Everyone
from metastore.services.notifications import NotificationService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, new_table, partition, table, unique
from tests.wire.notifications.following import KEYS, Follower, fire
from thrift_idl.gen.hive_metastore.ttypes import (
    FireEventRequest,
    GetAllWriteEventInfoRequest,
    InsertEventRequestData,
    NotificationEvent,
    NotificationEventRequest,
    NotificationEventsCountRequest,
    WriteNotificationLogBatchRequest,
    WriteNotificationLogRequest,
)

# ---- Reading


def test_events_can_be_chosen_and_counted(client: Any, log: Follower) -> None:
    start = log.last
    database, name = new_table(client, KEYS)
    client.create_table(table(database, "u"))
    client.add_partition(partition(database, name, ["a"]))
    other = new_database(client)

    def chosen(**fields: Any) -> list[str]:
        request = NotificationEventRequest(lastEvent=start, **fields)
        return [event.eventType for event in client.get_next_notification(request).events]

    everything = ["CREATE_DATABASE", "CREATE_TABLE", "CREATE_TABLE", "ADD_PARTITION", "CREATE_DATABASE"]
    assert chosen() == chosen(maxEvents=0) == chosen(maxEvents=-1) == chosen(maxEvents=2**31 - 1) == everything
    assert chosen(maxEvents=2) == everything[:2]
    assert chosen(eventTypeSkipList=["CREATE_TABLE", "x"] * 1000) == [
        value for value in everything if value[7:] != "TABLE"
    ]
    assert chosen(eventTypeList=["ADD_PARTITION", "x"]) == ["ADD_PARTITION"]
    assert chosen(eventTypeList=["CREATE_TABLE"], eventTypeSkipList=["CREATE_TABLE"]) == []
    assert chosen(dbName=database.upper()) == everything[:4]
    assert chosen(dbName=f"@hive#{other}") == ["CREATE_DATABASE"]
    assert chosen(catName="hive", dbName=database, tableNames=[name.upper()]) == ["CREATE_TABLE", "ADD_PARTITION"]
    assert chosen(catName="nope") == chosen(dbName="é" * 10_000) == []

    def count(**fields: Any) -> int:
        request = NotificationEventsCountRequest(**{"fromEventId": start, "dbName": database} | fields)
        total: int = client.get_notification_events_count(request).eventsCount
        return total

    assert (count(), count(dbName="*"), count(catName="hive"), count(catName="nope")) == (4, 5, 4, 0)
    assert (count(toEventId=start + 2), count(limit=3), count(limit=0), count(fromEventId=start + 1)) == (2, 3, 4, 3)
    assert count(tableNames=["u"]) == 1


def test_a_reply_has_all_requested_events_or_is_an_error(
    make_database: Callable[[], str], start_metastore: Callable[..., Server]
) -> None:
    """Hive's EventUtils skips as many events as it has requested if its filter accepts none of a reply."""
    with connected(start_metastore(make_database(), "--memory-limit", str(240 * 2**20))) as client:
        database, name = new_table(client)
        log = Follower(client)
        log.read()
        start = log.last
        large = client.get_table(database, name)
        for _ in range(20):
            large.parameters["large"] = "x" * 2_000_000
            client.alter_table(database, name, large)

        def events(most: int) -> list[NotificationEvent]:
            return list(client.get_next_notification(NotificationEventRequest(start, most)).events)

        assert [event.eventId for event in events(9)] == list(range(start + 1, start + 10))
        with pytest.raises(TApplicationException, match=rf"20 events after {start} take .* request fewer .*maxEvents"):
            events(0)


def test_numbers_follow_commits_over_servers(
    make_database: Callable[[], str], start_metastore: Callable[..., Server]
) -> None:
    """Trap 26. Two servers, eight writers, and a reader: events that it sees exist, and no earlier event appears
    later.
    """
    url = make_database()
    servers = [start_metastore(url), start_metastore(url)]
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with connected(servers[number % 2]) as client:
                database = new_database(client)
                for each in range(10):
                    client.create_table(table(database, f"t{each}"))
                    with pytest.raises(TExceptionBase):
                        client.create_table(table(database, f"t{each}"))
                    client.drop_table(database, f"t{each}", True)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    with connected(servers[0]) as client, connected(servers[1]) as other:
        log = Follower(client)
        for writer in writers:
            writer.start()
        seen: list[NotificationEvent] = []
        while any(writer.is_alive() for writer in writers):
            new = log.read()
            seen += new
            assert client.get_current_notificationEventId().eventId >= log.last
            for event in new:
                if event.eventType == "CREATE_DATABASE":
                    assert other.get_database(event.dbName).name == event.dbName
        seen += log.read()
    assert failures == []
    assert len(seen) == 8 * (1 + 10 * 2)
    for database in {event.dbName for event in seen}:
        own = [(event.eventType, event.tableName) for event in seen if event.dbName == database]
        pairs = [(kind, f"t{each}") for each in range(10) for kind in ("CREATE_TABLE", "DROP_TABLE")]
        assert own == [("CREATE_DATABASE", None), *pairs]


# ---- Age


def test_old_events_are_removed_and_late_readers_find_a_gap(fresh_metastore_server: Server) -> None:
    url = fresh_metastore_server.database_url
    with connected(fresh_metastore_server) as client:
        database, name = new_table(client)
        client.create_table(table(database, "u"))
        write = InsertEventRequestData(filesAdded=["f"])
        client.add_write_notification_log(WriteNotificationLogRequest(5, 1, database, name, write))
        for statement in (
            "UPDATE notification_log SET event_time = event_time - 100 WHERE event_id <= 2",
            "UPDATE write_notifications SET event_time = event_time - 100",
        ):
            execute(url, statement)
        assert cleaned(url, time_to_live=200) == 0
        assert cleaned(url, time_to_live=50) == 3
        assert [event.eventId for event in client.get_next_notification(NotificationEventRequest(0)).events] == [3]
        assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(5)) == []

        execute(url, "UPDATE notification_log SET event_time = event_time - 100")
        assert cleaned(url, time_to_live=50) == 0  # the newest event stays
        assert client.get_current_notificationEventId().eventId == 3
        assert [event.eventId for event in client.get_next_notification(NotificationEventRequest(1)).events] == [3]
        new_database(client)
        assert cleaned(url, time_to_live=50) == 1
        assert [event.eventId for event in client.get_next_notification(NotificationEventRequest(0)).events] == [4]


def test_a_server_cleans_by_itself(database_url: str, start_metastore: Callable[..., Server]) -> None:
    server = start_metastore(database_url, "--event-retention", "1")
    with connected(server) as client:
        new_table(client)
        deadline = time.monotonic() + 60
        while len(left := client.get_next_notification(NotificationEventRequest(0)).events) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert [event.eventId for event in left] == [2]


def execute(url: str, statement: str) -> None:
    with create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text(statement))


def cleaned(url: str, time_to_live: float) -> int:
    """Cleans a log as a server does. Returns the number of removed events."""
    settings = Settings(database_url=url)
    store = Store(make_engine(settings, url), settings)
    try:
        return NotificationService(store, time_to_live, Everyone(store)).clean()
    finally:
        store.close()


# ---- Malformed requests


@pytest.mark.parametrize("text", ["", "\0", "é" * 10_000, "@", "@x#", "%_*|("])
def test_no_name_breaks_anything(client: Any, text: str) -> None:
    request = NotificationEventRequest(0, 1, [text] * 500, text.strip("@"), text.strip("@"), [text] * 500)
    for call in (
        lambda: client.get_next_notification(request),
        lambda: client.get_notification_events_count(NotificationEventsCountRequest(0, text, tableNames=[text])),
        lambda: client.get_all_write_event_info(GetAllWriteEventInfoRequest(-1, text, text)),
        lambda: fire(client, text, text, [text], refreshEvent=True),
    ):
        with suppress(TExceptionBase, TApplicationException):
            call()
    assert client.get_current_notificationEventId().eventId >= 0


def test_missing_arguments_are_rejected_with_a_text(client: Any) -> None:
    for call in (
        lambda: client.fire_listener_event(FireEventRequest()),
        lambda: client.add_write_notification_log(WriteNotificationLogRequest()),
        lambda: client.add_write_notification_log_in_batch(WriteNotificationLogBatchRequest()),
    ):
        with pytest.raises(TApplicationException) as raised:
            call()
        assert str(raised.value)
    assert client.get_next_notification(NotificationEventRequest()).events is not None
    assert client.get_notification_events_count(NotificationEventsCountRequest()).eventsCount >= 0
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest()) == []
    assert unique()
