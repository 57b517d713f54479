"""Triggers: what waits in Airflow's triggerer. All triggers of a process share one connection to the stream."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, TaskSuccessEvent, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from metastore.airflow.hook import link_of
from metastore.airflow.hub import BEGUN, Event, Hub, TableKey, is_break
from metastore.airflow.link import until
from metastore.airflow.settings import DEFAULT_CONNECTION, HTTP
from metastore.airflow.waits import Wait, matches
from metastore.client import MetastoreClient
from metastore.client.errors import InvalidAddressError, NoSuchObjectError
from metastore.domain.event_stream import REWOUND

_SOON: Final = 2.0  # seconds between two looks at whether Airflow has stored what events started
_LATER: Final = 600.0  # seconds between two looks at whether the position of a quiet table is to be stored
_STORED: Final = 3600.0  # seconds after which the position of a quiet table is stored


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


@dataclass(frozen=True)
class Batch:
    """Events of a table, up to a position. `persisted`: returns the position up to which Airflow has stored all."""

    events: Sequence[Event]
    position: int
    persisted: Callable[[], int]


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

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Batch]) -> AsyncIterator[TriggerEvent]:
        """Fires for the events that are selected, and stores the position. Called by Airflow."""
        link, place = await link_of(self.metastore_conn_id), _Place(self)
        await place.load(lambda: link.call(_newest))
        await _hub(link.hub, self.metastore_conn_id).rewind(self._key, place.last)
        async for batch in shared_stream:
            for event in batch.events:
                if event["type"] == BEGUN or (event["id"] <= place.last and event["type"] != REWOUND):
                    continue
                if await link.call(self._has_partitions) if is_break(event) else self._selects(event):
                    yield TriggerEvent({**event, "database": self._key[0], "table": self._key[1]})
                    place.has_fired = True
                place.last = event["id"]
            await place.store(batch)

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
        self._persisted = -1

    async def open_stream(self) -> AsyncIterator[tuple[Batch, int]]:
        """Yields batches of events with the position after them, and empty ones now and then. Called by Airflow."""
        hub = _hub((await link_of(self._conn_id)).hub, self._conn_id)
        with hub.subscribed({self._table}, lambda _: True) as subscription:
            unstored: int | None = None  # the position of events that Airflow may not have stored yet
            while True:
                events = await subscription.next(_LATER if unstored is None else _SOON)
                if events:
                    unstored = position = events[-1]["id"]
                elif subscription.has_events or hub.position is None:
                    continue
                elif unstored is None:
                    position = max(hub.position, self._persisted)
                elif self._persisted >= unstored:
                    position, unstored = unstored, None
                else:
                    continue
                yield Batch(events, position, lambda: self._persisted), position

    async def alone(self) -> AsyncIterator[Batch]:
        """Yields batches for one trigger, whose next step says that it is done with the one before."""
        async for batch, position in self.open_stream():
            yield batch
            self._persisted = position

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Notes that Airflow has stored what the triggers fired. Called by Airflow."""
        self._persisted = batch[-1].broker_payload


class _Place:
    """The position of a trigger in the log, stored with the state of its asset."""

    def __init__(self, trigger: PartitionEventTrigger) -> None:
        self._trigger = trigger
        self._name = "/".join(("metastore", *trigger.shared_stream_key()[1:], *trigger.types, trigger.partitions))[:500]
        self._stored_at = time.monotonic()
        self.last = 0
        self.has_fired = False

    async def load(self, newest: Callable[[], Any]) -> None:
        """Reads the position. A new trigger begins with the next event."""
        store, stored = self._trigger.asset_state_store, None
        if store is not None:
            try:
                stored = await store.aget(self._name)
            except ValueError:  # several assets share the trigger, and the store asks for one of them
                self._trigger.log.warning(
                    "%s is watched by several assets: after a restart, it begins anew", self._name
                )
                self._trigger.asset_state_store = None
        self.last = stored if isinstance(stored, int) else await newest()
        if stored is None:
            await self._write(self.last)

    async def store(self, batch: Batch) -> None:
        """Stores the position after events that fired, and once an hour."""
        position = max(self.last, batch.position)
        is_due = self.has_fired or time.monotonic() - self._stored_at > _STORED
        if is_due and batch.persisted() >= self.last:
            await self._write(position if not batch.events else self.last)
            self.has_fired, self._stored_at = False, time.monotonic()

    async def _write(self, position: int) -> None:
        if self._trigger.asset_state_store is not None:
            try:
                await self._trigger.asset_state_store.aset(self._name, position)
            except AirflowRuntimeError as error:
                self._trigger.log.warning("The position of %s is not stored: %s", self._name, error)


def _newest(client: MetastoreClient) -> int:
    return int(client.methods.get_current_notificationEventId().eventId)


def _hub(hub: Hub | None, conn_id: str) -> Hub:
    if hub is None:
        text = f'The connection {conn_id} has no address of an HTTP port. Write {{"{HTTP}": "http://host:9180"}}'
        raise InvalidAddressError(f"{text} into its extra options")
    return hub
