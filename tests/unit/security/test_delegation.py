"""The owner of a delegation token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metastore.context import Caller, caller
from metastore.domain.delegation_tokens import parse_token
from metastore.errors import ConfigurationError, InvalidInputError, InvalidOperationError
from metastore.identity import KERBEROS, AuthenticationFailedError
from metastore.security.digest_md5 import secret_of
from metastore.security.proxy_users import ProxyUsers
from metastore.security.token_key import read_token_key
from metastore.services.delegation import DelegationService, TokenLimits


class Store:
    """Records the names of each token: owner, renewer, real user."""

    def __init__(self) -> None:
        self.names: list[tuple[str, str, str]] = []

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        def insert(_sequence: int, _identifier: bytes, _secret: bytes, names: Any, _times: Any) -> None:
            self.names.append(names)

        def count(owner: str) -> int:
            return sum(names[0] == owner for names in self.names)

        tokens = SimpleNamespace(delete_expired=lambda: None, count=count, next=lambda: (1, 1_000), insert=insert)
        yield SimpleNamespace(issued_tokens=tokens)


@pytest.mark.parametrize(
    ("user", "real_user", "owner", "names"),
    [
        ("alice", None, None, ("alice", "r", "")),
        ("alice", None, "alice", ("alice", "r", "")),
        ("trino", None, "alice", ("alice", "r", "trino")),
        ("alice", "trino", "alice", ("alice", "r", "trino")),
        ("alice", "trino", None, ("alice", "r", "trino")),
        ("alice", "trino", "trino", ("trino", "r", "")),
        ("alice", None, "bob", None),
        ("alice", "trino", "bob", None),
        ("trino", None, "alice\n", None),
    ],
)
def test_a_token_names_its_owner(user: str, real_user: str | None, owner: str | None, names: Any) -> None:
    store: Any = Store()
    tokens = DelegationService(
        store,
        lambda _identifier, _password: b"",
        ProxyUsers("trino?users=alice,alice\n", lambda _: []).may_act,
        TokenLimits(1, 2, 1),
    )
    token = caller.set(Caller("h:1", user, authentication=KERBEROS, real_user=real_user))
    try:
        if names:
            tokens.issue(owner, "r")
        else:
            with pytest.raises(InvalidOperationError, match=f"is not allowed to impersonate {owner}"):
                tokens.issue(owner, "r")
    finally:
        caller.reset(token)
    assert store.names == ([names] if names else [])


def test_a_token_has_no_long_names() -> None:
    stored: list[bytes] = []
    token = caller.set(Caller("h:1", "alice", authentication=KERBEROS))
    try:
        with pytest.raises(InvalidInputError, match="too long"):
            service(stored, None).issue("alice", "r" * 2000)
    finally:
        caller.reset(token)
    assert not stored


def service(stored: list[bytes], key: bytes | None) -> DelegationService:
    """A service whose database holds one token, with the last stored secret."""

    class Tokens:
        def insert(self, _sequence: int, _identifier: bytes, secret: bytes, _names: Any, _times: Any) -> None:
            stored.append(secret)

        def find(self, _identifier: bytes) -> Any:
            return SimpleNamespace(secret=stored[-1], alive=True, owner="alice", real_user="")

        delete_expired = staticmethod(lambda: None)
        count = staticmethod(lambda _: 0)
        next = staticmethod(lambda: (1, 1_000))

    @contextmanager
    def unit() -> Iterator[Any]:
        yield SimpleNamespace(issued_tokens=Tokens())

    store: Any = SimpleNamespace(transaction=unit, read=unit)
    return DelegationService(store, secret_of, lambda *_: False, TokenLimits(1, 2, 1), key)


def issued(tokens: DelegationService) -> tuple[bytes, bytes]:
    token = caller.set(Caller("h:1", "alice", authentication=KERBEROS))
    try:
        return parse_token(tokens.issue(None, "r"))
    finally:
        caller.reset(token)


def test_with_a_key_the_database_holds_no_secret() -> None:
    stored: list[bytes] = []
    identifier, password = issued(service(stored, b"k" * 32))
    assert stored == [b""]
    secret, identity = service(stored, b"k" * 32).secret(identifier)  # another server
    assert (secret, identity.user) == (secret_of(identifier, password), "alice")
    assert service(stored, b"x" * 32).secret(identifier)[0] != secret
    with pytest.raises(AuthenticationFailedError, match="METASTORE_TOKEN_KEY_FILE"):
        service(stored, None).secret(identifier)


def test_tokens_from_before_the_key_stay_valid() -> None:
    stored: list[bytes] = []
    identifier, password = issued(service(stored, None))
    assert stored == [secret_of(identifier, password)]
    assert service(stored, b"k" * 32).secret(identifier)[0] == stored[0]


@pytest.mark.parametrize(("text", "mode"), [("0123456789abcdef" * 2, 0o600), ("0123456789abcdef" * 4 + "\n", 0o640)])
def test_the_key_is_read_from_a_file(tmp_path: Path, text: str, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(text)
    file.chmod(mode)
    assert len(read_token_key(file)) == 32


@pytest.mark.parametrize(
    ("text", "mode", "message"), [("short", 0o600, "openssl rand"), ("x" * 64, 0o644, "chmod o="), (None, 0, "No such")]
)
def test_an_unsafe_key_file_prevents_the_start(tmp_path: Path, text: str | None, mode: int, message: str) -> None:
    file = tmp_path / "key"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
    with pytest.raises(ConfigurationError, match=message):
        read_token_key(file)
