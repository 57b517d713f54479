"""`metastore tokens`: lists and revokes delegation tokens, directly in the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from metastore.app.database import database
from metastore.cli.printing import Cell, print_table
from metastore.errors import ConfigurationError, NotFoundError
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.issued_tokens import IssuedTokens
from migrations import runner


def show(settings: Settings) -> None:
    """Prints the valid tokens, without their secrets."""
    with _tokens(settings) as tokens:
        rows = [[_cell(value) for value in row] for row in tokens.all()]
    print_table("Tokens", ["number", "owner", "renewer", "requested by", "issued", "expires", "maximum expiry"], rows)


def revoke(settings: Settings, number: int | None, owner: str | None) -> str:
    """Revokes the token with a number, or all tokens of an owner. Returns a confirmation.

    Raises ConfigurationError, NotFoundError.
    """
    if (number is None) == (owner is None):
        raise ConfigurationError("Name one token by its number, or all tokens of a user with --owner.")
    with _tokens(settings) as tokens:
        count = tokens.revoke(sequence=number, owner=owner)
    if not count:
        raise NotFoundError(f"Token {number} does not exist." if owner is None else f"User {owner} has no tokens.")
    return "1 token revoked." if count == 1 else f"{count} tokens revoked."


@contextmanager
def _tokens(settings: Settings) -> Iterator[IssuedTokens]:
    with database(settings) as url:
        runner.check(url)
        engine = make_engine(settings, url)
        try:
            with engine.begin() as connection:
                yield IssuedTokens(Session(connection))
        finally:
            engine.dispose()


def _cell(value: Any) -> Cell:
    return value.isoformat(" ", "seconds") if isinstance(value, datetime) else value
