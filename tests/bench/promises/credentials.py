"""Promises about JWTs, client certificates and Kerberos."""

from __future__ import annotations

import http.client
import ssl
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from metastore.client import MetastoreClient
from tests.bench.promises.installation import Installation, fails, promise
from tests.wire.security.conftest import ticket_of, who
from tests.wire.security.test_jwt import AUDIENCE, CALL, ISSUER


@promise("A JWT proves the name, and only the one in the token")
def _(installation: Installation) -> None:
    assert _post(installation, installation.issuer.token("alice"))[0] == 200
    with installation.enter(installation.other_methods, jwt=installation.issuer.token("bob")) as bob:
        assert who(bob) == "bob"
        assert bob.methods.get_all_tables("sales") == ["shown"]


@promise("A JWT that is expired, not valid yet, of another issuer or for another audience is rejected")
def _(installation: Installation) -> None:
    changes: list[dict[str, Any]] = [
        {"exp": 1_000_000_000},
        {"exp": None},
        {"nbf": 4_000_000_000},
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"sub": None},
    ]
    for claims in changes:
        status, body = _post(installation, installation.issuer.token("alice", **claims))
        assert (status, b"default" in body) == (401, False), claims


@promise("A JWT that is unsigned, signed by another key, or signed with the public key as a secret is rejected")
def _(installation: Installation) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = {"sub": "root", "iss": ISSUER, "aud": AUDIENCE, "exp": int(4e9)}
    public = str(installation.issuer.keys["one"].public_key().public_numbers().n)
    forged = [
        installation.issuer.token("root", signed_by=stranger),
        jwt.encode(claims, None, algorithm="none"),
        jwt.encode(claims, public, algorithm="HS256", headers={"kid": "one"}),
    ]
    for token in forged:
        assert _post(installation, token)[0] == 401
    log = installation.other_methods.log.read_text()
    assert not [token for token in forged if token in log]


@promise("Each HTTP request is authenticated on its own")
def _(installation: Installation) -> None:
    connection = _connection(installation)
    kinds = {"Content-Type": "application/x-thrift"}
    good = {"Authorization": f"Bearer {installation.issuer.token('alice')}"}
    connection.request("POST", "/metastore", CALL, kinds | good)
    reply = connection.getresponse()
    assert (reply.status, b"default" in reply.read()) == (200, True)
    connection.request("POST", "/metastore", CALL, kinds | {"x-actor-username": "alice"})
    assert connection.getresponse().status == 401
    connection.close()


@promise("An HTTP body is one message: nothing in it or behind it is a second request")
def _(installation: Installation) -> None:
    token = installation.issuer.token("alice").encode()
    head = b"POST /metastore HTTP/1.1\r\nContent-Type: application/x-thrift\r\nAuthorization: Bearer " + token + b"\r\n"
    whole = head + b"Content-Length: %d\r\n\r\n" % len(CALL) + CALL
    inside = head + b"Content-Length: %d\r\n\r\n" % len(CALL + whole) + CALL + whole
    chunked = head + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(CALL) + CALL + whole
    closed = head + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(CALL) + CALL + whole
    split = head.replace(b" HTTP/1.1", b" HTTP/1.1\nTransfer-Encoding: chunked", 1)
    split += b"Content-Length: %d\r\n\r\n" % len(CALL) + CALL + whole
    for data, accepted in ((whole + whole, 2), (inside, 1), (chunked, 0), (closed, 1), (split, 0)):
        assert _accepted(installation, data) == accepted


@promise("A client certificate proves the name of its most specific CN")
def _(installation: Installation) -> None:
    with _certified(installation, installation.authority.issue(user="bob")) as bob:
        assert who(bob) == "bob"
        fails(lambda: bob.methods.get_table("sales", "hidden"), "table not found")


@promise("A certificate of another authority, or an expired one, is rejected")
def _(installation: Installation) -> None:
    for pem in (installation.strangers.issue(user="root"), installation.authority.issue(user="root", expired=True)):
        client = _certified(installation, pem)
        fails(client.methods.get_all_databases)
        client.close()


@promise("A server that accepts certificates lets nobody in without one or another login")
def _(installation: Installation) -> None:
    client = installation.enter(installation.other_methods)
    fails(client.methods.get_all_databases, "METASTORE_AUTHENTICATION")
    client.close()


@promise("A Kerberos ticket proves the name")
def _(installation: Installation) -> None:
    with (
        ticket_of(installation.realm, "alice"),
        installation.enter(installation.other_methods, kerberos="hive") as alice,
    ):
        assert who(alice) == "alice"
        assert alice.methods.get_table("sales", "hidden").owner == "alice"


@promise("Without a Kerberos ticket, or with one for another service, nobody comes in")
def _(installation: Installation) -> None:
    client = installation.enter(installation.other_methods, kerberos="hive")
    fails(client.methods.get_all_databases)
    client.close()
    installation.realm.addprinc("other/localhost@KRBTEST.COM", "other")
    with ticket_of(installation.realm, "alice"):
        client = installation.enter(installation.other_methods, kerberos="other")
        fails(client.methods.get_all_databases)
        client.close()


def _certified(installation: Installation, pem: Any) -> MetastoreClient:
    return installation.enter(installation.other_methods, certificate=str(pem.chain), key=str(pem.key))


def _connection(installation: Installation) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(installation.ca))
    return http.client.HTTPSConnection("localhost", installation.other_methods.port, context=context, timeout=30)


def _post(installation: Installation, token: str) -> tuple[int, bytes]:
    connection = _connection(installation)
    headers = {"Content-Type": "application/x-thrift", "Authorization": f"Bearer {token}"}
    connection.request("POST", "/metastore", CALL, headers)
    reply = connection.getresponse()
    actual = reply.status, reply.read()
    connection.close()
    return actual


def _accepted(installation: Installation, data: bytes) -> int:
    """Returns how many requests in these bytes the server executes."""
    with installation.raw(installation.other_methods) as sock:
        sock.sendall(data)
        sock.settimeout(3)
        replies = b""
        try:
            while more := sock.recv(65536):
                replies += more
        except OSError:  # the connection stays open, or is cut
            pass
    return replies.count(b"HTTP/1.1 200")
