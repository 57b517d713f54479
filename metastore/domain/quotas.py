"""Quotas: what a user, or all clients of a kind, may ask for in a second and in a call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from metastore.errors import ConfigurationError

OTHERS: Final = "*"
_FACTORS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_RULE: Final = re.compile(r"\s*(user|client)\s+([^\s:]+)\s*:(.*)", re.DOTALL)
_LIMIT: Final = re.compile(r"(calls|concurrent|connections|partitions|bytes)=(\d+)([KMG]?)")


@dataclass(frozen=True, kw_only=True)
class Quota:
    """None: as many as one likes.

    Attributes:
        calls: a second.
        concurrent: calls in flight.
        connections: that call.
        partitions: that one call sends or is sent.
        bytes: of a request, and of a reply.
    """

    calls: int | None = None
    concurrent: int | None = None
    connections: int | None = None
    partitions: int | None = None
    bytes: int | None = None


UNLIMITED: Final = Quota()


@dataclass(frozen=True)
class Quotas:
    """By name; `*` for each that has none of its own."""

    users: Mapping[str, Quota]
    clients: Mapping[str, Quota]

    def of_user(self, user: str) -> Quota:
        return self.users.get(user) or self.users.get(OTHERS, UNLIMITED)

    def of_client(self, kind: str) -> Quota:
        return self.clients.get(kind) or self.clients.get(OTHERS, UNLIMITED)


def parse_quotas(text: str) -> Quotas:
    """Reads rules with semicolons between: `user *: calls=100 bytes=64M; client pyiceberg: partitions=5000`.

    Raises ConfigurationError.
    """
    found: dict[str, dict[str, Quota]] = {"user": {}, "client": {}}
    for rule in filter(str.strip, text.split(";")):
        parts = _RULE.fullmatch(rule)
        limits = [_LIMIT.fullmatch(part) for part in parts[3].replace(",", " ").split()] if parts else []
        if parts is None or not limits or None in limits:
            raise ConfigurationError(
                f"quotas: {rule.strip()!r} cannot be read; write  user NAME: calls=100 partitions=5000 bytes=64M  or  "
                f"client KIND: …, * for all others, ; between them"
            )
        given = {limit[1]: int(limit[2]) * _FACTORS[limit[3]] for limit in limits if limit}
        if not all(given.values()):
            raise ConfigurationError(f"quotas: {rule.strip()!r} leaves nothing: a limit is 1 or more")
        found[parts[1]][parts[2]] = Quota(**given)
    return Quotas(found["user"], found["client"])
