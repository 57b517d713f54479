"""The network of a client's address: limits count clients by it."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeVar

Connection = TypeVar("Connection")
_PREFIX: Final = 64  # bits: the smallest network that a host with IPv6 has for itself


def network_of(host: str) -> str:
    """Returns the /64 network of an IPv6 address, with or without brackets, because its host can use all addresses in
    it. Returns other texts unchanged.

    An IPv4 address on an IPv6 socket (::ffff:10.0.0.1) stays one: its /64 network would be the whole internet.
    """
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host
    if mapped := getattr(address, "ipv4_mapped", None):
        return str(mapped)
    return str(ipaddress.ip_network((address, _PREFIX), strict=False)) if address.version == 6 else str(address)


def one_to_close(connections: Mapping[Connection, str]) -> Connection:
    """Returns the oldest connection of the client with the most of them, so that a flood closes no other client's.

    `connections`: the networks of their clients; the oldest first.
    """
    ((most, _),) = Counter(connections.values()).most_common(1)
    return next(each for each, network in connections.items() if network == most)
