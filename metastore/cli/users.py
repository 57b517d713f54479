"""`metastore users`: manages the password file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metastore.cli.printing import print_lines
from metastore.errors import ConfigurationError
from metastore.security.passwords import PasswordFile
from metastore.settings import Settings


def add(settings: Settings, name: str) -> str:
    """Reads a password from the terminal or from standard input, and writes its hash. Returns a confirmation."""
    path, file = _file(settings)
    if sys.stdin.isatty():
        password = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    new = file.add(name, password)
    return f"User {name} added to {path}." if new else f"Password of {name} changed in {path}."


def remove(settings: Settings, name: str) -> str:
    """Removes a user from the file. Returns a confirmation. Raises NotFoundError."""
    path, file = _file(settings)
    file.remove(name)
    return f"User {name} removed from {path}."


def show(settings: Settings) -> None:
    """Prints the user names, one per line. Raises ConfigurationError if the file does not exist."""
    path, file = _file(settings)
    if not path.exists():
        raise ConfigurationError(f"The password file {path} does not exist. Create it with: metastore users add NAME")
    print_lines(("user",), ((name,) for name in sorted(file.users())), str)


def _file(settings: Settings) -> tuple[Path, PasswordFile]:
    if settings.password_file is None:
        raise ConfigurationError("No password file is configured. Set METASTORE_PASSWORD_FILE, or use --password-file.")
    return settings.password_file, PasswordFile(settings.password_file)
