"""Chooses an installed PostgreSQL client program that meets the requirements of a database URL.

Several versions may be installed: on PATH, in the directories of Debian's and Red Hat's packages, and in the wheel of
the embedded PostgreSQL. The programs of the wheel are often the newest ones, but their libpq is built without TLS. They
then run with the libpq of psycopg2, whose wheel has TLS.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import psycopg2  # type: ignore[import-untyped] # it has no types

from metastore.errors import ConfigurationError, UnavailableError
from metastore.storage.postgres.connect import connect
from metastore.storage.postgres.embedded import programs

_ENCRYPTED: Final = ("require", "verify-ca", "verify-full")  # values of sslmode that require TLS
_TIMEOUT: Final = 10  # seconds to connect, or for a program to report its version
_PACKAGE_DIRECTORIES: Final = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/libexec/postgresql*")
_PROBE: Final = "sslmode=require host=/nonexistent connect_timeout=1"


@dataclass(frozen=True)
class Need:
    """Requirements of a database on client programs.

    Attributes:
        tls: whether the connection is encrypted.
        version: major version of the server: pg_dump rejects servers that are newer than itself.
    """

    tls: bool = False
    version: int = 0


@dataclass(frozen=True)
class ClientProgram:
    """An installed program.

    Attributes:
        path: its path.
        libpq: the library that replaces its own libpq; empty to keep its own.
    """

    path: str
    libpq: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables to add."""
        return {"LD_PRELOAD": self.libpq} if self.libpq else {}


def need_of(parameters: Mapping[str, Any]) -> Need:
    """Connects once with parameters of libpq, and returns the requirements. Raises UnavailableError."""
    try:
        connection = connect({"connect_timeout": _TIMEOUT, **parameters})
    except psycopg2.Error as error:
        raise UnavailableError(f"cannot connect to the database ({' '.join(str(error).split())})") from error
    try:
        encrypted = bool(connection.info.ssl_in_use) or parameters.get("sslmode") in _ENCRYPTED
        return Need(encrypted, connection.server_version // 10_000)
    finally:
        connection.close()


def client_program(name: str, need: Need) -> ClientProgram:
    """Returns the newest installed program that meets a need.

    Raises ConfigurationError, with the package to install, if there is none.
    """
    installed = sorted(((_version(path), path) for path in _candidates(name)), reverse=True)
    fitting = [path for version, path in installed if version >= need.version]
    for program in [ClientProgram(path, libpq) for libpq in ("", *_libpq()) for path in fitting]:
        if not need.tls or has_tls(program):
            return program
    package = f"postgresql-client-{need.version}" if need.version else "postgresql-client"
    kind = f"version {need.version} or newer" if need.version else "any version"
    tls = ", built with TLS" if need.tls else ""
    programs = ", ".join(f"{path} ({version or 'unknown version'})" for version, path in installed) or "none"
    raise ConfigurationError(
        f"The database needs PostgreSQL's program {name}, {kind}{tls}. Installed: {programs}. "
        f"Install the package {package} (Debian, Ubuntu) or {package.replace('-client-', '')} (Red Hat)"
    )


def has_tls(program: ClientProgram) -> bool:
    """Returns whether psql or pg_dump can encrypt connections.

    The program connects with TLS to an address that does not exist. A libpq without TLS rejects the parameter sslmode
    before it looks at the address.
    """
    result = _output([program.path, "--no-password", f"--dbname={_PROBE}"], program.environment)
    return result is not None and "SSL support is not compiled in" not in result.stderr


@cache
def _libpq() -> tuple[str, ...]:
    """Returns the libpq that this process has loaded with psycopg2; none if psycopg2 contains it."""
    with suppress(OSError):
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        return tuple(dict.fromkeys(path for line in lines for path in re.findall(r"/.*/libpq[^/]*$", line)))
    return ()


def _candidates(name: str) -> Iterator[str]:
    """Yields the installed programs of this name, each once."""
    directories = [*os.environ.get("PATH", os.defpath).split(os.pathsep), str(programs())]
    for pattern in _PACKAGE_DIRECTORIES:
        directories += map(str, Path("/").glob(pattern))
    paths = (shutil.which(name, path=directory) for directory in directories if directory)
    yield from dict.fromkeys(path for path in paths if path)


def _version(program: str) -> int:
    """Returns the major version of a program, 0 if it does not start."""
    result = _output([program, "--version"])
    number = re.search(r"\d+", result.stdout) if result else None
    return int(number[0]) if number else 0


def _output(command: list[str], additional: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str] | None:
    """Runs a program with English messages. Returns None if it cannot run, or does not end in time."""
    # Without PG*: PGHOSTADDR would replace the address of the probe.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"LC_ALL": "C", **(additional or {})}
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
