"""Key sets and their servers, tokens without a key id, and the groups in tokens."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from metastore.errors import ConfigurationError
from metastore.identity import AuthenticationFailedError
from metastore.security import key_sets
from metastore.security.jwt import JsonWebTokens

jwt = pytest.importorskip("jwt")
ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")


def test_a_token_without_key_id_needs_exactly_one_key(tmp_path: Path) -> None:
    keys = [ed25519.Ed25519PrivateKey.generate() for _ in range(2)]
    public = [
        {**jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": str(number), "alg": "EdDSA"}
        for number, key in enumerate(keys)
    ]
    file = tmp_path / "keys"
    claims = {"sub": "alice", "iss": "us", "aud": "metastore", "exp": time.time() + 600}
    file.write_text(json.dumps({"keys": public[:1]}))
    tokens = JsonWebTokens(str(file), "us", "metastore", "sub")
    assert tokens.identity(jwt.encode(claims, keys[0], algorithm="EdDSA")).user == "alice"
    with pytest.raises(AuthenticationFailedError, match="signature is wrong"):
        tokens.identity(jwt.encode(claims, keys[1], algorithm="EdDSA"))
    file.write_text(json.dumps({"keys": public}))
    with pytest.raises(AuthenticationFailedError, match="no key set has its key"):
        tokens.identity(jwt.encode(claims, keys[0], algorithm="EdDSA"))


@pytest.mark.parametrize("content", ["[]", "null", "3", "{}", '{"keys": []}', '{"keys": 1}', '{"keys": [{}]}', "{"])
def test_a_file_that_is_no_key_set(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=f"jwt_keys: {file} cannot be read as a key set: "):
        JsonWebTokens(str(file), "us", "metastore", "sub")


@pytest.mark.parametrize(
    ("claim", "more", "groups"),
    [
        ("groups", {"groups": ["a", "b"]}, ("a", "b")),
        ("groups", {"groups": "a"}, ("a",)),
        ("groups", {"groups": ["ａ"]}, ("a",)),
        ("realm_access.roles", {"realm_access": {"roles": ["a"]}}, ("a",)),
        ("https://example.com/groups", {"https://example.com/groups": ["a"]}, ("a",)),
        ("groups", {"groups": [1, None, {"a": "b"}, "", "c"]}, ("c",)),
        ("groups", {}, ()),
        ("groups.deeper", {"groups": ["a"]}, ()),
        ("", {"groups": ["a"]}, ()),
    ],
)
def test_groups_are_read_from_a_claim(
    tmp_path: Path, claim: str, more: dict[str, object], groups: tuple[str, ...]
) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    public = {**jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), "alg": "EdDSA"}
    file = tmp_path / "keys"
    file.write_text(json.dumps({"keys": [public]}))
    claims = {"sub": "alice", "iss": "us", "aud": "metastore", "exp": time.time() + 600} | more
    tokens = JsonWebTokens(str(file), "us", "metastore", "sub", claim)
    assert tokens.identity(jwt.encode(claims, key, algorithm="EdDSA")).groups == groups


@pytest.mark.parametrize("user", ["alice\n", " alice", "\x1b[2Jalice", "\ud800", " ", 7, None])
def test_odd_names_are_no_users(tmp_path: Path, user: object) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    public = {**jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), "alg": "EdDSA"}
    file = tmp_path / "keys"
    file.write_text(json.dumps({"keys": [public]}))
    claims = {"name": user, "iss": "us", "aud": "metastore", "exp": time.time() + 600}
    with pytest.raises(AuthenticationFailedError, match="name"):
        JsonWebTokens(str(file), "us", "metastore", "name").identity(jwt.encode(claims, key, algorithm="EdDSA"))


def test_a_token_with_another_algorithm_than_its_key_and_a_key_for_encryption(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    public = {**jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), "alg": "EdDSA"}
    file = tmp_path / "keys"
    file.write_text(json.dumps({"keys": [public | {"kid": "a"}, public | {"kid": "b", "use": "enc"}]}))
    claims = {"sub": "alice", "iss": "us", "aud": "metastore", "exp": time.time() + 600}
    tokens = JsonWebTokens(str(file), "us", "metastore", "sub")
    signed = {name: jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": name}) for name in "ab"}
    assert tokens.identity(signed["a"]).user == "alice"
    with pytest.raises(AuthenticationFailedError, match="no key set has its key"):
        tokens.identity(signed["b"])
    header = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":"a"}').decode()
    with pytest.raises(AuthenticationFailedError, match="malformed"):
        tokens.identity(f"{header}.{signed['a'].partition('.')[2]}")


class KeyServer(ThreadingHTTPServer):
    """A server of key sets. `body` is its answer, or the address to which it redirects."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = b""
        self.fetched = 0
        self.may_answer, self.is_asked = threading.Event(), threading.Event()
        self.may_answer.set()
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    server: KeyServer

    def do_GET(self) -> None:
        self.server.fetched += 1
        self.server.is_asked.set()
        self.server.may_answer.wait(10)
        location = self.server.body.decode() if self.server.body.startswith(b"http") and self.path == "/" else ""
        self.send_response(302 if location else 200)
        self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """The test's output stays readable."""


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    with KeyServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def signing_key() -> Any:
    return ed25519.Ed25519PrivateKey.generate()


def key_set(key: Any) -> bytes:
    public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return json.dumps({"keys": [{**public, "kid": "1", "alg": "EdDSA"}]}).encode()


def token(key: Any, name: str = "1") -> str:
    claims = {"sub": "alice", "iss": "us", "aud": "metastore", "exp": time.time() + 600}
    return str(jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": name}))


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b"[" * 100_000, b'{"keys": []}', b'{"keys": 1}', b" " * 2_000_000, b"\xff", b"redirect"]
)
def test_an_answer_that_is_no_key_set_rejects_tokens(
    key_server: KeyServer, signing_key: Any, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(key_sets, "_FETCH_INTERVAL", 0)
    tokens = JsonWebTokens(key_server.url, "us", "metastore", "sub")
    key_server.body = f"{key_server.url}other".encode() if body == b"redirect" else body
    with pytest.raises(AuthenticationFailedError, match="cannot be fetched"):
        tokens.identity(token(signing_key))
    key_server.body = key_set(signing_key)
    assert tokens.identity(token(signing_key)).user == "alice"


def test_a_key_server_that_hangs_holds_one_thread(
    key_server: KeyServer, signing_key: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_sets, "_FETCH_INTERVAL", -1)
    tokens = JsonWebTokens(key_server.url, "us", "metastore", "sub")
    key_server.body = key_set(signing_key)
    assert tokens.identity(token(signing_key)).user == "alice"
    key_server.may_answer.clear()
    key_server.is_asked.clear()
    first = threading.Thread(target=tokens.check, args=("", token(signing_key)))
    monkeypatch.setattr(key_sets, "_LIFETIME", -1)
    first.start()
    assert key_server.is_asked.wait(10)
    fetched = key_server.fetched
    for _ in range(3):
        assert tokens.identity(token(signing_key)).user == "alice"
        with pytest.raises(AuthenticationFailedError, match="no key set has its key"):
            tokens.identity(token(signing_key, "invented"))
    assert key_server.fetched == fetched
    with monkeypatch.context() as old_keys:
        old_keys.setattr(key_sets, "_MAX_AGE", -1)
        old_keys.setattr(tokens._sets[0]._keys, "_has_failed", True)
        with pytest.raises(AuthenticationFailedError, match="cannot be fetched"):
            tokens.identity(token(signing_key))
    key_server.may_answer.set()
    first.join(10)


def test_all_logins_after_a_pause_wait_for_the_keys(key_server: KeyServer, signing_key: Any) -> None:
    tokens = JsonWebTokens(key_server.url, "us", "metastore", "sub")
    key_server.body = key_set(signing_key)
    assert tokens.identity(token(signing_key)).user == "alice"
    keys: Any = tokens._sets[0]._keys
    keys._fetched = keys._tried = time.monotonic() - 2 * key_sets._MAX_AGE
    key_server.may_answer.clear()
    key_server.is_asked.clear()
    first = threading.Thread(target=tokens.check, args=("", token(signing_key)))
    first.start()
    assert key_server.is_asked.wait(10)
    threading.Timer(0.1, key_server.may_answer.set).start()
    assert tokens.identity(token(signing_key)).user == "alice"
    first.join(10)
    assert key_server.fetched == 2
