"""Expired tickets and differing clocks: docs/explanation/security.md documents the messages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metastore.client import errors
from metastore.client.sasl import Gssapi
from metastore.identity import KERBEROS, AuthenticationFailedError, Identity
from metastore.security.authenticator import SessionChecks
from metastore.security.kerberos import Kerberos
from tests.fixtures.server import Server
from tests.wire.transport.conftest import eventually

from .conftest import client_of, raw, ticket_of


def told(server: Server) -> str:
    with client_of(server, kerberos="hive") as client:
        try:
            return str(client.get_database("default"))
        except errors.ClientError as error:
            return str(error)


def test_an_expired_ticket_is_reported(start: Callable[..., Server], realm: Any, environment: Any) -> None:
    server = start("--authentication", "kerberos", "--kerberos-keytab", realm.keytab)
    realm.kinit("alice@KRBTEST.COM", "alice", flags=["-l", "1s"])
    try:
        assert eventually(lambda: "expired" in told(server)), told(server)
    finally:
        realm.run(["kdestroy"])


def test_a_clock_that_differs_is_reported(
    start: Callable[..., Server], realm: Any, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Sends a message that was created a while ago, as a client with a slow clock would. A second is too much here."""
    import gssapi

    strict = tmp_path / "krb5.conf"
    text = Path(os.environ["KRB5_CONFIG"]).read_text()
    strict.write_text(text.replace("[libdefaults]", "[libdefaults]\n clockskew = 1", 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRB5_CONFIG", str(strict))
        server = start("--authentication", "kerberos", "--kerberos-keytab", realm.keytab)
    with ticket_of(realm, "alice"):
        name = gssapi.Name("hive@localhost", gssapi.NameType.hostbased_service)
        token = gssapi.SecurityContext(name=name, usage="initiate").step()

    def answer() -> bytes:
        with raw(server) as sock:
            sock.sendall(b"\x01\x00\x00\x00\x06GSSAPI\x02" + len(token).to_bytes(4, "big") + token)
            return sock.recv(4096)

    assert eventually(lambda: b"Clock skew too great" in answer()), answer()


def test_replayed_tickets_are_rejected(realm: Any, environment: Any) -> None:
    kerberos = Kerberos(Path(realm.keytab), "DEFAULT", "authentication,integrity,privacy")
    with ticket_of(realm, "alice"):
        client, server = Gssapi("hive@localhost"), kerberos.start()
        said = [client.step(None)]
        while not client.done:
            said.append(client.step(server.step(said[-1])))
        recorded = [bytearray(each) for each in said]  # the library modifies its input
        server.step(said[-1])
    assert server.identity == Identity("alice", KERBEROS)
    again = kerberos.start()
    for each in recorded[:-1]:
        again.step(bytes(each))
    with pytest.raises(AuthenticationFailedError, match="GSS initiate failed"):
        again.step(bytes(recorded[-1]))
    assert again.identity is None


def test_a_session_ends_with_its_ticket_and_the_realm_is_that_of_the_first_key(
    realm: Any, environment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client chooses the key: with the key's realm as ours, users of two realms could have one name."""
    keytab = str(tmp_path / "keytab")
    realm.addprinc("hive/localhost@OTHER.COM", "service")
    for name in ("hive/localhost@KRBTEST.COM", "hive/localhost@OTHER.COM"):
        realm.run_kadminl(f"ktadd -norandkey -k {keytab} {name}")
    kerberos = Kerberos(Path(keytab), "DEFAULT", "authentication")
    assert kerberos.realm == "KRBTEST.COM"
    with ticket_of(realm, "alice"):
        client, server = Gssapi("hive@localhost"), kerberos.start()
        said = client.step(None)
        while not client.done:
            said = client.step(server.step(said))
        server.step(said)
    assert server.identity
    assert SessionChecks().ended([server.identity]) == [""]
    monkeypatch.setattr(time, "time", lambda: float("inf"))
    assert SessionChecks().ended([server.identity]) == ["the login of alice by kerberos has expired"]


def test_a_client_that_does_not_ask_for_our_key_is_rejected(realm: Any, environment: Any) -> None:
    import gssapi

    kerberos = Kerberos(Path(realm.keytab), "DEFAULT", "authentication")
    with ticket_of(realm, "alice"):
        name = gssapi.Name("hive@localhost", gssapi.NameType.hostbased_service)
        flags = gssapi.RequirementFlag.integrity
        token = gssapi.SecurityContext(name=name, usage="initiate", flags=flags).step()
    with pytest.raises(AuthenticationFailedError, match="the client must request mutual authentication"):
        kerberos.start().step(token)


def test_protection_requires_sequence_detection(realm: Any, environment: Any) -> None:
    import gssapi

    kerberos = Kerberos(Path(realm.keytab), "DEFAULT", "integrity")
    with ticket_of(realm, "alice"):
        name = gssapi.Name("hive@localhost", gssapi.NameType.hostbased_service)
        flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity
        client, server = gssapi.SecurityContext(name=name, usage="initiate", flags=flags), kerberos.start()
        client.step(server.step(client.step()))
        client.unwrap(server.step(b""))
    with pytest.raises(AuthenticationFailedError, match="must request sequence detection"):
        server.step(client.wrap(b"\x02\x00\xff\xff", encrypt=False).message)
