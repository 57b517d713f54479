"""Directories of the user who runs the program, and absolute paths."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from metastore.errors import ConfigurationError

NO_DIRECTORY: Final = Path("/nonexistent/metastore")
"""The data directory of a user without a home. Nothing can be written to it."""


def absolute(location: str) -> str:
    """Resolves a relative path against the working directory. URIs stay unchanged."""
    return location if re.match(r"[A-Za-z][\w+.-]*:", location) else str(Path(location).expanduser().absolute())


def default_data_dir(*, optional: bool) -> Path:
    """Returns `metastore` in the XDG data directory of the user.

    `optional`: nothing is stored there, so a user without a home directory gets `NO_DIRECTORY`. Raises
    ConfigurationError for that user otherwise.
    """
    base = os.environ.get("XDG_DATA_HOME")
    try:
        return Path(base or Path.home() / ".local" / "share") / "metastore"
    except RuntimeError:
        if optional:
            return NO_DIRECTORY
        raise ConfigurationError("The user has no home directory. Set METASTORE_DATA_DIR.") from None
