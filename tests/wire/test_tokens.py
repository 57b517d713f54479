"""Delegation tokens and master keys."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NoSuchObjectException


def test_tokens_are_kept_until_they_are_removed(hive_client: Any) -> None:
    name = unique("token")
    assert hive_client.add_token(name, "é" * 5000) is True
    assert hive_client.add_token(name, "other") is False
    assert hive_client.get_token(name) == "é" * 5000
    assert name in hive_client.get_all_token_identifiers()
    assert hive_client.remove_token(name) is True
    assert hive_client.remove_token(name) is False
    assert hive_client.get_token(name) == ""
    assert name not in hive_client.get_all_token_identifiers()


def test_master_keys_have_numbers(hive_client: Any) -> None:
    one, two = unique("key"), unique("key")
    first, second = hive_client.add_master_key(one), hive_client.add_master_key(two)
    assert first < second
    assert [key for key in hive_client.get_master_keys() if key in (one, two)] == [one, two]
    hive_client.update_master_key(first, one + "!")
    assert one + "!" in hive_client.get_master_keys()
    assert hive_client.remove_master_key(first) is True
    assert hive_client.remove_master_key(first) is False
    with pytest.raises(NoSuchObjectException, match=f"No key found with keyId: {first}"):
        hive_client.update_master_key(first, "x")


def test_nonsense_is_rejected(hive_client: Any) -> None:
    for identifier, token in ((None, "x"), ("x", None), ("a\0b", "x"), (secrets.token_hex(5_000), "x")):
        with pytest.raises(TApplicationException):
            hive_client.add_token(identifier, token)
    with pytest.raises(MetaException, match="needs a text"):
        hive_client.add_master_key(None)
    assert hive_client.get_token(None) == ""
    assert hive_client.remove_master_key(-1) is False


def test_delegation_tokens_need_kerberos(hive_client: Any) -> None:
    """Trap 28."""
    for ask in (
        lambda: hive_client.get_delegation_token("owner", "renewer"),
        lambda: hive_client.renew_delegation_token("x"),
        lambda: hive_client.cancel_delegation_token("x"),
    ):
        with pytest.raises(MetaException, match="only over Kerberos"):
            ask()
