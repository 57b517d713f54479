"""Authentication of the console: the listeners' users, with a session cookie or an Authorization header."""

from __future__ import annotations

import asyncio
import base64
import binascii
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, quote, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from metastore.addresses import peer_name
from metastore.identity import (
    CERTIFICATE,
    JWT,
    PASSWORD,
    AuthenticationFailedError,
    AuthenticationUnavailableError,
    Identity,
    Mechanism,
)
from metastore.web.console.sessions import Sessions
from metastore.web.server import CERTIFICATE as CERTIFICATE_KEY

_COOKIE: Final = "metastore-console"
_MAX_FORM: Final = 20_000  # bytes of a login form: a JWT is about one kilobyte
_LOGIN_TIMEOUT: Final = 8.0  # seconds that a login waits for the check of its password
LOCAL_ONLY: Final = (
    "The console and the Iceberg catalog are served on loopback addresses only, because clients do not authenticate: "
    "set METASTORE_AUTHENTICATION"
)
NO_METHOD: Final = (
    "The HTTP port needs METASTORE_AUTHENTICATION to contain password, jwt or tls-certificate: it accepts no other "
    "credentials"
)


class Authenticator(Protocol):
    """`security.authenticator.Authenticator`, as far as the console needs it."""

    def mechanism(self, name: str, methods: frozenset[str], *, encrypted: bool, peer: str) -> Mechanism: ...
    def bearer(self, token: str, *, encrypted: bool) -> Identity: ...
    def certificate(self, certificate: dict[str, Any]) -> Identity: ...
    def failed(self, error: AuthenticationFailedError, peer: str) -> None: ...


class LoginRequiredError(Exception):
    """The request has no valid session and no credentials."""

    def __init__(self) -> None:
        super().__init__("Send a JWT (Bearer), a user name and password (Basic), or a client certificate")


class ClosedError(Exception):
    """The console is not served to this client. The text is one line."""


class ForeignFormError(Exception):
    """The form of another web site was sent here (cross-site request forgery)."""


@dataclass(frozen=True)
class Visitor:
    """The user who requests a page. `user`: None if clients do not authenticate. `groups`: those in the credential."""

    peer: str
    user: str | None = None
    method: str = ""
    groups: tuple[str, ...] = ()


class ConsoleAuthenticator:
    """Authenticates the requests of the console. `methods`: the authentication methods of all listeners."""

    def __init__(self, authenticator: Authenticator, methods: frozenset[str], sessions: Sessions) -> None:
        self._authenticator = authenticator
        self._methods = methods
        self._sessions = sessions

    def check_open(self, request: Request) -> None:
        """Raises ClosedError for a client that cannot log in, or must not see the console."""
        if not self._methods and not _is_loopback(request):
            raise ClosedError(LOCAL_ONLY)
        if self._methods and not self._methods & {PASSWORD, JWT, CERTIFICATE}:
            raise ClosedError(NO_METHOD)

    async def visitor(self, request: Request) -> Visitor:
        """Returns the sender of a request. Raises ClosedError, LoginRequiredError, AuthenticationFailedError."""
        self.check_open(request)
        peer = _peer(request)
        if not self._methods:
            return Visitor(peer)
        authorization = request.headers.get("authorization")
        if authorization:
            identity = await self._authorized(request, authorization)
        elif (session := await self._session(request)) is not None:
            identity = session
        elif (certificate := request.scope.get(CERTIFICATE_KEY)) and CERTIFICATE in self._methods:
            identity = self._certified(request, certificate)
        else:
            raise LoginRequiredError
        return Visitor(peer, identity.user, identity.method, identity.groups)

    async def log_in(self, request: Request) -> Response:
        """Checks the login form, begins a session, and redirects to the page that asked for it.

        Raises ClosedError, ForeignFormError, AuthenticationFailedError.
        """
        self.check_open(request)
        check_own_form(request)
        form = parse_qs((await _body(request)).decode(errors="replace"), keep_blank_values=True)
        user, password, following = (form.get(name, [""])[0] for name in ("user", "password", "next"))
        identity = await self._checked(request, user or JWT, password)
        self._sessions.end(request.cookies.get(cookie_name(request), ""))  # of the user before
        response = RedirectResponse(local_path(following), 303)
        response.set_cookie(
            cookie_name(request),
            self._sessions.begin(identity),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    async def log_out(self, request: Request) -> Response:
        """Ends the session. Raises ForeignFormError."""
        check_own_form(request)
        self._sessions.end(request.cookies.get(cookie_name(request), ""))
        response = RedirectResponse("/login", 303)
        secure = request.url.scheme == "https"
        response.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=secure)
        return response

    async def _authorized(self, request: Request, authorization: str) -> Identity:
        scheme, _, value = authorization.partition(" ")
        match scheme.lower():
            case "bearer":
                return await self._checked(request, JWT, value.strip())
            case "basic":
                try:
                    user, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
                except (binascii.Error, UnicodeDecodeError):
                    raise AuthenticationFailedError("The Authorization header is malformed") from None
                return await self._checked(request, user, password)
        raise AuthenticationFailedError("The console accepts the schemes Basic and Bearer")

    async def _session(self, request: Request) -> Identity | None:
        """Returns the user who has logged in. A login counts more than a certificate: the user has chosen it."""
        secret = request.cookies.get(cookie_name(request))
        return await asyncio.to_thread(self._sessions.find, secret) if secret else None  # it may wait for LDAP

    def _certified(self, request: Request, certificate: dict[str, Any]) -> Identity:
        try:
            return self._authenticator.certificate(certificate)
        except AuthenticationFailedError as error:
            self._authenticator.failed(error, _peer(request))
            raise

    async def _checked(self, request: Request, user: str, password: str) -> Identity:
        """Checks credentials with the server's own login mechanism, which delays users after failures."""
        peer = _peer(request)
        message = f"\0{user}\0{password}".encode()
        try:
            encrypted = request.url.scheme == "https" or _is_loopback(request)
            mechanism = self._authenticator.mechanism("PLAIN", self._methods, encrypted=encrypted, peer=peer)
            login = mechanism.step(message)
            assert isinstance(login, Future)  # noqa: S101 - PLAIN has one step: this tells mypy
            return await _result(login)
        except AuthenticationFailedError as error:
            self._authenticator.failed(error, peer)
            raise


def login_path(request: Request) -> str:
    """Returns the address of the login page, which leads back to the requested page."""
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return f"/login?next={quote(target)}"


def local_path(text: str) -> str:
    """Returns the text if it is a path on this server, else the first page: a login must not redirect to other
    sites."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_local else "/"


def check_own_form(request: Request) -> None:
    """Raises ForeignFormError unless a page of this server sent the form. Browsers add these headers to every form."""
    origin = request.headers.get("origin")
    if origin is None:
        own = request.headers.get("sec-fetch-site") == "same-origin"
    else:
        own = urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower() != ""
    if not own:
        raise ForeignFormError


def cookie_name(request: Request) -> str:
    """Returns the name of the session cookie. The port is part of it: browsers send cookies to all ports of a host.

    With TLS, its prefix makes browsers reject cookies of this name from plain connections and from other hosts of the
    domain (RFC 6265bis, "The __Host- Prefix").
    """
    prefix = "__Host-" if request.url.scheme == "https" else ""
    return f"{prefix}{_COOKIE}-{(request.scope.get('server') or ('', 0))[1]}"


async def _result(login: Future[Identity]) -> Identity:
    """Waits for the check of a password. Raises AuthenticationFailedError; AuthenticationUnavailableError if it takes
    too long.
    """
    waiting = asyncio.wrap_future(login)
    finished, _ = await asyncio.wait({waiting}, timeout=_LOGIN_TIMEOUT)
    if not finished:
        raise AuthenticationUnavailableError("Too many logins are waiting for a password check; try again")
    return waiting.result()


async def _body(request: Request) -> bytes:
    """Reads the body of a form. Raises AuthenticationFailedError if it is too long, or breaks off."""
    body = b""
    with suppress(ClientDisconnect):
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_FORM:
                raise AuthenticationFailedError("The login form is too long")
        return body
    raise AuthenticationFailedError("The login form breaks off")  # nobody receives this answer


def _peer(request: Request) -> str:
    return peer_name(request.client.host, request.client.port) if request.client else ":0"


def _is_loopback(request: Request) -> bool:
    """Returns whether the client is connected to a loopback address of this host."""
    return _is_loopback_address((request.scope.get("server") or ("",))[0])


@lru_cache(maxsize=256)
def _is_loopback_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
