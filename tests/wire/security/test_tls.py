"""TLS on the same port, detected by its first bytes; certificates of servers and clients."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from metastore.client import errors
from metastore.transport.certificate import REQUIRED, Certificate
from tests.fixtures.server import Server
from tests.wire.transport.conftest import eventually
from thrift_idl.gen.hive_metastore.ttypes import Database

from .conftest import Authority, Pem, client_of, raw, who

pytestmark = pytest.mark.slow

DATABASES = b"\x80\x01\x00\x01\x00\x00\x00\x11get_all_databases\x00\x00\x00\x00\x00"


@pytest.fixture(scope="module")
def allowed(start: Callable[..., Server], tls_options: list[str]) -> Server:
    return start("--tls", "allowed", *tls_options)


@pytest.fixture(scope="module")
def required(start: Callable[..., Server], tls_options: list[str]) -> Server:
    return start("--tls", "required", *tls_options)


def test_tls_and_plain_on_one_port(allowed: Server, authority: Authority) -> None:
    for credentials in ({}, {"tls": True, "ca": str(authority.pem)}):
        with client_of(allowed, **credentials) as client:
            assert "default" in client.methods.get_all_databases()


def test_large_messages_arrive_whole(allowed: Server, authority: Authority) -> None:
    comment = "ü" * 3_000_000
    with client_of(allowed, tls=True, ca=str(authority.pem)) as client:
        client.methods.create_database(Database(name="large", description=comment))
        assert client.methods.get_database("large").description == comment
        client.methods.drop_database("large", True, True)


def test_a_plain_client_gets_an_error_about_tls(required: Server) -> None:
    with client_of(required) as client, pytest.raises(errors.AuthenticationError, match="METASTORE_TLS=required"):
        client.get_database("default")


def test_a_client_that_calls_immediately_gets_the_error_too(required: Server) -> None:
    with raw(required) as sock:
        for _ in range(2):
            sock.sendall(DATABASES)
            assert b"hive.metastore.use.SSL=true" in sock.recv(4096)


def test_sasl_without_tls_is_reported(required: Server) -> None:
    with raw(required) as sock:
        sock.sendall(b"\x01\x00\x00\x00\x05PLAIN")
        answer = sock.recv(4096)
        assert answer[:1] == b"\x03"
        assert b"hive.metastore.use.SSL=true" in answer
        assert sock.recv(1) == b""


def test_the_servers_certificate_is_checked(
    required: Server, authority: Authority, strange_authority: Authority
) -> None:
    with (
        client_of(required, tls=True, ca=str(strange_authority.pem)) as client,
        pytest.raises(errors.AuthenticationError, match="certificate is not valid"),
    ):
        client.get_database("default")


def test_the_servers_name_is_checked(start: Callable[..., Server], authority: Authority) -> None:
    elsewhere = authority.issue("elsewhere.example")
    server = start("--tls", "required", "--tls-certificate", str(elsewhere.chain), "--tls-key", str(elsewhere.key))
    with (
        client_of(server, tls=True, ca=str(authority.pem)) as client,
        pytest.raises(errors.AuthenticationError, match=r"(?i)hostname mismatch"),
    ):
        client.get_database("default")


def test_old_protocols_are_rejected(required: Server) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with raw(required) as sock, pytest.raises((ssl.SSLError, OSError)):
        context.wrap_socket(sock)


def test_a_renewed_certificate_is_taken_without_a_restart(
    start: Callable[..., Server], authority: Authority, tmp_path: Path
) -> None:
    first, second = authority.issue("localhost"), authority.issue("localhost")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    shutil.copy(first.chain, chain)
    shutil.copy(first.key, key)
    server = start("--tls", "required", "--tls-certificate", str(chain), "--tls-key", str(key))
    context = ssl.create_default_context(cafile=str(authority.pem))

    def serial() -> Any:
        with raw(server) as sock, context.wrap_socket(sock, server_hostname="localhost") as tls:
            return tls.getpeercert()["serialNumber"]

    before = serial()
    shutil.copy(second.chain, chain)  # for a moment, certificate and key do not match
    assert serial() == before
    shutil.copy(second.key, key)
    assert eventually(lambda: serial() != before)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_hello_cut_anywhere_affects_no_other_client(allowed: Server, cut: int) -> None:
    hello = b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03\x00"
    with raw(allowed) as sock:
        sock.sendall(hello[:cut])
    with client_of(allowed) as client:
        assert client.get_database("default").name == "default"


def test_a_hello_may_arrive_byte_by_byte(required: Server, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.pem))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with raw(required) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    sock.send(bytes([byte]))
                incoming.write(sock.recv(65536))
        tls.write(DATABASES)
        for byte in outgoing.read():
            sock.send(bytes([byte]))
        while True:
            incoming.write(sock.recv(65536))
            try:
                assert b"default" in tls.read(65536)
                break
            except ssl.SSLWantReadError:
                continue


def test_a_handshake_has_a_time(start: Callable[..., Server], tls_options: list[str]) -> None:
    server = start("--tls", "required", "--read-timeout", "0.3", *tls_options)
    for begun in (b"", b"\x16", b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03"):
        with raw(server) as sock:
            sock.sendall(begun)
            assert sock.recv(100) == b""


def test_tls_where_it_is_off_gets_an_alert(metastore_server: Server) -> None:
    context = ssl.create_default_context()
    with raw(metastore_server) as sock, pytest.raises(ssl.SSLError, match=r"(?i)handshake.failure"):
        context.wrap_socket(sock, server_hostname="localhost")
    assert "METASTORE_TLS=off" in metastore_server.log.read_text()


def test_sasl_without_authentication_is_reported(metastore_server: Server) -> None:
    with raw(metastore_server) as sock:
        sock.sendall(b"\x01\x00\x00\x00\x06GSSAPI\x02\x00\x00\x00\x00")
        answer = sock.recv(4096)
        assert answer[0] == 3
        assert struct.unpack("!I", answer[1:5])[0] == len(answer) - 5
        assert b"hive.metastore.sasl.enabled=false" in answer


@pytest.fixture(scope="module")
def asking(start: Callable[..., Server], tls_options: list[str]) -> Server:
    authentication = ("--authentication", "tls-certificate", "--tls-client-certificates", "optional")
    return start("--tls", "required", *authentication, *tls_options)


def showing(authority: Authority, pem: Pem | None) -> dict[str, Any]:
    own = {"certificate": str(pem.chain), "key": str(pem.key)} if pem else {}
    return {"tls": True, "ca": str(authority.pem), **own}


def test_a_certificates_subject_is_the_user_regardless_of_set_ugi(asking: Server, authority: Authority) -> None:
    with client_of(asking, **showing(authority, authority.issue(user="alice"))) as client:
        assert who(client) == "alice"


def test_missing_client_certificates_are_reported(asking: Server, authority: Authority) -> None:
    with (
        client_of(asking, **showing(authority, None)) as client,
        pytest.raises(errors.AuthenticationError, match="METASTORE_AUTHENTICATION=tls-certificate"),
    ):
        client.get_database("default")


def test_another_authoritys_certificate_is_rejected(
    asking: Server, authority: Authority, strange_authority: Authority
) -> None:
    with (
        client_of(asking, **showing(authority, strange_authority.issue(user="alice"))) as client,
        pytest.raises(errors.ClientError),
    ):
        client.get_database("default")


def test_an_expired_certificate_is_rejected(asking: Server, authority: Authority) -> None:
    with (
        client_of(asking, **showing(authority, authority.issue(user="alice", expired=True))) as client,
        pytest.raises(errors.ClientError),
    ):
        client.get_database("default")


def test_a_subject_that_the_rule_does_not_match_is_reported(asking: Server, authority: Authority) -> None:
    with (
        client_of(asking, **showing(authority, authority.issue("nameless.example"))) as client,
        pytest.raises(errors.MetastoreRefusedError, match="METASTORE_TLS_USER_PATTERN does not match"),
    ):
        client.get_database("default")


def test_listeners_have_settings_of_their_own(
    start: Callable[..., Server], tls_options: list[str], authority: Authority
) -> None:
    text = "127.0.0.1:0 127.0.0.1:0?tls=off"
    server = start("--tls", "required", "--listeners", text, *tls_options)
    ports = [int(port) for port in re.findall(r"thrift://127\.0\.0\.1:(\d+)", server.ready)]
    assert len(ports) == 2
    assert ports[0] == server.port
    with raw(server, ports[0]) as sock:
        sock.sendall(DATABASES)
        assert b"METASTORE_TLS=required" in sock.recv(4096)
    with raw(server, ports[1]) as sock:
        sock.sendall(DATABASES)
        assert b"default" in sock.recv(4096)


def test_a_revocation_list_in_the_file_of_authorities_counts(
    authority: Authority, host_pem: Pem, tmp_path: Path
) -> None:
    alice, mallory = (authority.issue(user=user) for user in ("alice", "mallory"))
    file = tmp_path / "clients.pem"
    file.write_text(authority.pem.read_text() + authority.revoke(mallory))
    server = Certificate(host_pem.chain, host_pem.key, file).context(REQUIRED)
    assert _handshake(server, authority, alice)
    with pytest.raises(ssl.SSLError, match=r"(?i)revoked"):
        _handshake(server, authority, mallory)


def _handshake(server: ssl.SSLContext, authority: Authority, pem: Pem) -> Any:
    """Returns the client's certificate as the server sees it. Raises SSLError."""
    client = ssl.create_default_context(cafile=str(authority.pem))
    client.load_cert_chain(pem.chain, pem.key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    for _ in range(2):
        for side in (theirs, ours):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return ours.getpeercert()
