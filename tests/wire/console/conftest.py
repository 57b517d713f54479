"""Servers with a console: an open one, and one with users and rights."""

from __future__ import annotations

import shutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from metastore.client import Credentials, connect
from metastore.security.passwords import PasswordFile
from tests.fixtures.server import Server, connected, running
from tests.wire.console.visiting import Visitor
from tests.wire.monitoring.pages import HTTP

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ADMIN, LOW = "root", "low"
PASSWORDS = {ADMIN: "root's password", LOW: "low's password", "reader": "reader's password"}


@dataclass(frozen=True)
class Console:
    """A server and the address of its console."""

    server: Server
    url: str
    tls: ssl.SSLContext | None = None
    sessions: dict[str | None, dict[str, str]] = field(default_factory=dict)

    def visitor(self, user: str | None = None) -> Visitor:
        """Returns a visitor, logged in as `user` if given. Each user logs in once, because a login is slow."""
        visitor = Visitor(self.url, self.tls)
        if user in self.sessions:
            visitor.cookies |= self.sessions[user]
        elif user:
            assert visitor.log_in(user, PASSWORDS[user]).status == 303
            self.sessions[user] = dict(visitor.cookies)
        return visitor

    @contextmanager
    def client(self, user: str | None = None) -> Iterator[Any]:
        """Yields a Thrift client."""
        if user is None:
            with connected(self.server) as client:
                yield client
        else:
            with connect(self.server.uri, credentials=Credentials(user=user, password=PASSWORDS[user])) as client:
                yield client.methods


@pytest.fixture(scope="session")
def console(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console without authentication, on loopback."""
    with running(make_database(), tmp_path_factory.mktemp("console"), "--http-port", "0") as server:
        match = HTTP.search(server.ready)
        assert match
        yield Console(server, match[1])


@pytest.fixture(scope="session")
def password_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("console-passwords") / "users"
    for user, password in PASSWORDS.items():
        PasswordFile(path).add(user, password)
    return path


@pytest.fixture(scope="session")
def guarded(
    make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, password_file: Path
) -> Iterator[Console]:
    """A console with passwords and grants."""
    options = ["--authentication", "password", "--password-file", str(password_file)]
    options += ["--allow-password-without-tls", "true", "--authorization", "grants", "--admins", ADMIN]
    folder = tmp_path_factory.mktemp("guarded-console")
    with running(make_database(), folder, "--http-port", "0", "--audit", "table", *options) as server:
        match = HTTP.search(server.ready)
        assert match
        yield Console(server, match[1])


@pytest.fixture(scope="module")  # while it is open, asyncio.run fails in this thread
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: scripts/set-up installs it (Debian: chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()
