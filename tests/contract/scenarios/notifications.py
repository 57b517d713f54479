"""The notification log. Hive has one only with its listener, in a jar that PySpark lacks."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import columns, partition, table
from thrift_idl.gen.hive_metastore.ttypes import NotificationEventRequest


@scenario
def notifications(hive: Recorder, db: str) -> None:
    """Reports of inserts are left out: Hive 2.3 numbers those fields differently (trap 2)."""
    before = hive.call("get_current_notificationEventId", ()).eventId
    hive.create_table(table(db, "t", [("ds", "string")]))
    hive.add_partition(partition(db, "t", ["1"]))
    hive.add_partitions([partition(db, "t", [day]) for day in ("2", "3")])
    changed = hive.get_table(db, "t")
    changed.sd.cols = columns(("a", "bigint"), ("x", "string"))
    hive.alter_table(db, "t", changed)
    changed = hive.get_partition(db, "t", ["1"])
    hive.alter_partition(db, "t", changed)
    hive.at("missing table").drop_table(db, "nope", True)
    hive.drop_partition(db, "t", ["1"], True)
    hive.drop_table(db, "t", True)
    hive.drop_database(db, True, True)

    def listed(answer: Any) -> Any:
        kept = ("eventId", "eventType", "dbName", "tableName", "messageFormat")
        for event in answer.events:
            event.eventId -= before
        return [[getattr(event, name) for name in kept] for event in answer.events]

    hive.at("all", show=listed).get_next_notification(NotificationEventRequest(before, 100))
    hive.at("two", show=listed).get_next_notification(NotificationEventRequest(before, 2))
    hive.at("none", show=listed).get_next_notification(NotificationEventRequest(before + 1_000, 2))
    current = hive.call("get_current_notificationEventId", ()).eventId
    hive.note("current", current - before)
