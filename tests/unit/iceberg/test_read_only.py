"""The routes of a server that accepts no writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response

from metastore.iceberg.reading import Reader
from metastore.iceberg.texts import MetadataTexts
from metastore.web.console.authentication import Visitor
from metastore.web.iceberg import ENDPOINTS, READING, ROOT, Catalog, IcebergRoutes

WRITING = sorted(key for key in ENDPOINTS if key[0] not in READING)


class Anyone:
    async def visitor(self, request: Request) -> Visitor:
        return Visitor(str(request.client))


class Catalogs:
    names = ("hive",)


@pytest.fixture(scope="module")
def routes() -> IcebergRoutes:
    nothing = cast(Any, None)
    reader = Reader(lambda *_: Catalogs, MetadataTexts(nothing), lambda _: None)

    def as_visitor(_: Visitor, function: Callable[[], Any]) -> Any:
        return function()

    return IcebergRoutes(Anyone(), Catalog(reader, nothing, nothing, nothing), as_visitor, 1, read_only=True)


def send(routes: IcebergRoutes, method: str, path: str) -> Response:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b"", "server": ("h", 1)}
    return asyncio.run(routes.answer(Request(scope, receive)))


def test_it_advertises_what_reads(routes: IcebergRoutes) -> None:
    listed = json.loads(bytes(send(routes, "GET", f"{ROOT}/config").body))["endpoints"]
    assert {each.split()[0] for each in listed} == set(READING)
    assert len(listed) + len(WRITING) == len(ENDPOINTS)


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_changes_are_rejected(routes: IcebergRoutes, method: str, path: str) -> None:
    """With a certain error of the protocol, and without carrying anything out."""
    answer = send(routes, method, ROOT + path.removeprefix("/v1/{prefix}").replace("{", "").replace("}", ""))
    error = json.loads(bytes(answer.body))["error"]
    assert (answer.status_code, error["code"], error["type"]) == (405, 405, "UnsupportedOperationException")
    assert "METASTORE_READ_ONLY" in error["message"]
