"""URLs of PostgreSQL databases: their form, and their form without passwords."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches
from pathlib import Path
from typing import Final
from urllib.parse import quote

from metastore.errors import ConfigurationError

FROM_FILE: Final = "password_file"
FROM_COMMAND: Final = "password_command"
"""Parameters of a database URL that name the source of the password."""

_SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")  # of libpq
_DRIVER: Final = "postgresql+psycopg2"


def database_url(text: str, *, read_only: bool = False) -> str:
    """Returns a PostgreSQL URL with the psycopg2 driver. Raises ConfigurationError for any other database.

    Several hosts may be given as in libpq: `h1:5432,h2:5433`, or as URL parameters. libpq then connects to the first
    host that accepts writes (`read_only`: to the first that answers), unless the URL sets `target_session_attrs`.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise ConfigurationError(
            f"database URL {safe_url(text)!r} is not a PostgreSQL URL; write postgresql://user:password@host:5432/database"
        )
    _check_parts(text, rest)
    before, at, hosts = rest.partition("/")[0].rpartition("@")
    path = rest[len(before + at + hosts) :]
    if "," in hosts:
        named = [re.fullmatch(r"(.*?)(?::(\d*))?", part) for part in hosts.split(",")]
        names = ",".join(match[1].strip("[]") for match in named if match)
        ports = ",".join(match[2] or "5432" for match in named if match)
        path += f"{'&' if '?' in path else '?'}host={names}&port={ports}"
        rest = f"{before}{at}{path}"
    several = re.search(r"[?&]host=[^&]*,", path) or len(re.findall(r"[?&]host=", path)) > 1
    if several and not read_only and "target_session_attrs=" not in path:
        rest += "&target_session_attrs=read-write"
    return f"{_DRIVER}://{rest}"


def _check_parts(url: str, rest: str) -> None:
    """Raises ConfigurationError for unescaped characters in a password, a part of which libpq would take for the host,
    for a port that is no number, and for an `sslmode` that does not exist. `rest`: the URL without its scheme."""
    account, _, target = rest.partition("@") if "@" in rest else ("", "", rest)
    address = target if ":" in account else target.partition("?")[0]
    if "/" in account or "@" in address:
        raise ConfigurationError(
            f"database URL {safe_url(url)!r}: percent-encode user and password: write @ as %40, / as %2F, ? as %3F"
        )
    hosts = re.sub(r"\[[^\]]*\]", "", re.split("[/?]", target)[0])  # without addresses of IPv6
    for port in re.findall(r":([^:,]*)(?:,|$)", hosts):
        if port and not (port.isdecimal() and 0 < int(port) < 65_536):
            raise ConfigurationError(f"database URL {safe_url(url)!r}: {port!r} is not a port from 1 to 65535")
    for mode in re.findall(r"[?&]sslmode=([^&]*)", target):
        if mode not in _SSL_MODES:
            close = get_close_matches(mode, _SSL_MODES, 1)
            fix = f"did you mean {close[0]}?" if close else f"it must be one of {', '.join(_SSL_MODES)}"
            raise ConfigurationError(f"database URL {safe_url(url)!r}: sslmode={mode} does not exist: {fix}")


def with_password_source(url: str, file: Path | None, command: str) -> str:
    """Adds the source of the password to a URL. Raises ConfigurationError if there are several sources."""
    sources = {FROM_FILE: str(file.absolute()) if file else "", FROM_COMMAND: command}
    sources = {name: value for name, value in sources.items() if value}
    if len(sources) > 1 or (sources and re.search(r"://[^:/@]*:[^@]*@|[?&]password=", url)):
        raise ConfigurationError(
            "the database has several passwords: set one of database_password_file, database_password_command, and the "
            "password in database_url"
        )
    if command and not _words(command):
        raise ConfigurationError(f"database_password_command {command!r} is not a command: check its quotes")
    url = _without_source(url)  # of settings that are completed once more
    return url + "".join(f"{'&' if '?' in url else '?'}{name}={quote(value)}" for name, value in sources.items())


def _without_source(url: str) -> str:
    return re.sub(rf"[?&]({FROM_FILE}|{FROM_COMMAND})=.*", "", url, flags=re.DOTALL)  # always the last one


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def safe_url(url: str) -> str:
    """Returns `url` with `***` instead of passwords, in the authority or in parameters.

    The patterns are greedy: they may hide more than the password, never less.
    """
    url = _without_source(url)
    url = re.sub(
        r"(://[^:/@]*|^(?!.*://)[^:]*):.*@", r"\1:***@", url.replace(_DRIVER, "postgresql", 1), flags=re.DOTALL
    )
    return re.sub(r"((?:^|[?&\s])(?:ssl)?password=)[^&\s]*", r"\1***", url, flags=re.IGNORECASE)
