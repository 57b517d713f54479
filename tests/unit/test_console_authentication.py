"""The clients that may open the console, by the address of the connection and the authentication methods."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from metastore.context import caller
from metastore.identity import JWT, KERBEROS, PASSWORD, AuthenticationUnavailableError, Identity
from metastore.web.console import authentication
from metastore.web.console.authentication import LOCAL_ONLY, NO_METHOD, ClosedError, ConsoleAuthenticator, local_path
from metastore.web.console.sessions import Sessions
from metastore.web.console.site import Site


def request(address: str, *headers: tuple[bytes, bytes]) -> Request:
    scope = {"type": "http", "scheme": "http", "server": (address, 9084), "headers": headers}
    return Request({**scope, "method": "GET", "path": "/"})


def authenticator(*methods: str) -> ConsoleAuthenticator:
    return ConsoleAuthenticator(None, frozenset(methods), Sessions(lambda _: [""], 0.0))  # type: ignore[arg-type] # not used here


@pytest.mark.parametrize("address", ["10.0.0.5", "fd00::1", "0.0.0.0", "169.254.1.1", ""])
def test_other_hosts_need_authentication(address: str) -> None:
    with pytest.raises(ClosedError, match=LOCAL_ONLY):
        authenticator().check_open(request(address))
    for method in (PASSWORD, JWT):
        authenticator(method).check_open(request(address))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.8.8"])
def test_loopback_needs_none(address: str) -> None:
    authenticator().check_open(request(address))


def test_a_browser_cannot_use_tickets() -> None:
    with pytest.raises(ClosedError, match=NO_METHOD):
        authenticator(KERBEROS).check_open(request("127.0.0.1"))


def test_sessions_end_by_age_and_with_their_credential() -> None:
    now, ended = [0.0], [""]
    sessions = Sessions(lambda _: ended, 10.0, lambda: now[0])
    secret = sessions.begin(Identity("alice", PASSWORD))
    actual = sessions.find(secret)
    assert actual is not None
    assert actual.user == "alice"
    assert sessions.find(secret + "x") is None
    ended[0] = "revoked"
    assert sessions.find(secret) is None
    ended[0] = ""
    assert sessions.find(secret) is None, "an ended session does not come back"
    secret = sessions.begin(Identity("alice", PASSWORD))
    now[0] = 11.0
    assert sessions.find(secret) is None


def test_a_user_who_logs_in_often_ends_only_own_sessions() -> None:
    sessions = Sessions(lambda _: [""], 0.0)
    alice = sessions.begin(Identity("alice", PASSWORD))
    mallory = [sessions.begin(Identity("mallory", PASSWORD)) for _ in range(101)]
    assert sessions.find(alice)
    assert [bool(sessions.find(secret)) for secret in mallory] == [False] + [True] * 100


def test_the_groups_of_a_credential_count() -> None:
    """Grants and denies may name them."""
    known = Identity("alice", JWT, groups=("contractors",))
    sessions = Sessions(lambda _: [""], 0.0)
    by_cookie = ConsoleAuthenticator(None, frozenset({JWT}), sessions)  # type: ignore[arg-type] # not used here
    cookie = f"metastore-console-9084={sessions.begin(known)}"
    asked = request("127.0.0.1", (b"cookie", cookie.encode()))
    site = Site(by_cookie, lambda _: ["staff"], lambda: False, lambda: 0, lambda _: [], 1)

    async def groups() -> Any:
        return await site._run(await by_cookie.visitor(asked), lambda: getattr(caller.get(), "groups", None))

    assert asyncio.run(groups()) == ["staff", "contractors"]


def test_a_password_that_is_not_checked_in_time_is_not_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients try again after 503, and give up after 401."""
    monkeypatch.setattr(authentication, "_LOGIN_TIMEOUT", 0.0)
    failed: list[Exception] = []
    checking = SimpleNamespace(
        mechanism=lambda *_, **__: SimpleNamespace(step=lambda _: Future[Identity]()),
        failed=lambda error, _: failed.append(error),
    )
    console = ConsoleAuthenticator(checking, frozenset({PASSWORD}), Sessions(lambda _: [""], 0.0))  # type: ignore[arg-type] # a part
    asked = request("127.0.0.1", (b"authorization", b"Basic YWxpY2U6c2VjcmV0"))
    with pytest.raises(AuthenticationUnavailableError, match="Too many logins are waiting"):
        asyncio.run(console.visitor(asked))
    assert len(failed) == 1


@pytest.mark.parametrize("text", ["//evil", "/\\evil", "http://evil", "javascript:x", "", "/\t/evil"])
def test_a_login_redirects_to_this_server_only(text: str) -> None:
    assert local_path(text) == "/"
