"""Addresses in the forms that users write."""

from __future__ import annotations

import socket

import pytest

from metastore.client import Address, connect, parse_uris
from metastore.client.errors import InvalidAddressError, MetastoreUnavailableError


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("thrift://a:1", [Address("a", 1)]),
        (" thrift://a:1 , thrift://b ", [Address("a", 1), Address("b", 9083)]),
        ("thrift://[::1]:9083", [Address("::1", 9083)]),
        (["thrift://a", "thrift://b:2"], [Address("a"), Address("b", 2)]),
    ],
)
def test_parse_uris(text: str | list[str], addresses: list[Address]) -> None:
    assert parse_uris(text) == tuple(addresses)


@pytest.mark.parametrize(
    "text",
    [None, [], "", ",", "a:1", "http://a:1", "thrift://", "thrift://a:x", "thrift://a:1/db", "thrift://a:99999"],
)
def test_rubbish_is_named(text: str | list[str] | None) -> None:
    with pytest.raises(InvalidAddressError, match="thrift://host:9083"):
        parse_uris(text)


@pytest.mark.parametrize("address", [Address("a", 1), Address("::1", 2)])
def test_an_address_prints_as_it_is_written(address: Address) -> None:
    assert parse_uris(str(address)) == (address,)


def test_the_reason_why_a_server_is_not_reached_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(MetastoreUnavailableError, match=rf"thrift://127.0.0.1:{port} \(Connection refused\)"):
        connect(f"thrift://127.0.0.1:{port}").check_reachable()
