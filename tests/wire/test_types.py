"""Named types."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import columns, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
    Type,
)


def test_made_read_listed_dropped(hive_client: Any) -> None:
    name = unique("Type")
    sent = Type(name, type1="int", type2="array<string>", fields=columns(("A", "int"), ("b", "string")))
    assert hive_client.create_type(sent) is True
    actual_type = hive_client.get_type(name)
    assert (actual_type.name, actual_type.type1, actual_type.type2) == (name, "int", "array<string>")
    assert [(field.name, field.type) for field in actual_type.fields] == [("A", "int"), ("b", "string")]
    assert hive_client.get_type_all(f"{name}|nothing") == {name: actual_type}
    assert hive_client.get_type_all("*")[name] == actual_type
    with pytest.raises(AlreadyExistsException, match=f"Type {name} already exists"):
        hive_client.create_type(sent)
    for _ in range(2):
        assert hive_client.drop_type(name) is True
    with pytest.raises(NoSuchObjectException, match=f"Type {name} does not exist"):
        hive_client.get_type(name)


@pytest.mark.parametrize(
    "bad",
    [
        Type(),
        Type(""),
        Type("a b"),
        Type("x" * 10_000),
        Type("t", fields=columns(("a", "int"), ("A", "int"))),
    ],
)
def test_refusals(hive_client: Any, bad: Type) -> None:
    with pytest.raises(InvalidObjectException):
        hive_client.create_type(bad)


def test_a_call_without_a_type(hive_client: Any) -> None:
    with pytest.raises(MetaException, match="argument type"):
        hive_client.create_type(None)
    with pytest.raises(MetaException, match="Invalid name pattern"):
        hive_client.get_type_all("[")
