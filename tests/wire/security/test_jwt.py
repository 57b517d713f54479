"""HTTP as Hive 4's clients use it, with JWTs; and JWTs as passwords."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient

from metastore.client import Credentials, connect, errors
from tests.fixtures.server import Server
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database

from .conftest import Authority, raw, who

ISSUER, AUDIENCE = "https://issuer.example", "metastore"
CALL = b"\x80\x01\x00\x01\x00\x00\x00\x11get_all_databases\x00\x00\x00\x00\x00"

POST = b"POST /metastore HTTP/1.1\r\nContent-Type: application/x-thrift\r\n"


class Issuer:
    """Signs tokens. The server reads its keys from a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: dict[str, Any] = {}

    def add(self, name: str) -> None:
        self.keys[name] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        actual = []
        for kid, key in self.keys.items():
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            actual.append({**public, "kid": kid, "use": "sig", "alg": "RS256"})
        self.path.write_text(json.dumps({"keys": actual}))

    def token(self, user: str = "alice", key: str = "one", signed_by: Any = None, **claims: Any) -> str:
        now = int(time.time())
        given = {"sub": user, "iss": ISSUER, "aud": AUDIENCE, "exp": now + 600, "nbf": now - 10, **claims}
        given = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(given, signed_by or self.keys[key], algorithm="RS256", headers={"kid": key})


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    actual_issuer = Issuer(tmp_path_factory.mktemp("jwt") / "keys.json")
    actual_issuer.add("one")
    return actual_issuer


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], tls_options: list[str], issuer: Issuer) -> Server:
    options = ["--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    return start("--authentication", "jwt", "--tls", "allowed", *options, *tls_options)


def post(
    server: Server, authority: Authority | None, body: bytes = CALL, path: str = "/metastore", **headers: str
) -> tuple[int, bytes]:
    if authority:
        context = ssl.create_default_context(cafile=str(authority.pem))
        connection: Any = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=15)
    else:
        connection = http.client.HTTPConnection("localhost", server.port, timeout=15)
    kind = {"Content-Type": "application/x-thrift"}
    connection.request("POST", path, body, kind | {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    actual = answer.status, answer.read()
    connection.close()
    return actual


@pytest.mark.parametrize("path", ["/metastore", "/metastore/", "/metastore/*"])
def test_a_token_proves_the_name(server: Server, issuer: Issuer, authority: Authority, path: str) -> None:
    status, body = post(server, authority, path=path, Authorization=f"Bearer {issuer.token()}")
    assert (status, b"default" in body) == (200, True)


def test_requests_of_several_users_on_one_connection(server: Server, issuer: Issuer, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.pem))
    connection = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=15)
    for user in ("alice", "bob", "alice"):
        headers = {"Content-Type": "application/x-thrift", "Authorization": f"Bearer {issuer.token(user)}"}
        connection.request("POST", "/metastore", CALL, headers)
        assert b"default" in connection.getresponse().read()
    connection.close()


def test_thrifts_own_client(server: Server, issuer: Issuer, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.pem))
    transport = THttpClient(f"https://localhost:{server.port}/metastore", ssl_context=context)
    transport.setCustomHeaders({"Authorization": f"Bearer {issuer.token()}"})
    client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
    assert client.set_ugi("root", ["admin"])[-1] == "alice"
    comment = "x" * 3_000_000
    client.create_database(Database(name="over_http", description=comment))
    assert client.get_database("over_http").description == comment
    transport.setCustomHeaders({"Authorization": f"Bearer {issuer.token('bob')}"})
    assert client.set_ugi("root", ["admin"])[-1] == "bob", "each request is its sender's"
    transport.close()


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"exp": 1_000_000_000}, "it has expired"),
        ({"exp": None}, 'missing the "exp" claim'),
        ({"nbf": 4_000_000_000}, "it is not valid yet"),
        ({"aud": "another"}, "it is for another audience"),
        ({"aud": None}, "aud"),
        ({"iss": "https://elsewhere.example"}, "it is another issuer's"),
        ({"iss": None}, "iss"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "names no user"),
        ({"sub": "alice "}, "names no user"),
        ({"sub": "ａｌｉｃｅ"}, "names no user"),
        ({"sub": "jose\u0301"}, "names no user"),
    ],
)
def test_claims_that_a_token_must_have(
    server: Server, issuer: Issuer, authority: Authority, claims: dict[str, Any], told: str
) -> None:
    status, body = post(server, authority, Authorization=f"Bearer {issuer.token(**claims)}")
    assert status == 401
    assert body.startswith(b"Authentication error: ")
    assert told in body.decode()


def test_forged_tokens_are_rejected(server: Server, issuer: Issuer, authority: Authority) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    good = issuer.token()
    public = issuer.keys["one"].public_key()
    header, payload, _ = good.split(".")
    unsigned = jwt.encode({"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "exp": 4e9}, None, algorithm="none")
    shared = jwt.encode(
        {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "exp": int(4e9)},
        str(public.public_numbers().n),
        algorithm="HS256",
        headers={"kid": "one"},
    )
    for forged in (issuer.token(signed_by=stranger), good[:-4] + "AAAA", f"{header}.{payload}.", unsigned, shared, "x"):
        status, body = post(server, authority, Authorization=f"Bearer {forged}")
        assert status == 401
        assert b"default" not in body
    assert good not in server.log.read_text()


def test_a_new_key_is_fetched(server: Server, issuer: Issuer, authority: Authority) -> None:
    issuer.add("two")
    status, _ = post(server, authority, Authorization=f"Bearer {issuer.token(key='two')}")
    assert status == 200


def test_without_a_token_or_without_tls(server: Server, issuer: Issuer, authority: Authority) -> None:
    status, body = post(server, authority)
    assert (status, b"use a JWT" in body) == (401, True)
    status, body = post(server, None, Authorization=f"Bearer {issuer.token()}")
    assert (status, b"over https only" in body) == (401, True)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\n\r\n", b"405"),
        (b"POST /elsewhere HTTP/1.1\r\nContent-Length: 1\r\n\r\n", b"404"),
        (POST + b"\r\n", b"411"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"411"),
        (POST + b"Content-Length: 99999999999\r\n\r\n", b"413"),
        (POST + b"Content-Length: 0\r\n\r\n", b"413"),
        (POST + b"Content-Length: +1\r\n\r\n", b"400"),
        (POST + b"Content-Length: -1\r\n\r\n", b"400"),
        (POST + b"Content-Length: 0x1\r\n\r\n", b"400"),
        (POST + b"Content-Length: 1_0\r\n\r\n", b"400"),
        (POST + b"Content-Length: 1, 1\r\n\r\n", b"400"),
        (POST + b"Content-Length: 1\xa0\r\n\r\n", b"400"),
        (POST + b"Content-Length: \r\n\r\n", b"400"),
        (POST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n", b"400"),
        (POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (POST + b"X: y\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", b"400"),
        (POST + b" Content-Length: 1\r\n\r\n", b"400"),
        (POST + b"no colon\r\n\r\n", b"400"),
        (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (b"POST /metastore\r\n\r\n", b"400"),
        (b"POST /metastore HTTP/1.1\r\nContent-Length: 1\r\n\r\n", b"415"),
        (b"POST /metastore HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n", b"415"),
        (POST + b"Origin: null\r\nContent-Length: 1\r\n\r\n", b"415"),
        (POST + b"X: y\r\n" * 4000, b"431"),
        (b"POST /metastore HTTP/1.1\nTransfer-Encoding:chunked\r\nContent-Length: 1\r\n\r\n", b"400"),
        (b"POST /metastore?x\nContent-Length:9 HTTP/1.1\r\nContent-Length: 1\r\n\r\n", b"400"),
        (b"POST /metastore HTTP/1.9\r\nContent-Length: 1\r\n\r\n", b"400"),
        (POST + b"Content-Length: 1\r\nx-actor-username: a\r\nX-Actor-Username: root\r\n\r\n", b"400"),
    ],
)
def test_malformed_requests_are_reported(metastore_server: Server, request_: bytes, status: bytes) -> None:
    with raw(metastore_server) as sock:
        sock.sendall(request_)
        answer = b""
        while data := sock.recv(4096):
            answer += data
        assert answer.split(b" ")[1] == status


def test_without_authentication_the_name_is_believed(metastore_server: Server) -> None:
    status, body = post(metastore_server, None, x_actor_username="carol")
    assert (status, b"default" in body) == (200, True)
    assert "carol" in metastore_server.log.read_text()


def test_requests_on_one_connection_in_any_pieces(metastore_server: Server) -> None:
    request_ = POST + b"Content-Length: %d\r\n\r\n" % len(CALL) + CALL
    with raw(metastore_server) as sock:
        for byte in request_:
            sock.send(bytes([byte]))
        sock.sendall(request_ * 2)
        answer = b""
        while answer.count(b"HTTP/1.1 200 OK") < 3 or not answer.endswith(b"\x00"):
            answer += sock.recv(4096)


def test_the_body_has_the_declared_length(metastore_server: Server) -> None:
    """If it were cut to 12 digits, the length would be that of the first call, and the rest a second request."""
    smuggled = POST + b"Content-Length: %d\r\n\r\n" % len(CALL) + CALL
    body = (CALL + smuggled).ljust(100 * len(CALL))
    with raw(metastore_server) as sock:
        sock.sendall(POST + b"Content-Length: %014d\r\n\r\n" % len(body) + body)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while data := sock.recv(4096):
            answer += data
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("last", [POST + b"Connection: Close\r\n", POST.replace(b"HTTP/1.1", b"HTTP/1.0")])
def test_a_request_after_the_last_one_is_not_executed(metastore_server: Server, last: bytes) -> None:
    """A proxy that sends it takes everything behind the first request for a part of that request."""
    request_ = b"Content-Length: %d\r\n\r\n" % len(CALL) + CALL
    with raw(metastore_server) as sock:
        sock.sendall(last + request_ + POST + request_)
        answer = b""
        while data := sock.recv(4096):
            answer += data
    assert answer.count(b"HTTP/1.1 200") == 1


def test_a_token_as_a_password(server: Server, issuer: Issuer, authority: Authority) -> None:
    shown = Credentials(tls=True, ca=str(authority.pem), jwt=issuer.token("dave"))
    with connect(f"thrift://localhost:{server.port}", credentials=shown) as client:
        assert who(client) == "dave"
    expired = Credentials(tls=True, ca=str(authority.pem), jwt=issuer.token("dave", exp=1_000_000_000))
    with (
        connect(f"thrift://localhost:{server.port}", credentials=expired) as client,
        pytest.raises(errors.AuthenticationError, match="it has expired"),
    ):
        client.get_database("default")


def test_a_oneway_call_is_answered_with_nothing(metastore_server: Server) -> None:
    """Hive's client sends this request when it closes."""
    body = b"\x80\x01\x00\x04\x00\x00\x00\x08shutdown\x00\x00\x00\x00\x00"
    assert post(metastore_server, None, body) == (200, b"")
