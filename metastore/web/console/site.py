"""Serves pages: authenticates the visitor, reads the data in a thread, and renders it as HTML or JSON."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from metastore.context import Caller, caller
from metastore.errors import MetastoreError, NotFoundError, PermissionDeniedError, UnavailableError
from metastore.identity import AuthenticationFailedError, AuthenticationUnavailableError
from metastore.web.console.authentication import (
    ClosedError,
    ConsoleAuthenticator,
    ForeignFormError,
    LoginRequiredError,
    Visitor,
    login_path,
)
from metastore.web.console.parameters import Parameters
from metastore.web.console.rendering import render
from metastore.web.console.snapshots import Snapshot, Snapshots, max_age, snapshot

log = logging.getLogger("metastore.console")

_NICE: Final = 10  # the kernel prefers the threads for calls
_SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would hide the origin of the login form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "Cookie, Authorization, Accept",
}
Data = dict[str, Any]
_SCHEMES: Final = 'Basic realm="metastore", Bearer'


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        path: Starlette's pattern of its address.
        template: the file that renders its data.
        read: returns its data, which is also its JSON twin. Runs in a thread, with the visitor as the caller.
        picture: adds data that only the HTML page needs, such as the coordinates of a picture.
        is_live: whether browsers refresh it.
    """

    path: str
    template: str
    read: Callable[[Parameters], Data]
    picture: Callable[[Data], Data] = lambda data: data
    is_live: bool = False


class Site:
    """Serves pages to visitors.

    `groups` returns the groups of a user. `sees_health` returns whether the caller sees the page of health.
    `privileges` returns the version of all privileges. `near` returns tables or databases whose names are like those of
    an address without an object. At most `threads` pages are read at a time.
    """

    def __init__(
        self,
        authenticator: ConsoleAuthenticator,
        groups: Callable[[str], list[str]],
        sees_health: Callable[[], bool],
        privileges: Callable[[], int | None],
        near: Callable[[Mapping[str, str]], list[Data]],
        threads: int,
    ) -> None:
        self._authenticator = authenticator
        self._groups = groups
        self._sees_health = sees_health
        self._privileges = privileges
        self._near = near
        self._snapshots = Snapshots()
        self._executor = ThreadPoolExecutor(threads, "console", initializer=_be_nice)

    async def page(self, page: Page, request: Request) -> Response:
        """Answers a request for a page."""
        as_json = _wants_json(request)
        visitor = None
        try:
            visitor = await self._authenticator.visitor(request)
            made = await self._snapshot(page, request, visitor, as_json=as_json)
            kind = "application/json" if as_json else "text/html; charset=utf-8"
            headers = {"ETag": made.tag}
            if request.headers.get("if-none-match") == made.tag:
                return _secured(Response(status_code=304, headers=headers))
            return _secured(Response(made.body, headers={**headers, "Content-Type": kind}))
        except LoginRequiredError:
            if as_json:
                return await self._error(request, None, 401, "Log in: send a password (Basic) or a JWT (Bearer)")
            return _secured(RedirectResponse(login_path(request), 303))
        except Exception as error:  # noqa: BLE001 - `_failed` logs what it does not expect
            return await self._failed(request, visitor, error)

    async def _snapshot(self, page: Page, request: Request, visitor: Visitor, *, as_json: bool) -> Snapshot:
        """Reads and renders a page. A user's refreshes share a live page, which is some seconds old at most."""

        def body() -> Snapshot:
            data = page.read(Parameters(request.path_params, request.query_params))
            if as_json:
                return snapshot(bytes(JSONResponse(data).body))
            view = {**self._view(request, visitor), "sees_health": self._sees_health()}
            return snapshot(render(page.template, page.picture(data), view).encode())

        def make(version: int | None = None) -> Awaitable[Snapshot]:
            return self._run(visitor, body, version)

        if not page.is_live:
            return await make()
        groups, version = await self._run(visitor, self._held)
        key = (visitor.user, visitor.method, groups, version, request.url.path, request.url.query, as_json)
        return await self._snapshots.get(key, max_age(request.headers.get("cache-control", "")), lambda: make(version))

    def _held(self) -> tuple[tuple[str, ...], int | None]:
        """Returns the caller's groups, and the version of all privileges."""
        current = caller.get()
        return tuple(current.groups) if current else (), self._privileges()

    async def login(self, request: Request) -> Response:
        """`/login`: shows the form, or checks it."""
        try:
            if request.method == "POST":
                return _secured(await self._authenticator.log_in(request))
            self._authenticator.check_open(request)
            data = {"next": request.query_params.get("next", "/"), "error": ""}
            return _secured(HTMLResponse(render("login.html", data, self._view(request, None))))
        except AuthenticationFailedError as error:
            status = 503 if isinstance(error, AuthenticationUnavailableError) else 401
            data = {"next": request.query_params.get("next", "/"), "error": _one_line(error)}
            return _secured(HTMLResponse(render("login.html", data, self._view(request, None)), status))
        except Exception as error:  # noqa: BLE001 - `_failed` logs what it does not expect
            return await self._failed(request, None, error)

    async def logout(self, request: Request) -> Response:
        """`POST /logout`: ends the session."""
        try:
            return _secured(await self._authenticator.log_out(request))
        except ForeignFormError as error:
            return await self._failed(request, None, error)

    async def missing(self, request: Request) -> Response:
        """Answers requests for addresses without a page."""
        visitor = None
        with suppress(Exception):  # the address is wrong for everybody, with and without a login
            visitor = await self._authenticator.visitor(request)
        return await self._error(request, visitor, 404, "This address has no page")

    async def _run(self, visitor: Visitor, function: Callable[[], Any], version: int | None = None) -> Any:
        """Calls a function in a thread. `version`: of all privileges, if it is known."""

        def called() -> Any:
            looked_up = self._groups(visitor.user) if visitor.user else []
            groups = [*dict.fromkeys([*looked_up, *visitor.groups])]
            of_visitor = Caller(visitor.peer, visitor.user, groups, visitor.method, privileges_version=version)
            caller.set(of_visitor)
            return function()

        return await asyncio.get_running_loop().run_in_executor(self._executor, copy_context().run, called)

    async def _failed(self, request: Request, visitor: Visitor | None, error: Exception) -> Response:
        match error:
            case NotFoundError():
                return await self._error(request, visitor, 404, _one_line(error))
            case PermissionDeniedError():
                return await self._error(request, visitor, 403, _one_line(error))
            case UnavailableError() | AuthenticationUnavailableError():
                return await self._error(request, visitor, 503, _one_line(error))
            case MetastoreError():
                return await self._error(request, visitor, 400, _one_line(error))
            case AuthenticationFailedError():
                return await self._error(request, visitor, 401, _one_line(error))
            case ClosedError():
                return await self._error(request, visitor, 403, _one_line(error))
            case ForeignFormError():
                return await self._error(request, visitor, 403, "The form was sent by another web site")
        log.error("the page %s failed", request.url.path, exc_info=error)
        return await self._error(request, visitor, 500, "The server could not render this page; its log has the reason")

    async def _error(self, request: Request, visitor: Visitor | None, status: int, text: str) -> Response:
        headers = {"WWW-Authenticate": _SCHEMES} if status == 401 and _wants_json(request) else {}
        if _wants_json(request):
            return _secured(JSONResponse({"error": text}, status, headers=headers))
        sees_health, near = False, list[Data]()
        if visitor and status != 503:
            with suppress(Exception):  # the database may have failed meanwhile
                sees_health, near = await self._run(visitor, lambda: self._around(request, status))
        view = {**self._view(request, visitor), "sees_health": sees_health}
        page = render("error.html", {"status": status, "error": text, "near": near}, view)
        return _secured(HTMLResponse(page, status, headers=headers))

    def _around(self, request: Request, status: int) -> tuple[bool, list[Data]]:
        """Returns whether the caller sees the page of health, and the objects whose names are like those of the
        address.
        """
        return self._sees_health(), self._near(request.path_params) if status == 404 else []

    def _view(self, request: Request, visitor: Visitor | None) -> Mapping[str, Any]:
        """Returns the values that every template may use in addition to the data of its page."""
        query = request.url.remove_query_params("format").query
        twin = json_path(request.url.path)
        return {
            "path": request.url.path,
            "query": dict(request.query_params),
            "user": visitor.user if visitor else None,
            "sees_health": False,
            "json_address": f"{twin}?{query}" if query else twin,
        }


def json_path(path: str) -> str:
    """Returns the path of a page's JSON twin."""
    return "/index.json" if path == "/" else f"{path}.json"


def _wants_json(request: Request) -> bool:
    wanted = request.query_params.get("format")
    if request.url.path.endswith(".json") or wanted:
        return wanted in (None, "json")
    return "application/json" in request.headers.get("accept", "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _secured(response: Response) -> Response:
    response.headers.update(_SECURITY_HEADERS)
    return response


def _be_nice() -> None:
    with suppress(OSError):  # a sandbox may forbid it
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
