"""Groups of the user of a connection, also while it acts for another user."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.context import Caller
from metastore.errors import InvalidOperationError
from metastore.protocol import dispatch
from metastore.protocol.dispatch import KnownSession


class Recorder:
    """Takes the place of the dispatcher."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], str | None]] = []

    def handle(self, _iprot: object, _oprot: object, caller: Caller, refusal: str | None) -> None:
        self.calls.append((list(caller.groups), refusal))


def test_groups_change_during_a_connection_also_for_the_user_of_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_GROUPS_INTERVAL", -1.0)
    groups = {"trino": ["engines"], "carol": ["analysts"]}
    recorder: Any = Recorder()
    caller = Caller("peer", "trino", authentication="password")
    session = KnownSession(recorder, caller, lambda user: list(groups[user]))
    session.handle(None, None)  # type: ignore[arg-type]
    assert session.user == "trino"
    caller.user, caller.groups = "carol", ["analysts"]
    assert session.user == "carol"  # her calls are counted as hers
    groups["carol"] = ["contractors"]
    session.handle(None, None)  # type: ignore[arg-type]
    assert recorder.calls == [(["engines"], None), (["contractors"], None)]


def test_a_user_whom_the_source_of_groups_rejects_makes_no_calls() -> None:
    def groups_of(user: str) -> list[str]:
        raise InvalidOperationError(f"User {user} is alice in LDAP")

    recorder: Any = Recorder()
    session = KnownSession(recorder, Caller("peer", "ALICE"), groups_of)
    for _ in range(2):
        session.handle(None, None)  # type: ignore[arg-type]
    assert session.user is None  # not authenticated
    assert recorder.calls == [([], "User ALICE is alice in LDAP")] * 2
