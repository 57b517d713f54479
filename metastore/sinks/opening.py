"""Opens the destination of a sink."""

from __future__ import annotations

from metastore.domain.sinks import Sink, parse_sinks
from metastore.sinks.destination import Destination


def open_destination(sink: Sink) -> Destination:
    """Returns the destination of a sink. Connects to nothing. Raises ConfigurationError."""
    if sink.is_kafka:
        from metastore.sinks.kafka import Topic

        return Topic(sink)
    from metastore.sinks.webhook import Webhook

    return Webhook(sink)


def check_sinks(text: str) -> None:
    """Checks METASTORE_SINKS and the files that it names. Connects to nothing. Raises ConfigurationError."""
    for sink in parse_sinks(text):
        open_destination(sink).close()
