"""The routes of Iceberg's REST catalog protocol, below `/iceberg/v1`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import unquote_plus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metastore.domain.names import DEFAULT_CATALOG
from metastore.errors import MetastoreError
from metastore.iceberg.errors import NOT_AUTHORIZED, NOT_FOUND, RestError, rest_error
from metastore.iceberg.reading import Loaded, Reader, requested_page
from metastore.identity import AuthenticationFailedError, AuthenticationUnavailableError
from metastore.web.console.authentication import ClosedError, LoginRequiredError, Visitor

log = logging.getLogger("metastore.iceberg")

ROOT: Final = "/iceberg/v1"
_SEPARATOR: Final = "\x1f"  # of the levels of a namespace in a path


@dataclass(frozen=True)
class Call:
    """A request: the catalog, the parts of its path by name, its parameters and headers."""

    catalog: str
    parts: Mapping[str, str]
    parameters: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def namespace(self) -> list[str]:
        """The levels of the namespace in the path."""
        return self.parts["namespace"].split(_SEPARATOR)


Answer: TypeAlias = "dict[str, Any] | Loaded | None"  # None: status 204
Handler: TypeAlias = Callable[[Reader, Call], Answer]


def _namespaces(reader: Reader, call: Call) -> Answer:
    parent = call.parameters.get("parent", "")
    return reader.namespaces(call.catalog, parent.split(_SEPARATOR) if parent else [], requested_page(call.parameters))


def _namespace(reader: Reader, call: Call) -> Answer:
    return reader.namespace(call.catalog, call.namespace)


def _namespace_exists(reader: Reader, call: Call) -> Answer:
    reader.namespace(call.catalog, call.namespace)
    return None


def _tables(reader: Reader, call: Call) -> Answer:
    return reader.tables(call.catalog, call.namespace, requested_page(call.parameters))


def _views(reader: Reader, call: Call) -> Answer:
    return reader.views(call.catalog, call.namespace, requested_page(call.parameters))


def _table(reader: Reader, call: Call) -> Answer:
    known = call.headers.get("if-none-match", "")
    return reader.load_table(
        call.catalog, call.namespace, call.parts["table"], call.parameters.get("snapshots", ""), known
    )


def _table_exists(reader: Reader, call: Call) -> Answer:
    reader.check_table(call.catalog, call.namespace, call.parts["table"])
    return None


def _view(reader: Reader, call: Call) -> Answer:
    return reader.load_view(call.catalog, call.namespace, call.parts["view"])


def _view_exists(reader: Reader, call: Call) -> Answer:
    reader.check_view(call.catalog, call.namespace, call.parts["view"])
    return None


_NAMESPACE: Final = "/v1/{prefix}/namespaces/{namespace}"
ENDPOINTS: Final[dict[tuple[str, str], Handler]] = {
    ("GET", "/v1/{prefix}/namespaces"): _namespaces,
    ("GET", _NAMESPACE): _namespace,
    ("HEAD", _NAMESPACE): _namespace_exists,
    ("GET", f"{_NAMESPACE}/tables"): _tables,
    ("GET", f"{_NAMESPACE}/tables/{{table}}"): _table,
    ("HEAD", f"{_NAMESPACE}/tables/{{table}}"): _table_exists,
    ("GET", f"{_NAMESPACE}/views"): _views,
    ("GET", f"{_NAMESPACE}/views/{{view}}"): _view,
    ("HEAD", f"{_NAMESPACE}/views/{{view}}"): _view_exists,
}
"""The endpoints that are served, as the protocol writes them, and as `config` advertises them."""


class Authenticator(Protocol):
    """Authenticates a request by its header Authorization."""

    async def visitor(self, request: Request) -> Visitor:
        """Returns the sender. Raises ClosedError, LoginRequiredError, AuthenticationFailedError."""


class IcebergRoutes:
    """Answers requests, at most `threads` at a time. `as_visitor`: calls a function as a visitor."""

    def __init__(
        self,
        authenticator: Authenticator,
        reader: Reader,
        as_visitor: Callable[[Visitor, Callable[[], Any]], Any],
        threads: int,
    ) -> None:
        self._authenticator = authenticator
        self._reader = reader
        self._as_visitor = as_visitor
        self._executor = ThreadPoolExecutor(threads, "iceberg")

    def routes(self) -> list[Route]:
        """Returns one route for all paths: names in them may contain encoded slashes."""
        methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return [Route(f"{ROOT}/{{rest:path}}", self.answer, methods=methods), Route(ROOT, self.answer, methods=methods)]

    async def answer(self, request: Request) -> Response:
        """Answers a request. Every error has the protocol's form."""
        try:
            visitor = await self._authenticator.visitor(request)
            run = partial(self._as_visitor, visitor, partial(self._called, request))
            answer = await asyncio.get_running_loop().run_in_executor(self._executor, run)
            return _response(answer)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return _error_response(request, _protocol_error(request, error))

    def _called(self, request: Request) -> Answer:
        segments = [unquote_plus(each) for each in _raw_path(request).removeprefix(ROOT).strip("/").split("/")]
        parameters, headers = dict(request.query_params), request.headers
        if segments == ["config"]:
            _require_method(request, ("GET",))
            endpoints = [f"{method} {path}" for method, path in ENDPOINTS]
            return self._reader.config(parameters.get("warehouse", ""), endpoints)
        catalog = DEFAULT_CATALOG
        if segments[0] != "namespaces" and len(segments) > 1:
            catalog, *segments = segments
        found = {method: parts for (method, path), parts in _matching(segments)}
        if not found:
            raise RestError(
                404, NOT_FOUND, f"{request.url.path} is no path of the Iceberg REST catalog, or is not served"
            )
        _require_method(request, tuple(found))
        handler, parts = found[request.method]
        return handler(self._reader, Call(catalog, parts, parameters, headers))


def _matching(segments: Sequence[str]) -> Iterator[tuple[tuple[str, str], tuple[Handler, dict[str, str]]]]:
    """Yields the endpoints that have this path, without its prefix, with their handlers and the parts by name."""
    for (method, path), handler in ENDPOINTS.items():
        pattern = path.split("/")[3:]
        if len(pattern) == len(segments) and all(segments):
            parts = {}
            for wanted, given in zip(pattern, segments, strict=True):
                if wanted.startswith("{"):
                    parts[wanted.strip("{}")] = given
                elif wanted != given:
                    break
            else:
                yield (method, path), (handler, parts)


def _require_method(request: Request, served: Sequence[str]) -> None:
    if request.method not in served:
        text = f"{request.method} {request.url.path} is not served here: only {', '.join(served)}"
        raise RestError(405, "UnsupportedOperationException", text)


def _raw_path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return raw.partition(b"?")[0].decode("ascii", "replace")


def _response(answer: Answer) -> Response:
    if answer is None:
        return Response(status_code=204, headers=_headers())
    if isinstance(answer, Loaded):
        headers = _headers(ETag=answer.tag)
        if answer.body is None:
            return Response(status_code=304, headers=headers)
        return Response(answer.body, headers=headers, media_type="application/json")
    return Response(json.dumps(answer), headers=_headers(), media_type="application/json")


def _headers(**more: str) -> dict[str, str]:
    # A connection of the HTTP port lives for some seconds: clients must not send a second request on it.
    return {"Cache-Control": "no-cache", "Connection": "close", **more}


def _error_response(request: Request, error: RestError) -> Response:
    headers = _headers(**({"WWW-Authenticate": 'Bearer, Basic realm="metastore"'} if error.status == 401 else {}))
    if request.method == "HEAD":
        return Response(status_code=error.status, headers=headers)
    body = {"error": {"message": str(error), "type": error.kind, "code": error.status}}
    return Response(json.dumps(body), error.status, headers, "application/json")


def _protocol_error(request: Request, error: Exception) -> RestError:
    match error:
        case RestError():
            return error
        case LoginRequiredError():
            return RestError(401, NOT_AUTHORIZED, "Send a JWT (Bearer), or a user name and password (Basic)")
        case AuthenticationUnavailableError():
            return RestError(503, "ServiceUnavailableException", str(error))
        case AuthenticationFailedError():
            return RestError(401, NOT_AUTHORIZED, str(error))
        case ClosedError():
            return RestError(403, "ForbiddenException", str(error))
        case MetastoreError():
            return rest_error(error)
    log.error("the request %s %s failed", request.method, request.url.path, exc_info=error)
    return RestError(500, "InternalServerError", "The server could not answer; its log has the reason")
