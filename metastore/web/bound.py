"""Which connection is closed if there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

Connection = TypeVar("Connection")


def one_to_close(connections: Mapping[Connection, str]) -> Connection:
    """Returns the oldest connection of the client with the most of them, so that a flood closes no other client's.

    `connections`: the networks of their clients; the oldest first.
    """
    ((most, _),) = Counter(connections.values()).most_common(1)
    return next(each for each, network in connections.items() if network == most)
