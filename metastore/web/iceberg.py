"""The routes of Iceberg's REST catalog protocol, below `/iceberg/v1`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import unquote_plus

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metastore.domain.names import DEFAULT_CATALOG
from metastore.errors import MetastoreError
from metastore.iceberg.errors import (
    BAD_REQUEST,
    FORBIDDEN,
    NOT_AUTHORIZED,
    NOT_FOUND,
    UNSUPPORTED,
    RestError,
    rest_error,
)
from metastore.iceberg.namespaces import Namespaces
from metastore.iceberg.reading import Loaded, Reader, requested_page
from metastore.iceberg.repetitions import HEADER, LIFETIME, Repetitions
from metastore.iceberg.writing import Writer
from metastore.identity import AuthenticationFailedError, AuthenticationUnavailableError
from metastore.web.console.authentication import ClosedError, LoginRequiredError, Visitor
from metastore.web.server import KEPT

log = logging.getLogger("metastore.iceberg")

ROOT: Final = "/iceberg/v1"
_SEPARATOR: Final = "\x1f"  # of the levels of a namespace in a path
MOST_BODY: Final = 16 * 2**20  # bytes of a request


@dataclass(frozen=True)
class Call:
    """A request: the catalog, the parts of its path by name, its parameters, headers and body."""

    catalog: str
    parts: Mapping[str, str]
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def namespace(self) -> list[str]:
        """The levels of the namespace in the path."""
        return self.parts["namespace"].split(_SEPARATOR)

    @property
    def json(self) -> dict[str, Any]:
        """The JSON object in the body. Raises RestError."""
        try:
            return msgspec.json.decode(self.body, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise RestError(400, BAD_REQUEST, f"The body of the request is no JSON object: {error}") from None


@dataclass(frozen=True)
class Catalog:
    """What answers the requests."""

    reader: Reader
    writer: Writer
    namespaces: Namespaces
    repetitions: Repetitions


Answer: TypeAlias = "dict[str, Any] | Loaded | None"  # None: status 204
Handler: TypeAlias = Callable[[Catalog, Call], Answer]


def _namespaces(of: Catalog, call: Call) -> Answer:
    parent = call.parameters.get("parent", "")
    levels = parent.split(_SEPARATOR) if parent else []
    return of.reader.namespaces(call.catalog, levels, requested_page(call.parameters))


def _create_namespace(of: Catalog, call: Call) -> Answer:
    return of.namespaces.create(call.catalog, call.json)


def _namespace(of: Catalog, call: Call) -> Answer:
    return of.reader.namespace(call.catalog, call.namespace)


def _namespace_exists(of: Catalog, call: Call) -> Answer:
    of.reader.namespace(call.catalog, call.namespace)
    return None


def _drop_namespace(of: Catalog, call: Call) -> Answer:
    of.namespaces.drop(call.catalog, call.namespace)
    return None


def _set_properties(of: Catalog, call: Call) -> Answer:
    return of.namespaces.set_properties(call.catalog, call.namespace, call.json)


def _tables(of: Catalog, call: Call) -> Answer:
    return of.reader.tables(call.catalog, call.namespace, requested_page(call.parameters))


def _create_table(of: Catalog, call: Call) -> Answer:
    return of.writer.create_table(call.catalog, call.namespace, call.json)


def _register_table(of: Catalog, call: Call) -> Answer:
    return of.writer.register_table(call.catalog, call.namespace, call.json)


def _table(of: Catalog, call: Call) -> Answer:
    known = call.headers.get("if-none-match", "")
    snapshots = call.parameters.get("snapshots", "")
    return of.reader.load_table(call.catalog, call.namespace, call.parts["table"], snapshots, known)


def _table_exists(of: Catalog, call: Call) -> Answer:
    of.reader.find_table(call.catalog, call.namespace, call.parts["table"])
    return None


def _commit_table(of: Catalog, call: Call) -> Answer:
    return of.writer.commit_table(call.catalog, call.namespace, call.parts["table"], call.json)


def _drop_table(of: Catalog, call: Call) -> Answer:
    purge = call.parameters.get("purgeRequested", "").lower() == "true"
    of.writer.drop_table(call.catalog, call.namespace, call.parts["table"], purge=purge)
    return None


def _unregister_table(of: Catalog, call: Call) -> Answer:
    return of.writer.unregister_table(call.catalog, call.namespace, call.parts["table"])


def _rename_table(of: Catalog, call: Call) -> Answer:
    of.writer.rename_table(call.catalog, call.json)
    return None


def _report_metrics(_: Catalog, call: Call) -> Answer:
    """Accepts a report, also about a table that is only staged. Its client would not repeat a request that fails."""
    log.debug("report about %s.%s: %s", ".".join(call.namespace), call.parts["table"], call.json.get("report-type"))
    return None


def _commit_transaction(of: Catalog, call: Call) -> Answer:
    of.writer.commit_transaction(call.catalog, call.json)
    return None


def _views(of: Catalog, call: Call) -> Answer:
    return of.reader.views(call.catalog, call.namespace, requested_page(call.parameters))


def _create_view(of: Catalog, call: Call) -> Answer:
    return of.writer.create_view(call.catalog, call.namespace, call.json)


def _register_view(of: Catalog, call: Call) -> Answer:
    return of.writer.register_view(call.catalog, call.namespace, call.json)


def _view(of: Catalog, call: Call) -> Answer:
    return of.reader.load_view(call.catalog, call.namespace, call.parts["view"])


def _view_exists(of: Catalog, call: Call) -> Answer:
    of.reader.find_view(call.catalog, call.namespace, call.parts["view"])
    return None


def _commit_view(of: Catalog, call: Call) -> Answer:
    return of.writer.commit_view(call.catalog, call.namespace, call.parts["view"], call.json)


def _drop_view(of: Catalog, call: Call) -> Answer:
    of.writer.drop_view(call.catalog, call.namespace, call.parts["view"])
    return None


def _rename_view(of: Catalog, call: Call) -> Answer:
    of.writer.rename_view(call.catalog, call.json)
    return None


_PREFIX: Final = "/v1/{prefix}"
_NAMESPACE: Final = f"{_PREFIX}/namespaces/{{namespace}}"
_TABLE: Final = f"{_NAMESPACE}/tables/{{table}}"
_VIEW: Final = f"{_NAMESPACE}/views/{{view}}"
ENDPOINTS: Final[dict[tuple[str, str], Handler]] = {
    ("GET", f"{_PREFIX}/namespaces"): _namespaces,
    ("POST", f"{_PREFIX}/namespaces"): _create_namespace,
    ("GET", _NAMESPACE): _namespace,
    ("HEAD", _NAMESPACE): _namespace_exists,
    ("DELETE", _NAMESPACE): _drop_namespace,
    ("POST", f"{_NAMESPACE}/properties"): _set_properties,
    ("GET", f"{_NAMESPACE}/tables"): _tables,
    ("POST", f"{_NAMESPACE}/tables"): _create_table,
    ("POST", f"{_NAMESPACE}/register"): _register_table,
    ("GET", _TABLE): _table,
    ("HEAD", _TABLE): _table_exists,
    ("POST", _TABLE): _commit_table,
    ("DELETE", _TABLE): _drop_table,
    ("POST", f"{_TABLE}/unregister"): _unregister_table,
    ("POST", f"{_TABLE}/metrics"): _report_metrics,
    ("POST", f"{_PREFIX}/tables/rename"): _rename_table,
    ("POST", f"{_PREFIX}/transactions/commit"): _commit_transaction,
    ("GET", f"{_NAMESPACE}/views"): _views,
    ("POST", f"{_NAMESPACE}/views"): _create_view,
    ("POST", f"{_NAMESPACE}/register-view"): _register_view,
    ("GET", _VIEW): _view,
    ("HEAD", _VIEW): _view_exists,
    ("POST", _VIEW): _commit_view,
    ("DELETE", _VIEW): _drop_view,
    ("POST", f"{_PREFIX}/views/rename"): _rename_view,
}
"""The endpoints that are served, as the protocol writes them, and as `config` advertises them."""

READING: Final = ("GET", "HEAD")
"""The methods that a read-only server answers."""


class Authenticator(Protocol):
    """Authenticates a request by its header Authorization."""

    async def visitor(self, request: Request) -> Visitor:
        """Returns the sender. Raises ClosedError, LoginRequiredError, AuthenticationFailedError."""


class IcebergRoutes:
    """Answers requests, at most `threads` at a time. `as_visitor`: calls a function as a visitor."""

    def __init__(
        self,
        authenticator: Authenticator,
        catalog: Catalog,
        as_visitor: Callable[[Visitor, Callable[[], Any]], Any],
        threads: int,
        *,
        read_only: bool = False,
    ) -> None:
        """`read_only`: rejects requests that change tables, and does not advertise them."""
        self._authenticator = authenticator
        self._catalog = catalog
        self._endpoints = {key: of for key, of in ENDPOINTS.items() if not read_only or key[0] in READING}
        self._read_only = read_only
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
            _check_origin(request)
            body = await _body(request)
            request.scope[KEPT] = True
            run = partial(self._as_visitor, visitor, partial(self._called, request, body))
            answer = await asyncio.get_running_loop().run_in_executor(self._executor, run)
            return _response(answer)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return _error_response(request, _protocol_error(request, error))

    def _called(self, request: Request, body: bytes) -> Answer:
        segments = [unquote_plus(each) for each in _raw_path(request).removeprefix(ROOT).strip("/").split("/")]
        parameters, headers = dict(request.query_params), request.headers
        if segments == ["config"]:
            _require_method(request, ("GET",))
            endpoints = [f"{method} {path}" for method, path in self._endpoints]
            return self._catalog.reader.config(parameters.get("warehouse", ""), endpoints, LIFETIME)
        catalog = DEFAULT_CATALOG
        found = self._matching(segments)
        if not found and len(segments) > 1:
            catalog, *segments = segments
            found = self._matching(segments)
        if not found:
            raise RestError(
                404, NOT_FOUND, f"{request.url.path} is no path of the Iceberg REST catalog, or is not served"
            )
        _require_method(request, tuple(found))
        if self._read_only and request.method not in READING:
            raise RestError(405, UNSUPPORTED, "This metastore is read-only (METASTORE_READ_ONLY). Use another one")
        handler, parts = found[request.method]
        action = partial(handler, self._catalog, Call(catalog, parts, parameters, headers, body))
        key = headers.get(HEADER)
        if key is None or request.method in READING:
            return action()
        line = f"{request.method} {_raw_path(request)}?{request.url.query}"
        return self._catalog.repetitions.answer(key, (line, body), action)

    def _matching(self, segments: Sequence[str]) -> dict[str, tuple[Handler, dict[str, str]]]:
        """Returns the handlers for a path without its prefix, and the parts of the path, by method."""
        listed = _BY_LENGTH.get(len(segments), ())
        pairs = ((method, handler, _parts(pattern, segments)) for method, pattern, handler in listed)
        return {method: (handler, parts) for method, handler, parts in pairs if parts is not None}


def _check_origin(request: Request) -> None:
    """Raises RestError for a change that a page of another site sends through the browser of a user."""
    if request.method not in READING and "origin" in request.headers:
        raise RestError(403, FORBIDDEN, "Requests of web pages change nothing here: send them without Origin")


async def _body(request: Request) -> bytes:
    """Returns the body of a request. Raises RestError for a large one."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY:
            text = f"The body of a request has at most {MOST_BODY >> 20} MiB"
            raise RestError(413, BAD_REQUEST, text)
        parts.append(part)
    return b"".join(parts)


def _by_length() -> dict[int, list[tuple[str, list[str], Handler]]]:
    """Returns the methods, the segments of the paths without their prefix, and the handlers by the length of paths."""
    found: dict[int, list[tuple[str, list[str], Handler]]] = {}
    for (method, path), handler in ENDPOINTS.items():
        pattern = path.split("/")[3:]
        found.setdefault(len(pattern), []).append((method, pattern, handler))
    return found


_BY_LENGTH: Final = _by_length()


def _parts(pattern: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    """Returns the parts of a path by their names; None if it does not match."""
    parts = {}
    for wanted, given in zip(pattern, segments, strict=True):
        if wanted.startswith("{") and given:
            parts[wanted.strip("{}")] = given
        elif wanted != given:
            return None
    return parts


def _require_method(request: Request, served: Sequence[str]) -> None:
    if request.method not in served:
        text = f"{request.method} {request.url.path} is not served here: only {', '.join(served)}"
        raise RestError(405, UNSUPPORTED, text)


def _raw_path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return raw.partition(b"?")[0].decode("ascii", "replace")


def _response(answer: Answer) -> Response:
    if answer is None:
        return Response(status_code=204, headers=_headers())
    if isinstance(answer, Loaded):
        headers = _headers(**({"ETag": answer.tag} if answer.tag else {}))
        if answer.body is None:
            return Response(status_code=304, headers=headers)
        return Response(answer.body, headers=headers, media_type="application/json")
    return Response(json.dumps(answer), headers=_headers(), media_type="application/json")


def _headers(**more: str) -> dict[str, str]:
    return {"Cache-Control": "no-cache", **more}


def _error_response(request: Request, error: RestError) -> Response:
    headers = _headers(**({"WWW-Authenticate": 'Bearer, Basic realm="metastore"'} if error.status == 401 else {}))
    if request.method == "HEAD":
        return Response(status_code=error.status, headers=headers)
    return Response(json.dumps({"error": error.body}), error.status, headers, "application/json")


def _protocol_error(request: Request, error: Exception) -> RestError:
    match error:
        case RestError():
            return error
        case AuthenticationUnavailableError():
            return RestError(503, "ServiceUnavailableException", str(error))
        case LoginRequiredError() | AuthenticationFailedError():
            return RestError(401, NOT_AUTHORIZED, str(error))
        case ClosedError():
            return RestError(403, FORBIDDEN, str(error))
        case MetastoreError():
            return rest_error(error)
    log.error("the request %s %s failed", request.method, request.url.path, exc_info=error)
    return RestError(500, "InternalServerError", "The server could not answer; its log has the reason")
