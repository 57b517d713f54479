"""The kind of a client, recognized by its first message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from thrift.transport.TSocket import TSocket

from metastore.client.connection import Address, Connection
from metastore.client.credentials import Credentials
from metastore.domain.client_kinds import SEQUENCE, kind_of


@pytest.mark.parametrize(
    ("method", "sequence", "kind"),
    [
        ("set_ugi", 0, "java"),
        ("getVersion", 0, "pyiceberg"),
        ("get_table", 1, "other"),
        ("set_ugi", SEQUENCE, "metastore"),
        ("get_table", SEQUENCE, "metastore"),
    ],
)
def test_it_is_reported(method: str, sequence: int, kind: str) -> None:
    assert kind_of(method, sequence) == kind


def test_our_client_numbers_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = bytearray()
    stream = SimpleNamespace(
        sendall=sent.extend, send=lambda data: sent.extend(data) or len(data), settimeout=lambda _: None
    )

    def opened(self: Any) -> None:
        self.setHandle(stream)

    monkeypatch.setattr(TSocket, "open", opened)
    connection = Connection(Address("h"), connect_timeout=1, timeout=1, user=None, credentials=Credentials())
    connection._client.send_get_all_databases()
    assert b"get_all_databases" + SEQUENCE.to_bytes(4, "big") in sent
