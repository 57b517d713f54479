"""Pages while the database is away, and after it has come back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fixtures.proxy import Proxy
from tests.fixtures.server import running
from tests.wire.console.visiting import Visitor
from tests.wire.monitoring.pages import HTTP

PAGES = ("/", "/?q=a", "/databases/hive/default", "/growth", "/now", "/changes", "/locks", "/health")


def test_pages_report_a_missing_database(
    make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    proxy = Proxy(make_database())
    with running(proxy.url, tmp_path_factory.mktemp("outage"), "--http-port", "0") as server:
        match = HTTP.search(server.ready)
        assert match
        visitor = Visitor(match[1])
        assert visitor.get("/").status == 200
        proxy.cut()
        for page in PAGES:
            reply = visitor.get(page)
            assert reply.status == 503, page
            assert "Not available" in reply.text
            assert "Traceback" not in reply.text
            twin = visitor.get(page, Accept="application/json")
            assert (twin.status, list(twin.data)) == (503, ["error"])
        proxy.restore()
        while visitor.get("/").status != 200:  # pytest's time limit ends a failure
            pass
    proxy.cut()
