"""A server with authorization, and clients of several users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.fixtures.server import Server, connected, running

ADMIN = "root"
OFFICER = "sam"  # an administrator of security
STEWARD = "dana"  # an administrator of data


@pytest.fixture(scope="module")
def guarded_server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for each module. Each test uses its own names."""
    folder = tmp_path_factory.mktemp("guarded")
    admins = ("--admins", f"{ADMIN},@wheel", "--security-admins", f"{OFFICER},@officers", "--data-admins", STEWARD)
    with running(make_database(), folder, "--authorization", "grants", *admins) as server:
        yield server


@pytest.fixture
def client_of(guarded_server: Server) -> Iterator[Callable[..., Any]]:
    """`client_of(user, groups)` opens a connection for the user."""
    with ExitStack() as stack:

        def connect(user: str | None, groups: list[str] | None = None) -> Any:
            client = stack.enter_context(connected(guarded_server))
            if user is not None:
                client.set_ugi(user, groups or [])
            return client

        yield connect
