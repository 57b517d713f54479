"""Quotas of users and of client kinds: rates, concurrency and sizes."""

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
    """Limits of a user or a client kind. None means unlimited.

    Attributes:
        calls: calls per second.
        concurrent: calls at the same time.
        connections: open connections.
        partitions: partitions in one request or reply.
        bytes: size of a request and of a reply.
    """

    calls: int | None = None
    concurrent: int | None = None
    connections: int | None = None
    partitions: int | None = None
    bytes: int | None = None


UNLIMITED: Final = Quota()


@dataclass(frozen=True)
class Quotas:
    """Quotas by user name and by client kind. The key `*` applies to every other name."""

    users: Mapping[str, Quota]
    clients: Mapping[str, Quota]

    def of_user(self, user: str) -> Quota:
        return self.users.get(user) or self.users.get(OTHERS, UNLIMITED)

    def of_client(self, kind: str) -> Quota:
        return self.clients.get(kind) or self.clients.get(OTHERS, UNLIMITED)


def parse_quotas(text: str) -> Quotas:
    """Parses rules separated by semicolons: `user *: calls=100 bytes=64M; client pyiceberg: partitions=5000`.

    Raises ConfigurationError for a text that cannot be parsed, and for a limit of 0.
    """
    parsed: dict[str, dict[str, Quota]] = {"user": {}, "client": {}}
    for rule in filter(str.strip, text.split(";")):
        parts = _RULE.fullmatch(rule)
        limits = [_LIMIT.fullmatch(part) for part in parts[3].replace(",", " ").split()] if parts else []
        if parts is None or not limits or None in limits:
            raise ConfigurationError(
                f"quotas: {rule.strip()!r} cannot be parsed. Write user NAME: calls=100 partitions=5000 bytes=64M, or "
                f"client KIND: …, separated by semicolons; * stands for all other names"
            )
        limits_by_name = {limit[1]: int(limit[2]) * _FACTORS[limit[3]] for limit in limits if limit}
        if not all(limits_by_name.values()):
            raise ConfigurationError(f"quotas: {rule.strip()!r} allows nothing; a limit must be 1 or more")
        parsed[parts[1]][parts[2]] = Quota(**limits_by_name)
    return Quotas(parsed["user"], parsed["client"])
