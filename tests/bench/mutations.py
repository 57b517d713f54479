"""Millions of damaged handshakes: through the code of one connection, and through the sockets of a running server.

All authentication methods are on, and each kind of client first logs in undamaged. It counts forbidden outcomes: errors
that are not sent to the client, damaged clients that are accepted, and leaked files, threads and memory."""

from __future__ import annotations

import base64
import gc
import logging
import random
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import click
import psutil
import pytest

from metastore.client import Credentials, connect
from metastore.client.sasl import DigestMd5, Gssapi, Plain
from metastore.domain.delegation_tokens import Identifier, parse_token, token_text
from metastore.handlers.registry import served
from metastore.identity import JWT, KERBEROS, PASSWORD, TOKEN, AuthenticationFailedError, Identity
from metastore.protocol.call_record import CallRecords
from metastore.protocol.dispatch import Dispatcher
from metastore.security import passwords
from metastore.security.authenticator import make_authenticator
from metastore.security.digest_md5 import secret_of
from metastore.server_certificate import Certificate
from metastore.settings import PREFIX, Settings
from metastore.transport.listener import Listener
from tests.bench.servers import Side
from tests.wire.security.conftest import Authority
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, POST, Issuer
from tests.wire.security.visits import KEPT, Last, Talk, Visit, damaged, exchange, say, within_tls
from tests.wire.transport.conftest import WIRE_FORMATS
from tests.wire.transport.messages import call

BATCH: Final = 10_000
AT_ONCE: Final = 8
PARTS: Final = 10  # number of clients after which the server is checked
SHOWN: Final = 10  # number of forbidden outcomes that are listed
PATIENCE: Final = 20.0  # seconds until a server must have closed the connection of a client that left
USER, PASS = "alice", "secret"
IDENTIFIER: Final = Identifier(USER, "", "", 1, 2, 3).encoded()
NO_TOKEN: Final = token_text(IDENTIFIER, b"password")
INSIDE: Final = call("echo inside")
COSTLY: Final = {"GSSAPI": 2, "TLS": 4, "inside TLS": 2}
"""The weight of clients that take milliseconds. All others have the weight USUAL."""
USUAL: Final = 6


@dataclass
class Counts:
    """The counts: clients by kind, how many damaged ones were accepted, and forbidden outcomes."""

    clients: Counter[str] = field(default_factory=Counter)
    authenticated: int = 0
    wrong: list[str] = field(default_factory=list)


class Clients:
    """The kinds of clients: the messages that each sends undamaged, and how many of them may be damaged."""

    def __init__(self, authority: Authority, token: str, bearer: str, *, kerberos: bool) -> None:
        trusting = ssl.create_default_context(cafile=str(authority.pem))
        identifier, password = (base64.b64encode(part).decode() for part in parse_token(token))
        post = (
            POST + b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (bearer.encode(), len(INSIDE)) + INSIDE
        )
        self.kinds: dict[str, tuple[Callable[[], Talk], int]] = {
            "PLAIN": (lambda: exchange(Plain(USER, PASS), INSIDE), 2),
            "DIGEST-MD5": (lambda: exchange(DigestMd5(identifier, password), INSIDE), 4),
            "HTTP": (lambda: say(post), 1),
            "TLS": (lambda: within_tls(trusting, exchange(Plain(USER, PASS), INSIDE)), 3),
        }
        if kerberos:
            self.kinds["GSSAPI"] = (lambda: exchange(Gssapi("hive@localhost"), INSIDE), 4)
        self._within = partial_tls(trusting, [self.kinds[name] for name in self.kinds if name != "TLS"])
        self.unauthenticated = {name: call("echo inside", wire_format=name) for name in WIRE_FORMATS}
        names = [*self.kinds, "inside TLS", *self.unauthenticated]
        self._drawn = [name for name in names for _ in range(COSTLY.get(name, USUAL))]

    def damaged(self, choose: random.Random) -> tuple[str, Talk]:
        """Draws a kind and one client of it that sends one damaged message."""
        kind = choose.choice(self._drawn)
        if kind in self.unauthenticated:
            return kind, damaged(say(self.unauthenticated[kind]), choose, 0)
        if kind == "inside TLS":
            return kind, self._within(choose)
        client, messages = self.kinds[kind]
        return kind, damaged(client(), choose, choose.randrange(messages))


def partial_tls(
    trusting: ssl.SSLContext, kinds: Sequence[tuple[Callable[[], Talk], int]]
) -> Callable[[random.Random], Talk]:
    """Returns a function that makes clients that are damaged inside TLS."""

    def draw(choose: random.Random) -> Talk:
        client, messages = choose.choice(kinds)
        return within_tls(trusting, damaged(client(), choose, choose.randrange(messages)))

    return draw


def settings_of(folder: Path, issuer: Issuer, keytab: str | None) -> dict[str, str]:
    """Returns options of the server that enable all methods, also without TLS."""
    methods = [PASSWORD, JWT, TOKEN, *([KERBEROS] if keytab else [])]
    return {
        "authentication": ",".join(methods),
        "password_file": str(folder / "users"),
        "allow_password_without_tls": "true",
        "jwt_keys": str(issuer.path),
        "jwt_issuer": ISSUER,
        "jwt_audience": AUDIENCE,
        **({"kerberos_keytab": keytab} if keytab else {}),
    }


def bearer_of(issuer: Issuer) -> str:
    return issuer.token(USER, exp=int(time.time()) + 86_400)


def in_process(
    count: int, seed: int, authority: Authority, certificate: Certificate, issuer: Issuer, options: dict[str, str]
) -> Counts:
    """Opens `count` connections with a server's authenticator and dispatcher; reports leaks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_COST", 2)  # scrypt would take nine tenths of the time
        passwords.PasswordFile(Path(options["password_file"])).add(USER, PASS)
        authenticator = make_authenticator(
            Settings.load({}, {f"{PREFIX}{k.upper()}": v for k, v in options.items()}), _secret, set, lambda *_: None
        )
        asking = frozenset(options["authentication"].split(","))
        listeners = [
            Listener(tls="allowed", certificate=certificate, authentication=asking, authenticator=authenticator),
            Listener(tls="allowed", certificate=certificate),
        ]
        clients = Clients(authority, NO_TOKEN, bearer_of(issuer), kerberos=KERBEROS in asking)
        actual = Counts()
        with _surprises(actual):
            for kind, (client, _) in clients.kinds.items():
                visit = Visit(listeners[0], client(), _sessions())
                assert (visit.served, any(visit.known)) == (1, True), (kind, visit.answer)
            _many(count, seed, clients, listeners, actual)
    return actual


def _many(count: int, seed: int, clients: Clients, listeners: Sequence[Listener], actual: Counts) -> None:
    this, sessions, begun = psutil.Process(), _sessions(), time.perf_counter()
    for number in range(0, count, BATCH):
        choose = random.Random(f"{seed} {number}")
        for _ in range(min(BATCH, count - number)):
            kind, talk = clients.damaged(choose)
            actual.clients[kind] += 1
            listener = listeners[choose.random() < 0.1]
            try:
                visit = Visit(listener, talk, sessions)
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                actual.wrong.append(f"{kind}: {type(error).__name__} {error}")
                continue
            actual.authenticated += any(visit.known)
            if listener.restricted and visit.worked:
                actual.wrong.append(f"{kind}: a call without authentication was executed")
            if any(identity and identity.user != USER for identity in visit.known):
                actual.wrong.append(f"{kind}: another user was authenticated: {visit.known}")
            if not any(visit.known) and listener.restricted and visit.most_held > KEPT:
                actual.wrong.append(f"{kind}: {visit.most_held} bytes were kept without authentication")
        gc.collect()
        done = min(number + BATCH, count)
        if done in (BATCH, count) or not done % (10 * BATCH):
            rate = done / (time.perf_counter() - begun)
            click.echo(f"    {done:9,}: {rate:5.0f} a second; the process has {_figures([this])}")


def _sessions() -> Callable[..., Any]:
    """Returns a function that opens sessions as a server does, with handlers that do nothing."""
    domains = {method.domain for method in served().values()}
    dispatcher = Dispatcher(served(), dict.fromkeys(domains, _Nothing()), CallRecords(10.0))
    return dispatcher.open_session


class _Nothing:
    """Implements every method."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


def _secret(identifier: bytes) -> tuple[bytes, Identity]:
    if identifier != IDENTIFIER:
        raise AuthenticationFailedError("DIGEST-MD5: no such token")
    return secret_of(IDENTIFIER, b"password"), Identity(USER, TOKEN)


@contextmanager
def _surprises(actual: Counts) -> Iterator[None]:
    """Counts logged errors, and log records with an exception, as forbidden."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            if record.levelno >= logging.ERROR or record.exc_info:
                actual.wrong.append(f"{text}: {record.exc_info and repr(record.exc_info[1])}")

    logger, handler = logging.getLogger("metastore"), Handler(logging.INFO)
    before = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


def through_sockets(count: int, seed: int, side: Side, clients: Clients, log: Path) -> Counts:
    """Makes clients visit a running server, eight at a time. Reports the resources of the server before and after."""
    actual = Counts()
    workers = [worker for worker in side.workers() if worker.num_threads() > 1] or side.workers()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for kind, (client, _) in clients.kinds.items():
            assert _comes_in(side, kind, client()), f"{kind} does not come in"
        for begin, end in pairwise(range(0, count + 1, max(1, count // PARTS))):
            begun = time.perf_counter()
            list(pool.map(lambda n: _one(side, clients, random.Random(f"{seed} {n}"), actual), range(begin, end)))
            rate = (end - begin) / (time.perf_counter() - begun)
            time.sleep(2.0)  # time for the server to notice closed connections
            click.echo(f"    {end:9,}: {rate:5.0f} a second; the server has {_figures(workers)}")
    actual.wrong += [f"worker {worker.pid} died" for worker in workers if not worker.is_running()]
    shut_out = [kind for kind, (client, _) in clients.kinds.items() if not _comes_in(side, kind, client())]
    actual.wrong += [f"{kind} does not come in any more" for kind in shut_out]
    text = log.read_text(errors="replace")
    actual.wrong += [line for line in text.splitlines() if " ERROR " in line or line.startswith("Traceback")]
    return actual


_COUNTING = threading.Lock()


def _one(side: Side, clients: Clients, choose: random.Random, actual: Counts) -> None:
    kind, talk = clients.damaged(choose)
    wrong = ""
    try:
        _visit(side, talk)
    except TimeoutError:
        wrong = f"{kind}: the server said nothing for {PATIENCE:g} s, and did not hang up"
    except OSError:
        pass  # the server closed the connection before the client had sent everything
    with _COUNTING:
        actual.clients[kind] += 1
        actual.wrong += [wrong] if wrong else []


def _comes_in(side: Side, kind: str, talk: Talk) -> bool:
    """Returns whether a client got an answer. An encrypted answer differs from a rejection by its length alone."""
    heard = _visit(side, talk)
    return b"getOption" in heard or (kind in COSTLY and len(heard) > 50 and heard[:1] != b"\x03")


def _visit(side: Side, talk: Talk) -> bytes:
    """Sends all messages of the client. Returns the last reply."""
    with socket.create_connection((side.host, side.port), PATIENCE) as sock:
        said, heard = next(talk, b""), b""
        while said:
            sock.sendall(said)
            if isinstance(said, Last):
                sock.shutdown(socket.SHUT_WR)
                while data := sock.recv(2**16):
                    heard = data
            else:
                heard = sock.recv(2**16)
            try:
                said = talk.send(heard)
            except StopIteration:
                break
        return heard


def _figures(processes: Sequence[psutil.Process]) -> str:
    files, threads, memory = (
        sum(values)
        for values in zip(*((p.num_fds(), p.num_threads(), p.memory_info().rss) for p in processes), strict=True)
    )
    return f"{files} open files, {threads} threads, {memory / 2**20:.0f} MiB"


def token_of(side: Side) -> str:
    """Returns a delegation token, obtained with the Kerberos ticket of this process."""
    with connect(f"thrift://localhost:{side.port}", credentials=Credentials(kerberos="hive")) as client:
        return str(client.methods.get_delegation_token(USER, USER))


def tell(what: str, actual: Counts) -> None:
    """Prints the counts."""
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(actual.clients.items()))
    click.echo(f"{sum(actual.clients.values()):,} {what}: {kinds}")
    click.echo(
        f"    forbidden outcomes: {len(actual.wrong)}; authenticated in spite of damage: {actual.authenticated:,}"
    )
    for text in actual.wrong[:SHOWN]:
        click.echo(f"    {' '.join(text.split())[:500]}")
