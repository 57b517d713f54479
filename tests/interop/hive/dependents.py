"""Dependent tables, as Hive's client reads them: views whose partitions can be waited for; changes are events."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from tests.fixtures.server import connected
from tests.interop.hive.client import Hive, equal, values
from tests.wire.builders import unique
from tests.wire.dependencies.requests import create, depend, reads

GROUP = "dependent tables"
KEYS = ("ds", "string"), ("hr", "string")


def our_client(uri: str) -> AbstractContextManager[Any]:
    """Returns our own service, which creates dependent tables."""
    address = urlsplit(uri)
    server: Any = SimpleNamespace(host=address.hostname, port=address.port)
    return connected(server)


def dependents(hive: Hive, _: Path) -> None:
    """Created by our client, used by Hive's."""
    with our_client(hive.uri) as ours, hive.database(unique("dependents")) as database:
        for name in ("t", "t2"):
            hive.client.createTable(hive.table(database, name, *KEYS))
        hive.client.add_partition(hive.partition(database, "t", "1", "1"))
        create(ours, database, "tdep", "t")
        create(ours, database, "a_second", "tdep")
        _wait(hive, database)
        _follow(hive, ours, database)
        _are_told(hive, ours, database)
        _drop(hive, database)


def _wait(hive: Hive, database: str) -> None:
    client = hive.client
    with hive.attempt(GROUP, "getTable"):
        view = client.getTable(database, "tdep")
        equal((view.getTableType(), view.getSd().getLocation()), ("VIRTUAL_VIEW", None))
        equal([key.getName() for key in view.getPartitionKeys()], ["ds"])
        equal([column.getName() for column in view.getSd().getCols()], ["a", "x"])
    with hive.refused(GROUP, "getPartition, before it is there,", "NoSuchObjectException"):
        client.getPartition(database, "tdep", ["1"])
    with hive.attempt(GROUP, "add_partition, as ALTER VIEW ADD PARTITION sends it"):
        added = hive.partition(database, "tdep", "1")
        added.setSd(view.getSd())
        client.add_partition(added)
    with hive.attempt(GROUP, "getPartition, listPartitionNames, listPartitionsByFilter"):
        equal(client.getPartition(database, "tdep", ["1"]).getSd().getLocation(), None)
        equal(client.listPartitionNames(database, "tdep", -1), ["ds=1"])
        equal(values(client.listPartitionsByFilter(database, "tdep", "ds = '1'", -1)), ["1"])
    with hive.refused(GROUP, "a partition with a location", "MetaException", "LOCATION clause illegal"):
        placed = hive.partition(database, "tdep", "2")
        placed.getSd().setLocation("file:/tmp/somewhere")
        client.add_partition(placed)


def _follow(hive: Hive, ours: Any, database: str) -> None:
    with hive.attempt(GROUP, "alter_table of a base: columns are propagated"):
        _widen(hive, database, "t")
        for name in ("tdep", "a_second"):
            columns = hive.client.getTable(database, name).getSd().getCols()
            equal([column.getName() for column in columns], ["a", "x", "more"])
    with hive.attempt(GROUP, "add_partition of a base: it is read"):
        hive.client.add_partition(hive.partition(database, "t", "1", "25"))
        equal(reads(ours, database, "tdep"), {"ds=1": ("t", ["ds=1/hr=1", "ds=1/hr=25"])})


def _widen(hive: Hive, database: str, name: str) -> None:
    base = hive.client.getTable(database, name)
    base.getSd().setCols(hive.columns(("a", "int"), ("x", "string"), ("more", "int")))
    hive.client.alter_table(database, name, base)


def _are_told(hive: Hive, ours: Any, database: str) -> None:
    _widen(hive, database, "t2")
    start = hive.client.getCurrentNotificationEventId().getEventId()
    depend(ours, database, "tdep", "t2", ["1"])
    with hive.attempt(GROUP, "getNextNotification of a changed dependency"):
        events = hive.client.getNextNotification(start, 0, None).getEvents()
        equal([event.getEventType() for event in events], ["ALTER_PARTITION", "ALTER_TABLE"])
    if not hive.is_4:
        with hive.attempt(GROUP, "its messages, read by Hive"):
            reader = hive.metastore.messaging.json.JSONMessageDeserializer()
            partition, table = (event.getMessage() for event in events)
            message = reader.getAlterPartitionMessage(partition)
            bases = [
                each.getParameters()["dependent.on"] for each in (message.getPtnObjBefore(), message.getPtnObjAfter())
            ]
            equal(bases, [f"{database}.t", f"{database}.t2"])
            after = reader.getAlterTableMessage(table).getTableObjAfter()
            equal(after.getParameters()["dependent.on"], f"{database}.t2,{database}.t")


def _drop(hive: Hive, database: str) -> None:
    for name, dependent in (("t", "tdep"), ("tdep", "a_second")):
        said = f"Cannot drop {database}.{name}: {database}.{dependent} depends on it"
        with hive.refused(GROUP, f"dropTable {name}", "MetaException", said):
            hive.client.dropTable(database, name, True, False)
    with hive.attempt(GROUP, "dropDatabase with all of them"):
        hive.client.dropDatabase(database, True, False, True)
        hive.client.createDatabase(hive.make("Database", name=database))
