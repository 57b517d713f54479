"""Access control of the HTTP port: Host headers and a bearer token."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN_PATHS: Final = frozenset({"/metrics", "/health/live", "/health/ready"})
"""Paths without access control. They name no users, databases or tables, and load balancers and Prometheus request
them under any host name."""


TOKEN_PATHS: Final = "/calls"  # noqa: S105 - a path
"""Paths below need the token. The pages of the console authenticate users themselves."""


_LONGEST: Final = 300
"""Characters of a Host header, which has at most 253 and a port: longer ones would fill the cache of their spellings.
"""


class AccessControl:
    """Middleware that protects every path outside OPEN_PATHS.

    - A request needs a Host header with `localhost`, the IP address that the client is connected to, or one of
      `allowed_hosts`. A web page on a domain that resolves to this server (DNS rebinding) sends the name of its own
      domain, and is rejected.
    - Below TOKEN_PATHS, it also needs the header `Authorization: Bearer TOKEN`. Without a token in the configuration,
      every such request is rejected.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, allowed_hosts: Collection[str]) -> None:
        self._app = app
        self._token = token
        self._allowed_hosts = frozenset(host.lower() for host in allowed_hosts) | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rejection = None if scope["path"] in OPEN_PATHS else self._rejection(scope)
        await (rejection or self._app)(scope, receive, send)

    def _rejection(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        given = headers.get("host", "")
        host = _normalized(given) if len(given) <= _LONGEST else ""
        address = (scope.get("server") or ("",))[0]
        if not host or (host not in self._allowed_hosts and host != _normalized(_authority(address))):
            text = (
                "Host header rejected. Use localhost or the server's IP address, or set METASTORE_HTTP_ALLOWED_HOSTS.\n"
            )
            return PlainTextResponse(text, 403)
        if not f"{scope['path']}/".startswith(f"{TOKEN_PATHS}/"):
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        if self._token and is_bearer and secrets.compare_digest(token.strip().encode(), self._token.encode()):
            return None
        text = "Token required: send the content of the server's METASTORE_HTTP_TOKEN_FILE as a bearer token.\n"
        return PlainTextResponse(text, 401, headers={"WWW-Authenticate": "Bearer"})


def _authority(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@lru_cache(maxsize=256)
def _normalized(host: str) -> str:
    """Returns the host of a Host header in one spelling, without its port. Returns "" for a malformed header."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    try:
        address = ip_address(name)
    except ValueError:
        return name
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
