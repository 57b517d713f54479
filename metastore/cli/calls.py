"""`metastore calls`: what the HTTP port of a running metastore tells of calls."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from metastore.cli.printing import print_table
from metastore.errors import ConfigurationError, UnavailableError

_COLUMNS: Final = (
    *("request", "address", "user", "client", "method", "object"),
    *("milliseconds", "database", "waiting", "rows", "outcome", "sql"),
)
_TIMEOUT: Final = 10  # seconds


def show_calls(url: str, which: str) -> None:
    """Prints calls, the slowest first. `which`: slow or now. Raises ConfigurationError, UnavailableError."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigurationError(f"{url} is no HTTP address; write http://host:port, as METASTORE_HTTP_PORT has it")
    try:
        with urlopen(f"{url.rstrip('/')}/calls/{which}", timeout=_TIMEOUT) as reply:  # noqa: S310 - the scheme is checked
            found: list[dict[str, Any]] = json.load(reply)
    except (URLError, OSError, ValueError) as error:
        raise UnavailableError(f"{url} does not answer: {error}; has the server METASTORE_HTTP_PORT?") from error
    found.sort(key=lambda call: -call["milliseconds"])
    columns = [name for name in _COLUMNS if any(call.get(name) is not None for call in found)] or ["request"]
    print_table("Calls", columns, [[_text(call.get(name)) for name in columns] for call in found])


def _text(value: object) -> str:
    return "" if value is None else str(value)
