"""Addresses of clients, as "host:port", and networks of them."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

Connection = TypeVar("Connection")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_PREFIX: Final = 64  # bits: the smallest network that a host with IPv6 has for itself


def peer_name(host: str, port: int) -> str:
    """Returns the address of a peer as "host:port", without the prefix of an IPv4 address on an IPv6 socket."""
    host = host.removeprefix("::ffff:")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_of(peer: str) -> str:
    """Returns the host of "host:port", without the brackets of an IPv6 address."""
    return peer.rpartition(":")[0].strip("[]")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parses addresses and networks separated by commas. Raises ValueError if one is invalid."""
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def contains(networks: Iterable[Network], peer: str) -> bool:
    """Returns whether one of the networks contains the peer at "host:port". A host name is in no network."""
    try:
        address = ipaddress.ip_address(host_of(peer))
    except ValueError:
        return False
    return any(address in network for network in networks)


def network_of(host: str) -> str:
    """Returns the network by which limits count a client: the /64 network of an IPv6 address, because its host can use
    all addresses in it. Returns other texts unchanged.

    An IPv4 address on an IPv6 socket (::ffff:10.0.0.1) stays one: its /64 network would be the whole internet.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
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
