"""Secrets in parameters: found by their names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.encoding.binary import encode_fields
from metastore.encoding.json import encode_json
from metastore.encoding.redaction import (
    REDACTED,
    is_secret,
    may_hold_secrets,
    redact,
    redacted_json,
    redacted_parameters,
    restore_secrets,
)
from tests.wire.builders import table


@pytest.mark.parametrize(
    "name",
    ["password", "javax.jdo.option.ConnectionPassword", "fs.s3a.secret.key", "fs.s3a.access.key", "db.passwd",
     "aws_access_key", "fs.azure.account.key.x.dfs", "credentials", "client_secret", "sas-token", "PRIVATE_KEY"],
)  # fmt: skip
def test_secret_names(name: str) -> None:
    assert is_secret(name)
    assert may_hold_secrets(name.encode())
    assert redacted_parameters({name: "x", "a": "b"}) == {name: REDACTED, "a": "b"}


@pytest.mark.parametrize("name", ["numRows", "primary.key", "transient_lastDdlTime", "tokenizer", "keys", "comment"])
def test_other_names(name: str) -> None:
    assert not is_secret(name)


@given(st.text())
def test_names_of_secrets_are_recognized(name: str) -> None:
    assert may_hold_secrets(name.encode("utf-8", "replace")) or not is_secret(name)


def test_a_struct_is_searched_through() -> None:
    made = table("d", "t", parameters={"password": "p", "a": "b"})
    made.sd.serdeInfo.parameters["secret"] = "s"
    assert may_hold_secrets(encode_fields(made))
    assert redact(made) == 2
    assert made.parameters == {"password": REDACTED, "a": "b"}
    assert made.sd.serdeInfo.parameters["secret"] == REDACTED


def test_an_event_is_searched_through() -> None:
    made = table("d", "t", parameters={"password": "hunter2"})
    message = json.dumps({"tableObjJson": encode_json(made), "partitions": [{"ds": "1"}]})
    told = redacted_json(message)
    assert "hunter2" not in told
    assert json.loads(told)["partitions"] == [{"ds": "1"}]
    assert REDACTED in json.loads(json.loads(told)["tableObjJson"])["9"]["map"][-1]["password"]
    assert redacted_json('{"a": 1}') == '{"a": 1}'
    assert redacted_json("no password, no JSON") == "no password, no JSON"


def test_unknown_parameters_are_not_restored() -> None:
    new = {"password": REDACTED, "token": REDACTED, "a": REDACTED}
    restore_secrets(new, {"password": "p", "token": "t"})
    assert new == {"password": "p", "token": "t", "a": REDACTED}
