"""Connects to PostgreSQL, with a password that may come from a file or a command.

The parameters `password_file` and `password_command` of a database URL name the source of the password, which is read
for each new connection. While a password is rotated, the source and PostgreSQL may disagree for a moment, and a file
may be empty: connecting is then retried.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import psycopg2  # type: ignore[import-untyped] # it has no types
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.engine import make_url

from metastore.settings.urls import FROM_COMMAND, FROM_FILE
from metastore.storage.postgres.rejection import rejection_states

_SOURCES: Final = (FROM_FILE, FROM_COMMAND)
_PATIENCE: Final = 10.0  # seconds in which PostgreSQL and the source of the password must agree
_PAUSE: Final = 0.2  # seconds between two attempts
_COMMAND_TIMEOUT: Final = 10.0  # seconds
_REJECTED: Final = {"28P01", "28000"}  # invalid_password, invalid_authorization_specification


class PasswordError(psycopg2.OperationalError):  # type: ignore[misc] # it has no types
    """The file or the command has no password."""


def parameters_of(url: str) -> dict[str, Any]:
    """Returns the parameters of libpq in a database URL, and the source of the password."""
    # In SQLAlchemy's form of the URL, several hosts and ports are repeated parameters, which libpq does not accept.
    _, parameters = PGDialect_psycopg2().create_connect_args(make_url(url))  # type: ignore[no-untyped-call]
    return dict(parameters)


def connect(parameters: Mapping[str, Any]) -> Any:
    """Returns a new psycopg2 connection.

    Raises psycopg2.OperationalError; with a source of the password, only after it was rejected for some seconds.
    """
    if not any(name in parameters for name in _SOURCES):
        return psycopg2.connect(**parameters)
    deadline = monotonic() + _PATIENCE
    while True:
        try:
            return psycopg2.connect(**with_password(parameters))
        except psycopg2.OperationalError as error:
            if monotonic() > deadline or not (isinstance(error, PasswordError) or _is_rejected(parameters)):
                raise
        sleep(_PAUSE)


def with_password(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters with the current password instead of its source. Raises PasswordError."""
    plain = {name: value for name, value in parameters.items() if name not in _SOURCES}
    if file := parameters.get(FROM_FILE):
        plain["password"] = _from_file(Path(file))
    elif command := parameters.get(FROM_COMMAND):
        plain["password"] = _from_command(shlex.split(command))
    return plain


def engine_for(url: str, **options: Any) -> Engine:
    """Returns an SQLAlchemy engine whose connections are made by `connect`. `options`: of create_engine."""
    engine = create_engine(url, **options)
    event.listen(engine, "do_connect", _do_connect)
    return engine


def replace_connect(engine: Engine, connect_event: Callable[..., Any]) -> None:
    """Replaces the listener of `do_connect` of an engine: SQLAlchemy uses only the first one that connects."""
    if event.contains(engine, "do_connect", _do_connect):
        event.remove(engine, "do_connect", _do_connect)
    event.listen(engine, "do_connect", connect_event)


def _do_connect(_dialect: Any, _record: Any, _arguments: Any, parameters: Mapping[str, Any]) -> Any:
    return connect(parameters)


def _is_rejected(parameters: Mapping[str, Any]) -> bool:
    """Returns whether PostgreSQL rejected the password. A password that works by now was changed, and counts, too."""
    try:
        states = rejection_states((), with_password(parameters))
    except PasswordError:
        return True
    return states is None or bool(states & _REJECTED)


def _from_file(file: Path) -> str:
    try:
        password = file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PasswordError(f"the password file {file} cannot be read: {error}") from error
    if not password:
        raise PasswordError(f"the password file {file} is empty")
    return password


def _from_command(command: list[str]) -> str:
    name = command[0]  # the arguments may be secret
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_COMMAND_TIMEOUT,
            check=False,
        )
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
        reason = (
            f"has not ended after {_COMMAND_TIMEOUT:g} s" if isinstance(error, subprocess.TimeoutExpired) else error
        )
        raise PasswordError(f"the password command {name}: {reason}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PasswordError(f"the password command {name} ended with status {done.returncode}: {last}")
    password = done.stdout.rstrip("\r\n")
    if not password:
        raise PasswordError(f"the password command {name} printed nothing")
    return password
