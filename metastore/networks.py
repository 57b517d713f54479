"""Networks of IP addresses in settings: `10.0.0.0/8`, or a single address."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parses addresses and networks separated by commas. Raises ValueError if one is invalid."""
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def contains(networks: Iterable[Network], host: str) -> bool:
    """Returns whether one of the networks contains an address. A text that is no address is in no network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in networks)
