"""Triggers: what waits in Airflow's triggerer. All triggers of a process share one connection to the stream."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from airflow.sdk import Variable
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, TaskSuccessEvent, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from metastore.airflow.hook import link_of
from metastore.airflow.hub import BEGUN, CONNECTION, Event, TableKey, is_break
from metastore.airflow.keeper import Keeper
from metastore.airflow.link import Link, until
from metastore.airflow.settings import DEFAULT_CONNECTION, HTTP
from metastore.airflow.waits import Wait, matches
from metastore.client import MetastoreClient
from metastore.client.errors import InvalidAddressError, NoSuchObjectError
from metastore.domain.event_stream import REWOUND

VARIABLE: Final = "metastore_position_"
"""The beginning of the name of Airflow's variable that keeps the position of the watchers of a connection."""
_WAIT: Final = 3600.0  # seconds


class PartitionTrigger(BaseTrigger):
    """Ends when partitions exist."""

    def __init__(
        self,
        waits: Sequence[dict[str, Any]],
        metastore_conn_id: str = DEFAULT_CONNECTION,
        interval: float = 180.0,
        *,
        end_from_trigger: bool = False,
    ) -> None:
        """`waits`: `Wait.as_dict`. `interval`: seconds between readings without the stream of events."""
        super().__init__()
        self.waits = list(waits)
        self.metastore_conn_id = metastore_conn_id
        self.interval = interval
        self.end_from_trigger = end_from_trigger

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Returns the class and its parameters. Called by Airflow."""
        return f"{__name__}.PartitionTrigger", {
            "waits": self.waits,
            "metastore_conn_id": self.metastore_conn_id,
            "interval": self.interval,
            "end_from_trigger": self.end_from_trigger,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Waits. Called by Airflow."""
        waits = [Wait.from_dict(each) for each in self.waits]
        await until(await link_of(self.metastore_conn_id), waits, self.interval)
        if self.end_from_trigger:
            yield TaskSuccessEvent()
        else:
            yield TriggerEvent([str(wait) for wait in waits])


class PartitionEventTrigger(BaseEventTrigger):
    """Fires for each event of a table, for the watcher of an asset: `AssetWatcher(name="…", trigger=…)`.

    The payload is the event: `table`, `partitions` and so on. After a restart, the trigger continues where it was. If
    events are missing, it fires once with the type MISSED or REWOUND, provided that the table has partitions.
    """

    def __init__(
        self,
        table: str,
        partitions: str = "",
        types: Sequence[str] = ("ADD_PARTITION",),
        metastore_conn_id: str = DEFAULT_CONNECTION,
    ) -> None:
        """Selects events.

        Args:
            table: `database.table`.
            partitions: values that a partition of the event must have, of any columns: `region=eu`. Empty: all.
            types: types of events, such as ADD_PARTITION, ALTER_PARTITION, INSERT, DROP_PARTITION.
            metastore_conn_id: the name of the connection.
        """
        super().__init__()
        self.table = table
        self.partitions = partitions
        self.types = list(types)
        self.metastore_conn_id = metastore_conn_id
        self._key: TableKey = Wait.of(table, partitions or "any=any").key

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Returns the class and its parameters. Called by Airflow."""
        return f"{__name__}.PartitionEventTrigger", {
            "table": self.table,
            "partitions": self.partitions,
            "types": self.types,
            "metastore_conn_id": self.metastore_conn_id,
        }

    def shared_stream_key(self) -> tuple[str, ...]:
        """Returns what triggers have in common that share events: the table. Called by Airflow."""
        return "metastore", self.metastore_conn_id, *self._key

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """Returns the source of the table's events. Called by Airflow."""
        trigger = cls(**kwargs)
        return TableEvents(trigger.metastore_conn_id, trigger._key)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Waits without sharing. Called by Airflow if it cannot share."""
        async for fired in self.filter_shared_stream(TableEvents(self.metastore_conn_id, self._key).alone()):
            yield fired

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Sequence[Event]]) -> AsyncIterator[TriggerEvent]:
        """Fires for the events that are selected. Called by Airflow."""
        link = await link_of(self.metastore_conn_id)
        keeper = keeper_of(link, self.metastore_conn_id)
        last = await keeper.first(self._key)
        rewinding = asyncio.ensure_future(keeper.hub.rewind(self._key, last))  # it waits for the stream below
        rewinding.add_done_callback(lambda done: done.cancelled() or done.exception())  # the stream fails with it
        try:
            async for events in shared_stream:
                connection = await rewinding
                for event in events:
                    is_known = event["id"] <= last and event["type"] != REWOUND
                    if event["type"] == BEGUN or is_known or event.get(CONNECTION, connection) < connection:
                        continue
                    if await link.call(self._has_partitions) if is_break(event) else self._selects(event):
                        yield TriggerEvent(self._payload(event))
                    last = event["id"]
        finally:
            rewinding.cancel()

    def _payload(self, event: Event) -> dict[str, Any]:
        known = {name: value for name, value in event.items() if name != CONNECTION}
        return {**known, "database": self._key[0], "table": self._key[1]}

    def _selects(self, event: Event) -> bool:
        named = event.get("partitions")
        matching = not self.partitions or not named or any(matches(each, self.partitions) for each in named)
        return event["type"] in self.types and matching

    def _has_partitions(self, client: MetastoreClient) -> bool:
        try:
            names = client.methods.get_partition_names(*self._key, 1)
        except NoSuchObjectError:
            return False
        return bool(names)


class TableEvents(SharedStreamProducer):
    """The events of a table, which Airflow shares between its triggers."""

    def __init__(self, conn_id: str, table: TableKey) -> None:
        """Opens nothing."""
        self._conn_id, self._table = conn_id, table
        self._keeper: Keeper | None = None

    async def open_stream(self) -> AsyncIterator[tuple[list[Event], tuple[int, int]]]:
        """Yields events, with the numbers of the first and the last one. Called by Airflow."""
        self._keeper = keeper = keeper_of(await link_of(self._conn_id), self._conn_id)

        def wanted(event: Event) -> bool:
            keeper.note(self, event)
            return True

        try:
            with keeper.hub.subscribed({self._table}, wanted, is_source=True) as subscription:
                while True:
                    if events := await subscription.next(_WAIT):
                        yield events, (events[0]["id"], events[-1]["id"])
        finally:
            keeper.closed(self)

    async def alone(self) -> AsyncIterator[list[Event]]:
        """Yields events for one trigger, whose next step says that it is done with those before."""
        async for events, (_, last) in self.open_stream():
            yield events
            if self._keeper:
                self._keeper.stored(self, last, None)

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Notes that Airflow has stored what the triggers fired. Called by Airflow."""
        failed = [item.broker_payload[0] for item in batch if item.outcome.failed]
        if self._keeper:
            last = batch[-1].broker_payload[1]
            self._keeper.stored(self, last, (self._table, min(failed)) if failed else None)


def _newest(client: MetastoreClient) -> int:
    return int(client.methods.get_current_notificationEventId().eventId)


def keeper_of(link: Link, conn_id: str) -> Keeper:
    """Returns what keeps the position of the watchers of a connection. Raises InvalidAddressError without a stream."""
    if link.hub is None:
        text = f'The connection {conn_id} has no address of an HTTP port. Write {{"{HTTP}": "http://host:9180"}}'
        raise InvalidAddressError(f"{text} into its extra options")
    name = f"{VARIABLE}{conn_id}"

    async def load() -> Any:
        return await asyncio.to_thread(Variable.get, name, None, deserialize_json=True)

    async def save(value: dict[str, Any]) -> None:
        await asyncio.to_thread(Variable.set, name, value, "Where watchers of a metastore are", serialize_json=True)

    if link.keeper is None:
        link.keeper = Keeper(link.hub, socket.gethostname(), lambda: link.call(_newest), load, save)
    return link.keeper
