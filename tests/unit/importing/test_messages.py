"""Messages of events: messages of Hive 4 are decompressed, damaged ones are recognised."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from metastore.importing import messages
from metastore.importing.messages import GZIP, is_renamed, json_message
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

TEXT = '{"db":"größe"}'


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


@pytest.mark.parametrize(
    ("form", "message", "expected"),
    [
        ("json-0.2", TEXT, TEXT),
        (None, TEXT, TEXT),
        ("", None, ""),
        (GZIP, packed(TEXT.encode()), TEXT),
        (GZIP, packed(b"no json"), None),
        (GZIP, packed(b"\xff"), None),
        (GZIP, "%%%", None),
        (GZIP, "aGVsbG8=", None),
        (GZIP, packed(TEXT.encode())[:-12], None),
        (GZIP, None, None),
        (GZIP, packed(b"[" * 100_000), None),
        ("protobuf", TEXT, None),
    ],
)
def test_messages_of_all_formats(form: str | None, message: str | None, expected: str | None) -> None:
    assert json_message(NotificationEvent(message=message, messageFormat=form)) == expected


@pytest.mark.parametrize(
    ("kind", "old", "renamed"),
    [
        ("ALTER_TABLE", "t", False),
        ("ALTER_TABLE", "other", True),
        ("ALTER_TABLE", "", True),
        ("INSERT", "other", False),
    ],
)
def test_renames_are_found_in_messages(kind: str, old: str, renamed: bool) -> None:
    before = json.dumps({"1": {"str": old}, "2": {"str": "D"}}) if old else "damaged"
    text = json.dumps({"tableObjBeforeJson": before})
    assert is_renamed(NotificationEvent(1, 1, kind, dbName="d", tableName="T", message=text)) is renamed


def test_a_message_that_grows_too_large_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_LARGEST", 100)
    sizes = {
        size: json_message(NotificationEvent(message=packed(b"1" * size), messageFormat=GZIP)) for size in (99, 101)
    }
    assert sizes == {99: "1" * 99, 101: None}
