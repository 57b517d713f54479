"""A server whose notification log only one test writes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fixtures.server import Server, connected, running
from tests.wire.notifications.following import Follower


@pytest.fixture(scope="package")
def server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the test's own."""
    with running(make_database(), tmp_path_factory.mktemp("notifications")) as started:
        yield started


@pytest.fixture
def client(server: Server) -> Iterator[Any]:
    with connected(server) as opened:
        yield opened


@pytest.fixture
def log(client: Any) -> Follower:
    return Follower(client)
