"""Damaged handshakes: no client is accepted by one, no error is unexpected, and nothing leaks."""

from __future__ import annotations

import base64
import logging
import random
import ssl
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metastore.identity import METHODS, AuthenticationFailedError, Identity
from metastore.security.authenticator import Authenticator
from metastore.security.certificates import Certificates
from metastore.security.digest_md5 import DigestMd5
from metastore.security.passwords import LoginGuard, Plain
from metastore.settings import Settings
from metastore.transport.certificate import Certificate
from metastore.transport.listener import Listener
from tests.fixtures.examples import examples
from tests.wire.transport.messages import call

from .conftest import Pem
from .visits import KEPT, Visit, check, damaged, message, say, secret


def bearer(token: str) -> Identity:
    if token != "a.good.token":
        raise AuthenticationFailedError("Authentication error: the JWT is not accepted")
    return Identity("alice", "jwt")


class NoDelays(LoginGuard):
    """Checks each password at once, however many others were wrong."""

    def submit(self, user: str, message: str, peer: str, check: Callable[[], Identity]) -> Future[Identity]:
        done: Future[Identity] = Future()
        try:
            done.set_result(check())
        except AuthenticationFailedError as error:
            done.set_exception(error)
        return done


AUTHENTICATOR = Authenticator(
    Certificates(Settings().tls_user_pattern),
    {
        "PLAIN": (frozenset(METHODS), lambda *_: Plain([check], NoDelays(), encrypted=True, without_tls=True)),
        "DIGEST-MD5": (frozenset(METHODS), lambda *_: DigestMd5(secret)),
    },
    bearer,
    without_tls=True,
)


CALL = call("echo inside")
PLAIN = message(1, b"PLAIN") + message(5, b"\0alice\0secret") + struct.pack("!I", len(CALL)) + CALL
DIGEST = (
    message(1, b"DIGEST-MD5")
    + message(2, b"")
    + message(
        2,
        b'charset=utf-8,username="' + base64.b64encode(b"identifier") + b'",realm="default",nonce="x",nc=00000001,'
        b'cnonce="y",digest-uri="null/default",maxbuf=65536,response=d388dad90d4bbd760a152321f2143af7,qop=auth',
    )
)
HEAD = (
    b"POST /metastore HTTP/1.1\r\nContent-Type: application/x-thrift\r\nAuthorization: Bearer a.good.token\r\n"
    b"Content-Length: %d\r\n\r\n"
)
HTTP = HEAD % len(CALL) + CALL


@pytest.fixture(scope="module")
def listener(host_pem: Pem) -> Listener:
    return Listener(
        tls="allowed",
        authentication=frozenset(METHODS),
        certificate=Certificate(Path(host_pem.chain), Path(host_pem.key)),
        authenticator=AUTHENTICATOR,
    )


@pytest.fixture(scope="module")
def hello() -> bytes:
    leaving = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), leaving, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return leaving.read()


@pytest.fixture
def surprises() -> Iterator[list[logging.LogRecord]]:
    actual: list[logging.LogRecord] = []
    logger = logging.getLogger("metastore.transport")

    def seen(record: logging.LogRecord) -> bool:
        if record.exc_info or record.levelno >= logging.ERROR:
            actual.append(record)
        return False

    logger.addFilter(seen)
    yield actual
    logger.removeFilter(seen)


@pytest.mark.parametrize("whole", [PLAIN, HTTP], ids=["PLAIN", "HTTP"])
def test_undamaged_clients_are_authenticated(listener: Listener, whole: bytes) -> None:
    visit = Visit(listener, say(whole))
    assert [identity and identity.user for identity in visit.known] == ["alice"]
    assert b"inside" in visit.answer


def cuts(whole: bytes) -> Iterator[bytes]:
    yield from (whole[:at] for at in range(len(whole)))


@pytest.mark.parametrize("name", ["PLAIN", "DIGEST", "HTTP", "TLS", "Thrift"])
def test_exchanges_cut_at_any_position_log_no_one_in(
    listener: Listener, hello: bytes, surprises: list[logging.LogRecord], name: str
) -> None:
    whole = {"PLAIN": PLAIN, "DIGEST": DIGEST, "HTTP": HTTP, "TLS": hello, "Thrift": CALL}[name]
    for data in cuts(whole):
        visit = Visit(listener, say(data))
        assert visit.worked == 0
        assert b"inside" not in visit.answer
    assert not surprises


def visits(listener: Listener, wholes: list[bytes], seed: int, count: int) -> None:
    """Fails if a damaged handshake lets an unknown client in, or has the server keep much memory."""
    choose = random.Random(seed)
    for _ in range(count):
        whole = choose.choice(wholes)
        visit = Visit(listener, damaged(say(whole), choose, 0))
        for identity in visit.known:
            assert identity is None or identity.user == "alice"
        assert visit.worked == 0
        if visit.known in ([], [None]):
            assert visit.most_held <= KEPT


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_damaged_exchanges_log_no_one_in(
    listener: Listener, hello: bytes, surprises: list[logging.LogRecord], seed: int
) -> None:
    visits(listener, [PLAIN, DIGEST, HTTP, hello, CALL], seed, 50)
    assert not surprises, surprises[0].exc_info
