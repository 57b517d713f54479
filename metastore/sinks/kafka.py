"""Sends messages to a topic of Kafka, by librdkafka (`confluent-kafka`, the extra `kafka`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from metastore.domain.cloud_events import CONTENT_TYPE, Message
from metastore.domain.sinks import Sink
from metastore.errors import ConfigurationError
from metastore.sinks.destination import Failure, Outcome, one_line

log = logging.getLogger("metastore.sinks")

_HEADERS: Final = [("content-type", CONTENT_TYPE.encode())]
_PURGE: Final = 5.0  # seconds to wait for the reports of messages that are given up
_DEFAULTS: Final = {
    "client.id": "metastore",
    "linger.ms": 5,
    "queue.buffering.max.kbytes": 65_536,
    "log_level": 0,  # the sender logs what fails; `log_level=7` in the file shows what the client does
}
# Order and completeness depend on these. Messages have no time limits, so that none is given up between two others:
# `send` gives up all at once.
_FIXED: Final = {
    "enable.idempotence": True,
    "enable.gapless.guarantee": True,
    "acks": "all",
    "message.timeout.ms": 0,
}


class Topic:
    """A topic. The key of a message selects its partition, so that messages with one key stay in order."""

    batch = 1000

    def __init__(self, sink: Sink) -> None:
        """Raises ConfigurationError."""
        if find_spec("confluent_kafka") is None:  # not imported: its threads would not survive the fork of the process
            raise ConfigurationError(f"sinks: {sink.name} needs Kafka's client. Run: pip install 'metastore[kafka]'")
        parts = urlsplit(sink.address)
        self._sink, self._topic = sink, parts.path.removeprefix("/")
        self._settings = {**_DEFAULTS, **_properties(sink), "bootstrap.servers": parts.netloc, **_FIXED}
        self._producer: Any = None
        self._most = self.batch  # messages to send at once: fewer after a batch that was too large
        self._problem = ""  # what the client has reported last

    def send(self, messages: Sequence[Message], until: float) -> Outcome:  # noqa: ARG002
        """Sends messages, and waits until the brokers have stored them. `until` is not used: the timeout bounds it."""
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + self._sink.timeout
        try:
            if self._producer is None:
                self._connect(deadline)
        except KafkaException as error:
            self.close()
            return Outcome(0, self._failure(error.args[0]))
        part = messages[: self._most]
        stored, failure = self._produce(part, deadline)
        if failure is None:
            self._most = min(self._most + self._most // 8 + 1, self.batch)
            return Outcome(len(part))
        self.close()
        if failure.is_final and len(part) > 1:  # the brokers reject a batch, whichever of its messages is large
            self._most = max(1, len(part) // 8)
            return Outcome(stored)
        return Outcome(stored, failure)

    def close(self) -> None:
        """Gives up what is not stored, and closes the connections."""
        if self._producer is not None:
            self._producer.purge()
            self._flush(time.monotonic() + _PURGE)
            self._producer = None

    def _connect(self, deadline: float) -> None:
        """Raises KafkaException, also if the topic does not exist."""
        from confluent_kafka import KafkaException, Producer

        self._problem = ""
        self._producer = Producer({**self._settings, "error_cb": self._note}, logger=log)
        known = self._producer.list_topics(self._topic, timeout=max(deadline - time.monotonic(), 0.1))
        if (error := known.topics[self._topic].error) is not None:
            raise KafkaException(error)

    def _produce(self, messages: Sequence[Message], deadline: float) -> tuple[int, Failure | None]:
        """Returns how many messages are stored, from the first one on, and why the next one is not."""
        from confluent_kafka import KafkaException

        reports: dict[int, Any] = {}  # by the number of a message: None, or its error
        count = 0
        refused: Failure | None = None
        for message in messages:
            try:
                self._enqueue(message, partial(_report, reports, count), deadline)
            except KafkaException as error:
                refused = self._failure(error.args[0])
                break
            count += 1
        self._flush(deadline)
        stored = next((each for each in range(count) if each not in reports or reports[each] is not None), count)
        if stored == count:
            return stored, refused
        if errors := [reports[each] for each in range(stored, count) if reports.get(each) is not None]:
            return stored, self._failure(errors[0])
        reason = self._problem or "the brokers do not answer"
        return stored, _failure(f"{self._sink.shown_address} has not stored it: {reason}")

    def _enqueue(self, message: Message, report: Callable[[Any, Any], None], deadline: float) -> None:
        """Raises KafkaException. If the queue is full, waits until the brokers have stored what is in it."""
        from confluent_kafka import KafkaError, KafkaException

        for is_last in (False, True):
            try:
                key = message.key or None
                self._producer.produce(self._topic, message.body, key, headers=_HEADERS, on_delivery=report)
                return
            except BufferError:
                if is_last:
                    raise KafkaException(KafkaError(KafkaError._QUEUE_FULL)) from None  # noqa: SLF001 - public in C
                self._flush(deadline)

    def _flush(self, deadline: float) -> None:
        """Waits for the reports of all messages. A fatal error, such as a gap would be, ends the client: one report is
        lost, and the others come at the second try.
        """
        from confluent_kafka import KafkaError, KafkaException

        for _ in range(2):
            try:
                self._producer.flush(max(deadline - time.monotonic(), 0.1))
                return
            except (KafkaError, KafkaException, SystemError) as error:  # the last one from a report
                cause = error.__cause__ or error
                self._note(cause.args[0] if isinstance(cause, KafkaException) else cause)

    def _failure(self, error: Any) -> Failure:
        rest = f" ({self._problem})" if self._problem else ""
        return _failure(f"{self._sink.shown_address}: {_text(error)}{rest}")

    def _note(self, error: Any) -> None:
        """Keeps what the client reports from its threads. Called by the library."""
        self._problem = _text(error)


def _failure(reason: str) -> Failure:
    from confluent_kafka import KafkaError

    return Failure(reason, is_final=KafkaError(KafkaError.MSG_SIZE_TOO_LARGE).str() in reason)


def _text(error: Any) -> str:
    return one_line(str(getattr(error, "str", error.__str__)()))


def _report(reports: dict[int, Any], number: int, error: Any, _message: Any) -> None:
    """Keeps the report about a message. Called by the library."""
    reports[number] = error


def _properties(sink: Sink) -> dict[str, str]:
    """Reads the properties of librdkafka: lines `name=value`. Raises ConfigurationError, without values."""
    if not sink.config_file:
        return {}
    try:
        lines = Path(sink.config_file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(f"sinks: {sink.name}: config_file {sink.config_file}: {reason}") from None
    properties = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator:
            raise ConfigurationError(
                f"sinks: {sink.name}: config_file {sink.config_file}, line {number}: write name=value"
            )
        properties[name.strip()] = value.strip()
    return properties
