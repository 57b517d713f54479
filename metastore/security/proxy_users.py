"""Proxy users: engines that act for other users, as with Hadoop's hadoop.proxyuser.*."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from metastore.addresses import Network, contains, parse_networks
from metastore.errors import ConfigurationError
from metastore.identity import is_name

_ANY: Final = "*"
_KEYS: Final = ("users", "groups", "hosts")


@dataclass(frozen=True)
class _Rule:
    users: frozenset[str]
    groups: frozenset[str]
    networks: tuple[Network, ...] | None  # None: any address


class ProxyUsers:
    """The rules of METASTORE_PROXY_USERS: `trino?users=*&hosts=10.0.0.0/8 kyuubi?groups=analysts`.

    `users` or `groups` list the users whom the proxy user may impersonate, `*` means all. `hosts` are the addresses and
    networks from which it may connect; all if missing.
    """

    def __init__(self, text: str, groups_of: Callable[[str], list[str]]) -> None:
        """Raises ConfigurationError."""
        self._groups_of = groups_of
        self._rules = dict(_rule(part) for part in text.split())

    def has(self, user: str) -> bool:
        """Returns whether the user is a proxy user."""
        return user in self._rules

    def may_act(self, user: str, other: str, peer: str) -> bool:
        """Returns whether `user` may act for `other` from `peer` ("host:port"). May block on a group lookup."""
        rule = self._rules.get(user)
        if rule is None or not is_name(other):
            return False
        if rule.networks is not None and not contains(rule.networks, peer):
            return False
        if _ANY in rule.users or other in rule.users or _ANY in rule.groups:
            return True
        return bool(rule.groups) and not rule.groups.isdisjoint(self._groups_of(other))


def _rule(text: str) -> tuple[str, _Rule]:
    user, _, query = text.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if not user or set(options) - set(_KEYS) or not {"users", "groups"} & set(options):
        raise ConfigurationError(
            f"proxy_users: {text!r} is not a rule; write name?users=a,b&groups=c&hosts=10.0.0.0/8, with users or groups"
        )
    hosts = options.get("hosts", _ANY)
    try:
        networks = None if hosts == _ANY else parse_networks(hosts)
    except ValueError as error:
        raise ConfigurationError(f"proxy_users: {text!r}: {error}; hosts are addresses or networks") from error
    return user, _Rule(_names(options.get("users")), _names(options.get("groups")), networks)


def _names(text: str | None) -> frozenset[str]:
    return frozenset(filter(None, (text or "").split(",")))
