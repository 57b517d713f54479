"""The notification log, as clients that follow it see it."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TMemoryBuffer

from metastore.domain.events import SINGLE, WHOLE
from metastore.services.notifications import NotificationService
from metastore.settings import Settings
from metastore.storage.engine import make_engine
from metastore.storage.unit_of_work import Store
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import columns, new_database, new_table, partition, skewed, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    CmRecycleRequest,
    Database,
    FireEventRequest,
    FireEventRequestData,
    GetAllWriteEventInfoRequest,
    InsertEventRequestData,
    NotificationEvent,
    NotificationEventRequest,
    NotificationEventsCountRequest,
    Partition,
    Table,
    WriteNotificationLogBatchRequest,
    WriteNotificationLogRequest,
)
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition, PublishRequest

KEYS = [("ds", "string")]


@pytest.fixture(scope="module")
def server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Nobody else writes into its log."""
    with running(make_database(), tmp_path_factory.mktemp("notifications")) as started:
        yield started


@pytest.fixture
def client(server: Server) -> Iterator[Any]:
    with connected(server) as opened:
        yield opened


class Follower:
    """Reads what has come since it began, and insists that there is no gap."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.last: int = client.get_current_notificationEventId().eventId

    def read(self) -> list[NotificationEvent]:
        events: list[NotificationEvent] = []
        while new := self._client.get_next_notification(NotificationEventRequest(self.last)).events:
            assert [event.eventId for event in new] == list(range(self.last + 1, self.last + 1 + len(new)))
            self.last = new[-1].eventId
            events += new
        return events

    def types(self) -> list[str]:
        return [event.eventType for event in self.read()]


@pytest.fixture
def log(client: Any) -> Follower:
    return Follower(client)


def message(event: NotificationEvent) -> dict[str, Any]:
    assert event.messageFormat == "json-0.2"
    content: dict[str, Any] = json.loads(event.message)
    return content


def struct(kind: Any, encoded: str) -> Any:
    read = kind()
    read.read(TJSONProtocol(TMemoryBuffer(encoded.encode())))
    return read


def fire(client: Any, database: str, name: str, values: list[str] | None = None, **data: Any) -> list[int]:
    request = FireEventRequest(True, FireEventRequestData(**data), database, name, values)
    ids: list[int] = client.fire_listener_event(request).eventIds
    return ids


# ---- What changes say


def test_the_log_begins_with_one(fresh_metastore_server: Server) -> None:
    with connected(fresh_metastore_server) as client:
        assert client.get_current_notificationEventId().eventId == 0
        assert client.get_next_notification(NotificationEventRequest(0)).events == []
        name = new_database(client)
        (event,) = client.get_next_notification(NotificationEventRequest(0)).events
    assert (event.eventId, event.eventType, event.catName, event.dbName) == (1, "CREATE_DATABASE", "hive", name)
    assert event.tableName is None
    assert event.eventTime == message(event)["timestamp"] > 0


def test_databases(client: Any, log: Follower) -> None:
    name = new_database(client)
    before = client.get_database(name)
    after = copy.deepcopy(before)
    after.description = "é"
    client.alter_database(name, after)
    client.drop_database(name, True, True)
    created, altered, dropped = log.read()
    assert struct(Database, message(created)["dbJson"]) == before
    assert struct(Database, message(altered)["dbObjBeforeJson"]) == before
    assert struct(Database, message(altered)["dbObjAfterJson"]) == after
    assert (dropped.eventType, message(dropped)["db"]) == ("DROP_DATABASE", name)


def test_tables(client: Any, log: Follower) -> None:
    database = new_database(client)
    sent = table(database, "T", KEYS)
    sent.sd.skewedInfo = skewed(["a"], [["1"]])
    sent.sd.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x"}
    client.create_table(sent)
    before = client.get_table(database, "t")
    after = copy.deepcopy(before)
    after.parameters["k"] = 'v"\n😀'
    client.alter_table(database, "t", after)
    client.drop_table(database, "t", True)
    _, created, altered, dropped = log.read()
    assert (created.dbName, created.tableName) == (database, "t")
    assert struct(Table, message(created)["tableObjJson"]) == before
    assert struct(Table, message(altered)["tableObjBeforeJson"]) == before
    assert struct(Table, message(altered)["tableObjAfterJson"]).parameters == after.parameters
    assert (dropped.eventType, message(dropped)["tableType"]) == ("DROP_TABLE", "MANAGED_TABLE")


def test_a_renamed_table_is_filed_under_its_new_name(client: Any, log: Follower) -> None:
    database, name = new_table(client)
    renamed = client.get_table(database, name)
    renamed.tableName = "other"
    client.alter_table(database, name, renamed)
    event = log.read()[-1]
    assert (event.eventType, event.tableName, message(event)["table"]) == ("ALTER_TABLE", "other", name)
    content = message(event)
    assert struct(Table, content["tableObjBeforeJson"]).sd.location.endswith(f"/{name}")
    assert struct(Table, content["tableObjAfterJson"]) == client.get_table(database, "other")


def test_partitions(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    first = client.get_partition(database, name, ["a"])
    changed = copy.deepcopy(first)
    changed.parameters["k"] = "v"
    client.alter_partition(database, name, changed)
    moved = copy.deepcopy(changed)
    moved.values = ["c"]
    client.rename_partition(database, name, ["a"], moved)
    client.drop_partition(database, name, ["c"], True)
    added, altered, renamed, dropped = log.read()[2:]
    assert added.eventType == "ADD_PARTITION"
    assert message(added)["partitions"] == [{"ds": "a"}, {"ds": "b"}]
    assert struct(Partition, message(added)["partitionListJson"][0]) == first
    assert struct(Table, message(added)["tableObjJson"]) == client.get_table(database, name)
    assert (altered.eventType, message(altered)["keyValues"]) == ("ALTER_PARTITION", {"ds": "a"})
    assert struct(Partition, message(altered)["partitionObjBeforeJson"]) == first
    assert struct(Partition, message(altered)["partitionObjAfterJson"]).parameters["k"] == "v"
    before, after = (struct(Partition, message(renamed)[f"partitionObj{when}Json"]) for when in ("Before", "After"))
    assert (before.values, after.values) == (["a"], ["c"])
    assert (before.sd.location[-5:], after.sd.location[-5:]) == ("/ds=a", "/ds=c")
    assert (dropped.eventType, message(dropped)["partitions"]) == ("DROP_PARTITION", [{"ds": "c"}])


def test_a_database_is_dropped_with_its_tables(client: Any, log: Follower) -> None:
    database, _ = new_table(client)
    client.create_table(table(database, "u"))
    log.read()
    client.drop_database(database, True, True)
    assert log.types() == ["DROP_TABLE", "DROP_TABLE", "DROP_DATABASE"]


def test_what_does_not_happen_is_not_told(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partition(partition(database, name, ["a"]))
    log.read()
    stale = client.get_table(database, name)
    stale.partitionKeys = columns(("other", "string"))
    taken = PublishRequest(database, name, "q", [PublishPartition(["a"], PublishMode.CREATE, "file:/x", [])])
    for call in (
        lambda: client.create_database(Database(database)),
        lambda: client.create_table(table(database, name)),
        lambda: client.alter_table(database, name, stale),
        lambda: client.add_partitions([partition(database, name, [day]) for day in "ba"]),
        lambda: client.drop_partition(database, name, ["b"], False),
        lambda: client.drop_database(database, False, False),
        lambda: client.publish(taken),
    ):
        with pytest.raises(TExceptionBase):
            call()
    client.add_partitions_req(AddPartitionsRequest(database, name, [partition(database, name, ["a"])], True))
    assert log.read() == []
    client.create_table(table(database, "u"))
    assert log.types() == ["CREATE_TABLE"]


# ---- Writes


def test_a_published_write_is_told_as_what_it_did(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    log.read()
    places = {day: client.get_partition(database, name, [day]).sd.location for day in "ab"}
    entries = [
        PublishPartition(["a"], PublishMode.APPEND, places["a"], []),
        PublishPartition(["b"], PublishMode.OVERWRITE, places["b"] + "/new", []),
        PublishPartition(["c"], PublishMode.CREATE, places["b"] + "/c", []),
    ]
    client.publish(PublishRequest(database, name, "q", entries))
    added, *altered, first, second = log.read()
    assert (added.eventType, message(added)["partitions"]) == ("ADD_PARTITION", [{"ds": "c"}])
    assert struct(Partition, message(added)["partitionListJson"][0]) == client.get_partition(database, name, ["c"])
    assert [event.eventType for event in altered] == ["ALTER_PARTITION"] * 2
    assert struct(Partition, message(altered[1])["partitionObjBeforeJson"]).sd.location == places["b"]
    assert struct(Partition, message(altered[1])["partitionObjAfterJson"]).sd.location == places["b"] + "/new"
    assert [message(event)["replace"] for event in (first, second)] == ["false", "true"]
    assert struct(Partition, message(first)["ptnObjJson"]) == client.get_partition(database, name, ["a"])


def test_a_published_table_is_told_as_changed_and_written(client: Any, log: Follower) -> None:
    database, name = new_table(client)
    place = client.get_table(database, name).sd.location + "/new"
    client.publish(PublishRequest(database, name, "q", [PublishPartition([], PublishMode.OVERWRITE, place, [])]))
    altered, inserted = log.read()[2:]
    assert struct(Table, message(altered)["tableObjAfterJson"]).sd.location == place
    assert (inserted.eventType, message(inserted)["replace"]) == ("INSERT", "true")
    assert struct(Table, message(inserted)["tableObjJson"]) == client.get_table(database, name)


@pytest.mark.parametrize(("count", "mode"), [(WHOLE + 1, PublishMode.CREATE), (SINGLE + 1, PublishMode.OVERWRITE)])
def test_a_large_write_is_a_bounded_number_of_events(client: Any, log: Follower, count: int, mode: int) -> None:
    database, name = new_table(client, KEYS)
    if mode == PublishMode.OVERWRITE:
        client.add_partitions([partition(database, name, [f"{n}"]) for n in range(count)])
    log.read()
    entries = [PublishPartition([f"{n}"], mode, f"file:/x/{n}", []) for n in range(count)]
    client.publish(PublishRequest(database, name, "q", entries))
    *added, reload, insert = log.read()
    assert [len(message(event)["partitions"]) for event in added] == ([count] if mode == PublishMode.CREATE else [])
    assert (reload.eventType, message(reload)["refreshEvent"]) == ("RELOAD", "false")
    assert (insert.eventType, message(insert).get("ptnObjJson")) == ("INSERT", None)


# ---- What clients tell themselves


def test_inserts_and_refreshes_that_clients_tell(client: Any, log: Follower) -> None:
    database, name = new_table(client, KEYS)
    client.add_partitions([partition(database, name, [day]) for day in "ab"])
    log.read()
    whole = InsertEventRequestData(filesAdded=["f"], filesAddedChecksum=["c"], replace=False)
    parts = [InsertEventRequestData(filesAdded=[], partitionVal=[day]) for day in "ba"]
    ids = fire(client, database, name, insertData=whole)
    ids += fire(client, f"@hive#{database}", name.upper(), ["a"], insertData=InsertEventRequestData(filesAdded=["g"]))
    ids += fire(client, database, name, insertDatas=parts)
    ids += fire(client, database, name, ["b"], refreshEvent=True)
    ids += fire(client, database, name, refreshEvent=False)
    events = log.read()
    assert [event.eventId for event in events] == ids
    assert [event.eventType for event in events] == ["INSERT"] * 4 + ["RELOAD"] * 2
    told = [message(event) for event in events]
    assert (told[0]["files"], told[0]["replace"], "ptnObjJson" in told[0]) == (["f#c##"], "false", False)
    assert (told[1]["files"], told[1]["replace"]) == (["g###"], "true")
    days = [struct(Partition, each["ptnObjJson"]).values for each in told[1:5]]
    assert days == [["a"], ["b"], ["a"], ["b"]]
    assert [each["refreshEvent"] for each in told[4:]] == ["true", "false"]
    assert fire(client, database, name, insertDatas=[]) == []


@pytest.mark.parametrize(
    ("name", "values", "data", "text"),
    [
        ("nope", None, {"refreshEvent": True}, "nope table not found"),
        ("t", ["x"], {"refreshEvent": True}, "has no partition ds=x"),
        ("t", ["x", "y"], {"refreshEvent": True}, "keys [ds], values [x, y]"),
        ("t", ["x\0"], {"refreshEvent": True}, "U+0000"),
        ("t", None, {}, "insertData, insertDatas or refreshEvent"),
        ("t", None, {"insertDatas": [InsertEventRequestData(filesAdded=[])]}, "Partition values must be set"),
        (
            "t",
            None,
            {"insertData": InsertEventRequestData(filesAdded=["f", "g"], filesAddedChecksum=["c"])},
            "2 files come with 1 checksums",
        ),
    ],
)
def test_what_clients_may_not_tell(
    client: Any, log: Follower, name: str, values: list[str] | None, data: dict[str, Any], text: str
) -> None:
    database, _ = new_table(client, KEYS)
    log.read()
    with pytest.raises(TApplicationException) as raised:
        fire(client, database, name, values, **data)
    assert text in str(raised.value)
    assert log.read() == []


def test_writes_of_transactions_are_kept_for_who_reads_of_their_commit(client: Any) -> None:
    database, name = new_table(client, KEYS)
    client.create_table(table(database, "u"))
    client.add_partition(partition(database, name, ["a"]))

    def write(table_name: str, files: list[str], values: list[str] | None = None) -> WriteNotificationLogRequest:
        return WriteNotificationLogRequest(
            77, 3, database, table_name, InsertEventRequestData(filesAdded=files), values
        )

    client.add_write_notification_log(write(name, ["f"], ["a"]))
    again = [write(name, ["g"], ["a"]), write(name, ["f", "h"], ["a"])]
    client.add_write_notification_log_in_batch(WriteNotificationLogBatchRequest("hive", database, name, again))
    client.add_write_notification_log(write("u", ["x", "y"]))
    first, second = client.get_all_write_event_info(GetAllWriteEventInfoRequest(77, database))
    assert (first.table, first.partition, first.files, first.writeId) == (name, "ds=a", "f###]g###]h###", 3)
    assert struct(Partition, first.partitionObj) == client.get_partition(database, name, ["a"])
    assert (second.table, second.partition, second.files) == ("u", "", "x###]y###")
    assert struct(Table, second.tableObj) == client.get_table(database, "u")
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(77, database, "u")) == [second]
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(77, "*", "*")) == [first, second]
    assert client.get_all_write_event_info(GetAllWriteEventInfoRequest(78, database)) == []
    with pytest.raises(TApplicationException, match="nope table not found"):
        client.add_write_notification_log(write("nope", []))


def test_engines_are_told_that_the_log_is_whole(client: Any) -> None:
    for key in ("hive.metastore.dml.events", "hive.metastore.notifications.add.thrift.objects"):
        assert client.get_config_value(key, "") == "true"
    assert client.get_config_value("metastore.catalog.default", "") == "hive"
    assert client.cm_recycle(CmRecycleRequest("file:/x", True)) is not None


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
        each for each in everything if each[7:] != "TABLE"
    ]
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


def test_an_answer_has_an_end(client: Any, log: Follower) -> None:
    database, name = new_table(client)
    log.read()
    start = log.last
    large = client.get_table(database, name)
    for _ in range(8):
        large.parameters["large"] = "x" * 1_500_000
        client.alter_table(database, name, large)
    page = client.get_next_notification(NotificationEventRequest(start)).events
    assert 1 < len(page) < 8
    assert log.types() == ["ALTER_TABLE"] * 8


def test_numbers_follow_commits_over_servers(
    make_database: Callable[[], str], start_metastore: Callable[..., Server]
) -> None:
    """Two servers, eight writers, and a reader: whatever it sees is there, and nothing comes in before it later."""
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
    with connected(servers[0]) as client, connected(servers[1]) as witness:
        log = Follower(client)
        for each in writers:
            each.start()
        seen: list[NotificationEvent] = []
        while any(each.is_alive() for each in writers):
            new = log.read()
            seen += new
            assert client.get_current_notificationEventId().eventId >= log.last
            for event in new:
                if event.eventType == "CREATE_DATABASE":
                    assert witness.get_database(event.dbName).name == event.dbName
        seen += log.read()
    assert failures == []
    assert len(seen) == 8 * (1 + 10 * 2)
    for database in {event.dbName for event in seen}:
        own = [(event.eventType, event.tableName) for event in seen if event.dbName == database]
        pairs = [(kind, f"t{each}") for each in range(10) for kind in ("CREATE_TABLE", "DROP_TABLE")]
        assert own == [("CREATE_DATABASE", None), *pairs]


# ---- Age


def test_old_events_go_and_who_missed_them_finds_a_gap(fresh_metastore_server: Server) -> None:
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
        assert cleaned(url, time_to_live=50) == 0  # the newest stays
        assert client.get_current_notificationEventId().eventId == 3
        assert [event.eventId for event in client.get_next_notification(NotificationEventRequest(1)).events] == [3]
        new_database(client)
        assert cleaned(url, time_to_live=50) == 1
        assert [event.eventId for event in client.get_next_notification(NotificationEventRequest(0)).events] == [4]


def execute(url: str, statement: str) -> None:
    with create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text(statement))


def cleaned(url: str, time_to_live: float) -> int:
    """Cleans a log as a server does; returns how much was removed."""
    store = Store(make_engine(Settings(database_url=url), url))
    try:
        return NotificationService(store, lambda: int(time.time()), time_to_live).clean()
    finally:
        store.close()


# ---- Rubbish


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


def test_missing_arguments_are_refused_with_a_text(client: Any) -> None:
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
