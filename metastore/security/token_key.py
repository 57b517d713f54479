"""The key from which the passwords of delegation tokens are derived. It is in a file, not in the database."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from metastore.errors import ConfigurationError

_MIN_LENGTH: Final = 32  # characters: 16 random bytes in hexadecimal


def read_token_key(path: Path) -> bytes:
    """Returns the key. Raises ConfigurationError if the file cannot be read, is too short, or if other users can read
    it."""
    path = path.expanduser()
    try:
        mode, text = path.stat().st_mode, path.read_bytes().strip()
    except OSError as error:
        raise ConfigurationError(f"token_key_file {path} cannot be read: {error.strerror}") from error
    if mode & 0o007:
        raise ConfigurationError(f"token_key_file {path} can be accessed by all users: run  chmod o= {path}")
    if len(text) < _MIN_LENGTH:
        raise ConfigurationError(
            f"token_key_file {path} must hold {_MIN_LENGTH} or more characters: run  openssl rand -hex 32 > {path}"
        )
    return hashlib.sha256(text).digest()
