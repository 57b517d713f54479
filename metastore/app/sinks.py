"""The process that sends events to the sinks of METASTORE_SINKS: a thread for each, so that none delays another."""

from __future__ import annotations

import select
from dataclasses import replace
from functools import partial
from threading import Event, Thread
from typing import Final
from uuid import UUID

from metastore.app.log_reading import read_log
from metastore.app.sink_sender import Read, Sender
from metastore.domain.events import EventFilter
from metastore.domain.sinks import Sink, parse_sinks
from metastore.encoding.redaction import may_hold_secrets, redacted_json
from metastore.monitoring.logs import configure
from metastore.services.authorization.events import visible_events
from metastore.services.authorization.everyone import Everyone
from metastore.services.sinks import SinkService
from metastore.settings import Settings
from metastore.sinks.opening import open_destination
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

_LARGEST_BATCH: Final = 8 * 2**20  # bytes of the events that a sink reads at once
_LARGEST_EVENT: Final = 256 * 2**20  # bytes of a single event
_STOP_TIMEOUT: Final = 5.0  # seconds for running requests to end. Otherwise their events are sent again


def run_sinks(settings: Settings, url: str, server: UUID, lifeline: int) -> int:
    """Sends events until `lifeline` is readable. Returns the exit status.

    `server`: holds the leases. A process that replaces a dead one of the same server continues at once.
    """
    configure(settings.log_level, settings.log_format)
    sinks = parse_sinks(settings.sinks)
    bounded = replace(settings, pool_size=len(sinks))
    store, stopped = Store(make_engine(bounded, url, application="metastore sinks"), bounded), Event()
    read = log_reader(store)
    threads = [Thread(target=_sender(sink, store, read, server, stopped).run, daemon=True) for sink in sinks]
    for thread in threads:
        thread.start()
    select.select([lifeline], [], [])
    stopped.set()
    for thread in threads:
        thread.join(_STOP_TIMEOUT)
    return 0


def _sender(sink: Sink, store: Store, read: Read, server: UUID, stopped: Event) -> Sender:
    return Sender(sink, SinkService(store, server), read, open_destination(sink), stopped)


def log_reader(store: Store) -> Read:
    """Returns a function that reads the log as an administrator does, but without secrets."""
    everyone = Everyone(store)

    def ask(after: int, most: int) -> list[NotificationEvent]:
        largest = _LARGEST_EVENT if most == 1 else _LARGEST_BATCH
        events = visible_events(store, everyone, after, EventFilter(), most, largest)
        for each in events:
            if may_hold_secrets(each.message.encode()):
                each.message = redacted_json(each.message)
        return events

    return partial(read_log, ask)
