"""Checks each promise of the security documentation: python -m tests.bench.promises [--only TEXT].

Exit status 1 if one does not hold.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from tests.bench.promises import credentials, logins, objects, pages, rules, writes
from tests.bench.promises.installation import PROMISES, Installation, installation

AREAS = (credentials, logins, objects, pages, rules, writes)


@click.command()
@click.option("--only", default="", help="Check the promises that contain this text.")
def main(only: str) -> None:
    """Starts a server with TLS, passwords and grants, and attacks it."""
    chosen = {text: check for text, check in PROMISES.items() if only.lower() in text.lower()}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        with installation(Path(folder)) as actual:
            broken = [text for text in chosen if not _holds(actual, text)]
    click.echo(f"{len(chosen) - len(broken)} of {len(chosen)} promises hold, in {len(AREAS)} areas")
    sys.exit(1 if broken else 0)


def _holds(actual: Installation, text: str) -> bool:
    try:
        PROMISES[text](actual)
    except Exception as error:  # noqa: BLE001 - the others are checked, too
        click.echo(f"BROKEN  {text}\n        {type(error).__name__}: {error}"[:2000])
        return False
    click.echo(f"holds   {text}")
    return True


if __name__ == "__main__":
    main()
