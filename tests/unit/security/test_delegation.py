"""The owner of a delegation token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from metastore.context import Caller, caller
from metastore.errors import InvalidOperationError
from metastore.identity import KERBEROS
from metastore.services.entry.delegation import DelegationService


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
    ],
)
def test_who_has_it_is_said_in_it(user: str, real_user: str | None, owner: str | None, names: Any) -> None:
    store: Any = Store()
    tokens = DelegationService(
        store,
        lambda _identifier, _password: b"",
        lambda real, wanted, _peer: (real, wanted) == ("trino", "alice"),
        renew_interval=1,
        max_lifetime=2,
        per_owner=1,
    )
    token = caller.set(Caller("h:1", user, authentication=KERBEROS, real_user=real_user))
    try:
        if names:
            tokens.issue(owner, "r")
        else:
            with pytest.raises(InvalidOperationError, match="is not allowed to impersonate bob"):
                tokens.issue(owner, "r")
    finally:
        caller.reset(token)
    assert store.names == ([names] if names else [])
