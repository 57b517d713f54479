"""Delays after failed logins, and the pool that checks passwords."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from metastore.addresses import host_of, network_of
from metastore.errors import UnavailableError
from metastore.identity import (
    JWT,
    PASSWORD,
    TOKEN,
    AuthenticationFailedError,
    AuthenticationUnavailableError,
    Identity,
)
from metastore.security import throttle as throttle_module
from metastore.security.authenticator import SessionChecks
from metastore.security.jwt import is_token
from metastore.security.login_pool import LoginPool
from metastore.security.passwords import LoginGuard, PasswordFile, Plain
from metastore.security.throttle import LoginThrottle, ThrottledError

HERE, ELSEWHERE = "10.0.0.1:5000", "10.0.0.2:5000"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def fails(throttle: LoginThrottle, times: int, user: str = "alice", address: str = HERE) -> None:
    for _ in range(times):
        throttle.failed(user, address)


def test_the_delay_grows_with_each_failure_and_ends() -> None:
    clock = Clock()
    throttle = LoginThrottle(clock)
    fails(throttle, 4)
    throttle.check("alice", HERE)
    for seconds in (1, 2, 4, 8, 16, 32, 60, 60):
        fails(throttle, 1)
        with pytest.raises(ThrottledError, match=f"try again in {seconds} s"):
            throttle.check("alice", HERE)
        clock.now += seconds
        throttle.check("alice", HERE)


class Shared:
    """Failures of all workers. With `error`, the database is not available."""

    error: Exception | None = None

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def read(self, keys: Sequence[str]) -> dict[str, tuple[int, float]]:
        if self.error:
            raise self.error
        return {key: (self.counts[key], 0.0) for key in keys if self.counts[key]}

    def add(self, keys: Sequence[str], forget: float) -> None:
        assert forget > 60
        if self.error:
            raise self.error
        self.counts.update(keys)

    def delete(self, key: str) -> None:
        del self.counts[key]


def test_a_guesser_gets_no_more_guesses_from_several_workers() -> None:
    shared = Shared()
    workers = [LoginThrottle(Clock(), shared) for _ in range(4)]
    for number in range(5):
        workers[number % 4].check_shared("alice", HERE)
        fails(workers[number % 4], 1)
    for worker in workers:
        with pytest.raises(ThrottledError):
            worker.check_shared("alice", HERE)
        assert not worker.check_shared("bob", HERE)
        assert not worker.check_shared("alice", ELSEWHERE)


def test_a_login_ends_the_delay_on_all_workers() -> None:
    shared = Shared()
    workers = [LoginThrottle(Clock(), shared) for _ in range(2)]
    fails(workers[0], 4)
    has_failed = workers[1].check_shared("alice", HERE)
    assert has_failed
    workers[1].succeeded("alice", HERE, has_failed=has_failed)
    assert not workers[0].check_shared("alice", HERE)
    assert not any("alice" in key for key in shared.counts)


def test_without_the_database_each_worker_counts_for_itself(caplog: pytest.LogCaptureFixture) -> None:
    shared = Shared()
    shared.error = UnavailableError("no database")
    throttle = LoginThrottle(Clock(), shared)
    fails(throttle, 5)
    throttle.check_shared("alice", HERE)
    with pytest.raises(ThrottledError):
        throttle.check("alice", HERE)
    throttle.succeeded("alice", HERE)
    throttle.check("alice", HERE)
    assert "failed logins cannot be shared with other workers: no database" in caplog.text


def test_other_users_and_other_addresses_have_no_delay() -> None:
    throttle = LoginThrottle(Clock())
    fails(throttle, 20)
    throttle.check("bob", HERE)
    throttle.check("alice", ELSEWHERE)


def test_guesses_from_many_addresses_delay_the_user_except_where_it_has_logged_in() -> None:
    throttle = LoginThrottle(Clock())
    throttle.succeeded("alice", ELSEWHERE)
    for number in range(60):
        throttle.failed("alice", f"10.1.0.{number}:1")
    with pytest.raises(ThrottledError, match="try again in 5 s"):
        throttle.check("alice", HERE)
    throttle.check("alice", ELSEWHERE)


def test_a_login_ends_the_delay_and_time_forgets_failures() -> None:
    clock = Clock()
    throttle = LoginThrottle(clock)
    fails(throttle, 6)
    throttle.succeeded("alice", HERE)
    throttle.check("alice", HERE)
    fails(throttle, 6)
    clock.now += 1000
    fails(throttle, 1)
    throttle.check("alice", HERE)


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle_module, "_MAX_ENTRIES", 10)
    throttle = LoginThrottle(Clock())
    for number in range(100):
        throttle.failed(f"user{number}", HERE)
        throttle.succeeded(f"user{number}", HERE)
    assert len(throttle._failures) <= 10
    assert len(throttle._succeeded) <= 10


def test_networks_of_clients() -> None:
    assert network_of(host_of("10.0.0.1:99")) == network_of(host_of("[::ffff:10.0.0.1]:99")) == "10.0.0.1"
    assert network_of(host_of("[2001:db8::1:2]:99")) == network_of(host_of("[2001:db8::ffff]:1")) == "2001:db8::/64"


def test_users_take_turns_and_one_password_is_checked_once() -> None:
    pool, go, order = LoginPool(threads=1), threading.Event(), []

    def check(name: str) -> Identity:
        go.wait(30)
        order.append(name)
        return Identity(name, PASSWORD)

    futures: list[Future[Identity]] = [pool.submit(("first", ""), "x", lambda: check("first"))]
    for password in "abc":
        futures.append(pool.submit(("guesser", ""), password, lambda: check("guesser")))
    futures.append(pool.submit(("bob", ""), "x", lambda: check("bob")))
    assert pool.submit(("bob", ""), "x", lambda: check("twice")) is futures[-1]
    futures.append(pool.submit(("known", ""), "x", lambda: check("known"), first=True))
    go.set()
    assert [future.result(30).user for future in futures][-1] == "known"
    assert "twice" not in order
    assert order.index("bob") < len(order) - 2  # not behind all of the guesser's
    assert order.index("known") < order.index("bob")


def test_a_client_that_invents_users_delays_no_other_address() -> None:
    pool, go, order = LoginPool(threads=1), threading.Event(), []

    def check(name: str) -> Identity:
        go.wait(30)
        order.append(name)
        return Identity(name, PASSWORD)

    futures, rejected = [], 0
    for number in range(2000):
        try:
            futures.append(pool.submit((f"user{number}", "192.0.2.1"), "x", lambda: check("guesser")))
        except AuthenticationUnavailableError:
            rejected += 1
    futures.append(pool.submit(("bob", "192.0.2.2"), "x", lambda: check("bob")))
    go.set()
    assert [future.result(30).user for future in futures][-1] == "bob"
    assert rejected
    assert order.index("bob") <= 2


def test_two_threads_check_all_passwords() -> None:
    """Calls keep the other threads, and the memory that each hash takes."""
    pool, go = LoginPool(), threading.Event()

    def check() -> Identity:
        go.wait(30)
        return Identity("alice", PASSWORD)

    futures = [pool.submit(("alice", f"192.0.2.{number}"), "x", check) for number in range(8)]
    assert pool._threads == 2
    go.set()
    assert {future.result(30).user for future in futures} == {"alice"}


def test_too_many_waiting_checks_of_a_user_are_rejected() -> None:
    pool, go = LoginPool(threads=1), threading.Event()

    def check() -> Identity:
        go.wait(30)
        return Identity("alice", PASSWORD)

    futures, rejected = [], []
    for number in range(30):
        try:
            futures.append(pool.submit(("alice", ""), str(number), check))
        except AuthenticationFailedError as error:
            rejected.append(str(error))
    assert len(futures) in (16, 17)  # the first one may have begun
    assert all("try again" in text for text in rejected)
    futures.append(pool.submit(("bob", ""), "x", check))
    go.set()
    assert {future.result(30).user for future in futures} == {"alice"}


def step(guard: LoginGuard, checks: list[object], response: bytes) -> Identity:
    """Runs a login exchange as a connection does."""
    options: Any = {"encrypted": True, "without_tls": False, "peer": HERE, "is_token": is_token}
    plain = Plain(checks, guard, **options)  # type: ignore[arg-type] # stubs
    return plain.step(response).result(30)


def test_guesses_are_counted_and_then_not_checked() -> None:
    checked = []

    def check(user: str, password: str) -> Identity | None:
        checked.append(password)
        return Identity(user, PASSWORD) if password == "right" else None

    guard = LoginGuard()
    for _ in range(5):
        with pytest.raises(AuthenticationFailedError, match="unknown or the password is wrong") as caught:
            step(guard, [check], b"\0alice\0wrong")
        assert caught.value.user == "alice"
    with pytest.raises(ThrottledError):
        step(guard, [check], b"\0alice\0right")
    assert checked == ["wrong"] * 5
    assert step(guard, [check], b"\0bob\0right") == Identity("bob", PASSWORD)


def test_a_foreign_authorization_id_is_a_failed_login() -> None:
    guard = LoginGuard()
    for _ in range(5):
        with pytest.raises(AuthenticationFailedError, match="alice cannot log in as root"):
            step(guard, [lambda user, _: Identity(user, PASSWORD)], b"root\0alice\0right")
    with pytest.raises(ThrottledError):
        step(guard, [lambda user, _: Identity(user, PASSWORD)], b"alice\0alice\0right")


def test_spellings_of_a_name_count_together() -> None:
    guard = LoginGuard()
    for user in ("alice", "Alice", "ALICE", "\uff41lice", "aLiCe"):
        with pytest.raises(AuthenticationFailedError, match="unknown or the password is wrong"):
            step(guard, [lambda *_: None], f"\0{user}\0wrong".encode())
    with pytest.raises(ThrottledError):
        step(guard, [lambda *_: None], b"\0alicE\0right")


def test_users_whose_names_differ_in_case_do_not_share_a_check() -> None:
    """A password file may have both."""
    guard, go = LoginGuard(), threading.Event()

    def check(user: str) -> Identity:
        go.wait(10)
        return Identity(user, PASSWORD)

    logins = [guard.submit(user, f"\0{user}\0secret", HERE, partial(check, user)) for user in ("alice", "Alice")]
    go.set()
    assert [login.result(10).user for login in logins] == ["alice", "Alice"]


def test_tokens_neither_end_a_delay_nor_cause_one() -> None:
    def check(user: str, password: str) -> Identity | None:
        if password == "ey.of.mallory":
            return Identity("mallory", JWT)
        if is_token(password):
            raise AuthenticationFailedError("it is malformed", user)
        return Identity(user, PASSWORD) if password == "right" else None

    guard = LoginGuard()
    for number in range(5):
        with pytest.raises(AuthenticationFailedError, match="wrong"):
            step(guard, [check], b"\0alice\0wrong%d" % number)
        assert step(guard, [check], b"\0alice\0ey.of.mallory") == Identity("mallory", JWT)
        with pytest.raises(AuthenticationFailedError, match="malformed"):
            step(guard, [check], b"\0bob\0ey.%d.x" % number)
    with pytest.raises(ThrottledError):
        step(guard, [check], b"\0alice\0right")
    assert step(guard, [check], b"\0bob\0right") == Identity("bob", PASSWORD)


def test_a_directory_that_does_not_answer_is_no_failed_login() -> None:
    def check(_user: str, _password: str) -> Identity | None:
        raise AuthenticationUnavailableError("does not answer")

    guard = LoginGuard()
    for _ in range(10):
        with pytest.raises(AuthenticationUnavailableError):
            step(guard, [check], b"\0alice\0right")


def test_sessions_end_with_their_credential(tmp_path: Path) -> None:
    file = PasswordFile(tmp_path / "users")
    file.add("alice", "wonderland")
    file.add("bob", "builder")
    alice, bob = file.check("alice", "wonderland"), file.check("bob", "builder")
    assert alice
    assert bob
    file.remove("alice")
    token, revoked = (Identity("carol", TOKEN, credential=name) for name in (b"1", b"2"))
    expired, lasting = (Identity("dave", "jwt", expires_at=seconds) for seconds in (1.0, 1e11))
    checks = SessionChecks(file, lambda _: {b"1"})
    reasons = checks.ended([alice, bob, token, revoked, expired, lasting])
    assert "alice was removed" in reasons[0]
    assert "carol was cancelled" in reasons[3]
    assert "the login of dave by jwt has expired" in reasons[4]
    assert [bool(reason) for reason in reasons] == [True, False, False, True, True, False]
