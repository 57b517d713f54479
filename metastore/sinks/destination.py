"""What a destination of messages does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from metastore.domain.cloud_events import Message

_LONGEST: Final = 300  # characters of a text of the other side


class Failure(NamedTuple):
    """Why a message was not delivered.

    Attributes:
        reason: one printable line without secrets.
        retry_after: seconds for which the destination asks to wait.
        is_gone: the destination wants no messages any more.
        is_final: further attempts with this message would fail, too.
    """

    reason: str
    retry_after: float | None = None
    is_gone: bool = False
    is_final: bool = False


class Outcome(NamedTuple):
    """The number of messages that were delivered, from the first one on, and why the next one was not."""

    delivered: int
    failure: Failure | None = None


class Destination(Protocol):
    """A webhook, or a topic of Kafka."""

    batch: int
    """Number of messages to pass at once."""

    def send(self, messages: Sequence[Message], until: float) -> Outcome:
        """Sends messages in their order, until one fails. Begins with no further message after `until`
        (`time.monotonic`), but sends at least one.
        """

    def close(self) -> None:
        """Closes the connections."""


def one_line(text: str) -> str:
    """Returns a text of the other side as a reason may contain it: PostgreSQL, for one, does not take its NUL."""
    line = " ".join(text.split())[:_LONGEST]
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
