"""The sinks of events: how far each has read the notification log, and what it has not taken."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, Uuid

from metastore.storage.schema.base import Name, id_column, metadata, time_column

# A server holds a sink by a lease, and sends its events. A row outlives the setting that names the sink.
event_sinks = Table(
    "event_sinks",
    metadata,
    Column("name", Name, primary_key=True),
    Column("position", BigInteger, nullable=False),  # the last event that was sent, given up or not wanted
    Column("epoch", Text, nullable=False),  # domain.sinks.is_rewound
    Column("holder", Uuid),
    time_column("held_until"),
    Column("attempts", Integer, nullable=False),  # that have failed, of the event after the position
    time_column("retry_at"),
    Column("error", Text),  # of the last attempt
    time_column("disabled_at"),
    Column("sent", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
)

# Messages that a sink has not taken after all attempts.
dead_letters = Table(
    "dead_letters",
    metadata,
    id_column(),
    Column("sink", Name, ForeignKey("event_sinks.name", ondelete="CASCADE"), nullable=False),
    Column("number", BigInteger, nullable=False),  # of the event
    Column("identity", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("error", Text, nullable=False),
    time_column("died_at", nullable=False),
    time_column("requested_at"),  # when an administrator has asked to send it again
    Index("dead_letters_sink_idx", "sink", "id"),
)
