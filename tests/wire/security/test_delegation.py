"""Kerberos and delegation tokens, with a realm of the tests' own."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metastore.client import Credentials, MetastoreClient, connect, errors
from metastore.domain.delegation_tokens import parse_token, token_text
from tests.fixtures.server import Server
from tests.wire.transport.conftest import eventually
from thrift_idl.gen.hive_metastore.ttypes import Database

from .conftest import Authority, raw, ticket_of, who

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], realm: Any, environment: Any, tls_options: list[str]) -> Server:
    options = ["--authentication", "kerberos,token", "--kerberos-keytab", realm.keytab, "--tls", "allowed"]
    return start(*options, *tls_options)


def client(server: Server, **credentials: Any) -> MetastoreClient:
    return connect(f"thrift://localhost:{server.port}", credentials=Credentials(**credentials))


def test_a_ticket_proves_the_name(server: Server, realm: Any) -> None:
    with ticket_of(realm, "alice"), client(server, kerberos="hive/_HOST@KRBTEST.COM") as actual:
        assert who(actual) == "alice"
        assert "default" in actual.methods.get_all_databases()


def test_a_ticket_inside_tls(server: Server, realm: Any, authority: Authority) -> None:
    with (
        ticket_of(realm, "alice"),
        client(server, kerberos="hive", tls=True, ca=str(authority.pem)) as actual,
    ):
        assert who(actual) == "alice"


@pytest.mark.parametrize("protection", ["authentication", "integrity", "privacy"])
def test_the_negotiated_protection_is_kept(
    start: Callable[..., Server], realm: Any, environment: Any, protection: str
) -> None:
    options = ["--authentication", "kerberos", "--kerberos-keytab", realm.keytab, "--kerberos-protection", protection]
    server = start(*options)
    with ticket_of(realm, "alice"), client(server, kerberos="hive") as actual:
        comment = "secret" * 200_000
        actual.methods.create_database(Database(name=f"p_{protection}", description=comment))
        assert actual.methods.get_database(f"p_{protection}").description == comment


def test_a_missing_ticket_is_reported(server: Server, realm: Any) -> None:
    with client(server, kerberos="hive") as actual, pytest.raises(errors.AuthenticationError, match="Kerberos"):
        actual.get_database("default")


def test_a_token_of_another_service_is_rejected(server: Server, realm: Any) -> None:
    realm.addprinc("other/localhost@KRBTEST.COM", "service")
    with (
        ticket_of(realm, "alice"),
        client(server, kerberos="other/localhost@KRBTEST.COM") as actual,
        pytest.raises(errors.AuthenticationError, match=r"other/localhost@KRBTEST\.COM not found in keytab"),
    ):
        actual.get_database("default")


def test_nonsense_in_place_of_a_token_is_rejected(server: Server) -> None:
    with raw(server) as sock:
        sock.sendall(b"\x01\x00\x00\x00\x06GSSAPI\x02\x00\x00\x00\x08nonsense")
        answer = b""
        while data := sock.recv(4096):
            answer += data
        assert answer[0] == 3
        assert b"GSS initiate failed" in answer


def get_token(server: Server, realm: Any, owner: str = "alice", renewer: str = "alice") -> str:
    with ticket_of(realm, owner), client(server, kerberos="hive") as actual:
        return str(actual.methods.get_delegation_token(owner, renewer))


def test_a_token_authenticates_its_owner(server: Server, realm: Any) -> None:
    token = get_token(server, realm)
    with client(server, token=token) as actual:
        assert who(actual) == "alice"
        with pytest.raises(errors.MetastoreRefusedError, match="Current AuthenticationMethod: TOKEN"):
            actual.methods.get_delegation_token("alice", "alice")


def test_a_forged_token_is_rejected(server: Server, realm: Any) -> None:
    identifier, password = parse_token(get_token(server, realm))
    for forged in (
        token_text(identifier.replace(b"alice", b"trino"), password),
        token_text(identifier, bytes(20)),
        token_text(identifier[:-1], password),
    ):
        with client(server, token=forged) as actual, pytest.raises(errors.AuthenticationError, match="DIGEST-MD5"):
            actual.get_database("default")


def test_only_the_renewer_renews_and_only_owner_and_renewer_cancel(server: Server, realm: Any) -> None:
    token = get_token(server, realm, renewer="trino")
    refused = pytest.raises(errors.MetastoreRefusedError, match="renew a token with renewer trino")
    with ticket_of(realm, "alice"), client(server, kerberos="hive") as actual, refused:
        actual.methods.renew_delegation_token(token)
    with ticket_of(realm, "trino"), client(server, kerberos="hive") as actual:
        until = actual.methods.renew_delegation_token(token)
        assert until > 1_700_000_000_000
        with pytest.raises(errors.MetastoreRefusedError, match="trino is not allowed to impersonate alice"):
            actual.methods.get_delegation_token("alice", "trino")
        other = actual.methods.get_delegation_token("trino", "trino")
    with ticket_of(realm, "alice"), client(server, kerberos="hive") as actual:
        with pytest.raises(errors.MetastoreRefusedError, match="not authorized to cancel"):
            actual.methods.cancel_delegation_token(other)
        actual.methods.cancel_delegation_token(token)
    with client(server, token=token) as actual, pytest.raises(errors.AuthenticationError, match="can't be found"):
        actual.get_database("default")


def test_an_expired_token_is_rejected_by_all_servers(
    start: Callable[..., Server], server: Server, realm: Any, environment: Any
) -> None:
    options = ["--authentication", "kerberos,token", "--kerberos-keytab", realm.keytab]
    brief = start(*options, "--token-renew-interval", "1")
    token = get_token(brief, realm)
    with client(brief, token=token) as actual:
        assert who(actual) == "alice"

    def told() -> str:
        with client(server, token=token) as actual:
            try:
                return str(actual.get_database("default"))
            except errors.AuthenticationError as error:
                return str(error)

    assert eventually(lambda: "the token is expired" in told())


def test_an_owner_has_so_many_tokens_and_no_more(
    start_metastore: Callable[..., Server], database_url: str, realm: Any, environment: Any
) -> None:
    options = ["--authentication", "kerberos,token", "--kerberos-keytab", realm.keytab]
    strict = start_metastore(database_url, *options, "--max-tokens-per-owner", "2")
    with ticket_of(realm, "trino"), client(strict, kerberos="hive") as actual:
        had = [actual.methods.get_delegation_token("trino", "trino") for _ in range(2)]
        with pytest.raises(errors.MetastoreRefusedError, match=r"trino has 2 .* \(METASTORE_MAX_TOKENS_PER_OWNER\)"):
            actual.methods.get_delegation_token("trino", "trino")
        actual.methods.cancel_delegation_token(had[0])
        assert actual.methods.get_delegation_token("trino", "trino")
    assert get_token(strict, realm)


def test_tokens_are_listed_and_revoked(server: Server, realm: Any) -> None:
    token = get_token(server, realm)

    def run(*arguments: str) -> str:
        given = [sys.executable, "-m", "metastore.cli", "tokens", *arguments, "--database-url", server.database_url]
        done = subprocess.run(given, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})
        return done.stdout + done.stderr

    listed = run("list")
    assert "alice" in listed
    secret = base64.b64encode(parse_token(token)[1]).decode()
    assert secret not in listed
    assert "revoked" in run("revoke", "--owner", "alice")
    assert "User alice has no tokens" in run("revoke", "--owner", "alice")
    assert "Name one token by its number" in run("revoke")
    with client(server, token=token) as actual, pytest.raises(errors.AuthenticationError):
        actual.get_database("default")


def test_nothing_secret_is_logged(server: Server, realm: Any) -> None:
    token = get_token(server, realm)
    with client(server, token=token) as actual:
        actual.get_database("default")
    log = server.log.read_text()
    assert token not in log
    assert base64.b64encode(parse_token(token)[1]).decode() not in log


def test_pyiceberg_logs_in_with_a_ticket(server: Server, realm: Any, tmp_path: Path) -> None:
    pytest.importorskip("kerberos", reason="kerberos is not installed: pip install kerberos needs libkrb5-dev")
    from pyiceberg.catalog import load_catalog

    with ticket_of(realm, "alice"):
        settings = {"hive.kerberos-authentication": "true", "hive.kerberos-service-name": "hive"}
        catalog = load_catalog("hive", uri=f"thrift://localhost:{server.port}", warehouse=str(tmp_path), **settings)
        assert ("default",) in catalog.list_namespaces()
