"""`metastore tokens`: delegation tokens, straight from the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metastore.cli.database import database
from metastore.cli.printing import print_table
from metastore.errors import ConfigurationError, NotFoundError
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.repositories.issued_tokens import IssuedTokens
from migrations import runner


def show(settings: Settings) -> None:
    """Prints those that are valid, without anything secret."""
    with _tokens(settings) as found:
        rows = [[_text(value) for value in row] for row in found.all()]
    print_table("Tokens", ["number", "owner", "renewer", "asked for by", "issued", "expires", "at the latest"], rows)


def revoke(settings: Settings, number: int | None, owner: str | None) -> str:
    """Says what was done. Raises ConfigurationError, NotFoundError."""
    if (number is None) == (owner is None):
        raise ConfigurationError("which token? Give its number, or --owner")
    with _tokens(settings) as found:
        count = found.revoke(sequence=number, owner=owner)
    if not count:
        raise NotFoundError(f"there is no token {number}" if owner is None else f"{owner} has no token")
    return "1 token was revoked" if count == 1 else f"{count} tokens were revoked"


@contextmanager
def _tokens(settings: Settings) -> Iterator[IssuedTokens]:
    with database(settings) as url:
        runner.check(url)
        engine = make_engine(settings, url)
        try:
            with engine.begin() as connection:
                yield IssuedTokens(connection)
        finally:
            engine.dispose()


def _text(value: object) -> str:
    moment = getattr(value, "isoformat", None)
    return moment(" ", "seconds") if moment else str(value)
