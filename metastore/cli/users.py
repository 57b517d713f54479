"""`metastore users`: the file of passwords."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metastore.cli.printing import printable
from metastore.errors import ConfigurationError
from metastore.security.passwords import PasswordFile
from metastore.settings import Settings


def add(settings: Settings, name: str) -> str:
    """Asks for a password and writes its hash; says what was done."""
    path, file = _file(settings)
    if sys.stdin.isatty():
        password = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    new = file.add(name, password)
    return f"{name} was added to {path}" if new else f"{name} has another password in {path}"


def remove(settings: Settings, name: str) -> str:
    """Says what was done. Raises NotFoundError."""
    path, file = _file(settings)
    file.remove(name)
    return f"{name} was removed from {path}"


def show(settings: Settings) -> None:
    """Prints the names, a line each. Raises ConfigurationError where there is no file."""
    path, file = _file(settings)
    if not path.exists():
        raise ConfigurationError(f"{path} is not there: metastore users add NAME makes it")
    for name in sorted(file.users()):
        click.echo(printable(name))


def _file(settings: Settings) -> tuple[Path, PasswordFile]:
    if settings.password_file is None:
        raise ConfigurationError("which file? Set METASTORE_PASSWORD_FILE, or give --password-file")
    return settings.password_file, PasswordFile(settings.password_file)
