"""The command line. A user's mistake ends with one line on standard error and a non-zero exit status."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

_OWN_PACKAGES: Final = ("metastore", "migrations", "thrift_idl")


def main() -> NoReturn:
    """Runs the program `metastore`."""
    try:
        from metastore.cli.commands import run

        sys.exit(run())
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _OWN_PACKAGES:
            raise
        sys.exit(f"metastore: The Python package {package} is missing. Run: pip install 'metastore[server]'")
