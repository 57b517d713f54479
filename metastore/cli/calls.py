"""`metastore calls`: shows the slow calls, or the calls in flight, of a running server."""

from __future__ import annotations

import json
import socket
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from metastore.cli.health import ANY
from metastore.cli.printing import Cell, print_table
from metastore.errors import ConfigurationError, UnavailableError
from metastore.monitoring.logs import session_line
from metastore.security.listener_settings import http_tls
from metastore.settings import Settings
from metastore.transport.certificate import reason_of
from metastore.web.token_file import DEFAULT_NAME, load

_COLUMNS: Final = (
    *("request", "address", "user", "client", "method", "object"),
    *("milliseconds", "database", "waiting", "rows", "outcome", "blocked_by", "sql"),
)
_DEFAULT_PORT: Final = 9084
_TIMEOUT: Final = 10  # seconds
_MAX_TEXT: Final = 200  # characters of an error response


def show_calls(settings: Settings, url: str | None, kind: str) -> None:
    """Prints calls, the slowest first. `url`: None for the HTTP port of the settings on this host. `kind`: slow or now.

    Sends the token of the server, from the file that `settings` name. Raises ConfigurationError, UnavailableError.
    """
    url = url or _own_url(settings)
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{url!r} is not an HTTP URL. Write http://host:port, the address of METASTORE_HTTP_PORT."
        )
    _check_answer(url)
    token = load(settings.http_token_file or settings.data_dir / DEFAULT_NAME)
    calls = _get(f"{url.rstrip('/')}/calls/{kind}", token)
    calls.sort(key=lambda call: -call["milliseconds"])
    columns = [name for name in _COLUMNS if any(call.get(name) is not None for call in calls)] or ["request"]
    print_table("Calls", columns, [[_cell(call.get(name)) for name in columns] for call in calls])


def _own_url(settings: Settings) -> str:
    scheme = "https" if http_tls(settings) else "http"
    host = ANY.get(settings.http_host, settings.http_host)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings.http_port or _DEFAULT_PORT}"


def _check_answer(url: str) -> None:
    """Raises UnavailableError if nothing listens at the URL: then the server has no HTTP port, and no token file."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), _TIMEOUT).close()
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"{url} does not answer ({reason_of(error)}): start the server with METASTORE_HTTP_PORT, and set the same "
            f"here, or name the address of the server's HTTP port with --url"
        ) from error


def _get(url: str, token: str) -> list[dict[str, Any]]:
    request = Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - the caller checks the scheme
    try:
        with urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310 - the caller checks the scheme
            calls: list[dict[str, Any]] = json.load(response)
            return calls
    except HTTPError as error:
        text = error.read(_MAX_TEXT).decode(errors="replace").strip()
        raise UnavailableError(f"{url} returns HTTP status {error.code}: {text}") from error
    except (OSError, ValueError) as error:
        raise UnavailableError(f"{url} does not answer as a server of this project: {error}") from error


def _cell(value: Any) -> Cell:
    return "; ".join(session_line(each) for each in value) if isinstance(value, list) else value
