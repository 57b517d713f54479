"""The command line. Whatever a user does wrong ends in one line on stderr and a status that is not zero."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

_OURS: Final = ("metastore", "migrations", "thrift_idl")


def main() -> NoReturn:
    """Entry point of the program `metastore`."""
    try:
        from metastore.cli.commands import run

        sys.exit(run())
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _OURS:
            raise
        sys.exit(f"metastore: the Python package {package} is missing: run  pip install 'metastore[server]'")
