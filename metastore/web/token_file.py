"""The file with the token that protects `/calls`. It is shared by the server and `metastore calls`."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from metastore.errors import ConfigurationError

DEFAULT_NAME: Final = "http.token"
"""Name of the file in the data directory, unless METASTORE_HTTP_TOKEN_FILE is set."""
_TOKEN_BYTES: Final = 32
_MAX_BYTES: Final = 4096  # of a token file


def load_or_create(path: Path) -> str:
    """Returns the token in the file. Creates the file, with a random token, if it does not exist.

    Several servers may do this at the same time: exactly one creates the file. Raises ConfigurationError.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(path)
    except OSError as error:
        raise ConfigurationError(f"Cannot create the token file {path}: {error.strerror}") from error
    return load(path)


def load(path: Path) -> str:
    """Returns the token in the file.

    The group may read it, as with a mounted secret of Kubernetes (fsGroup). Raises ConfigurationError if the file
    cannot be read or is empty, or if its group can write to it or other users can access it.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read(_MAX_BYTES).decode(errors="replace").strip()
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"The token file {path} does not exist. Set METASTORE_HTTP_TOKEN_FILE to the token file of the server."
        ) from error
    except OSError as error:
        raise ConfigurationError(f"Cannot read the token file {path}: {error.strerror}") from error
    if mode & (stat.S_IWGRP | stat.S_IRWXO):
        raise ConfigurationError(f"Other users can access the token file {path}. Run: chmod g-w,o= {path}")
    if not token:
        raise ConfigurationError(
            f"The token file {path} is empty. Delete it, and restart the server to create a new one."
        )
    return token


def _create(path: Path) -> None:
    """Writes a temporary file and links it to `path`, so that no reader finds an empty or partial token."""
    if path.exists():
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n")
        os.link(temporary, path)
    except FileExistsError:
        pass  # another server was faster
    finally:
        temporary.unlink()
