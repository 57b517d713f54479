"""Reads a whole database, a piece at a time, and compares each row with its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Engine

from metastore.storage.postgres.exceptions import translated
from metastore.storage.verification.differences import Difference, Kind, Verified, differences
from metastore.storage.verification.objects import OBJECTS
from metastore.storage.verification.shared import SHARED

KINDS: Final = (*OBJECTS, *SHARED)
_PIECE: Final = 500  # rows that are in memory at once


def verify(engine: Engine, most: int) -> Iterator[Verified]:
    """Yields what each kind of row is like, all at one moment, while others may change them; memory is bounded.

    `most`: how many differences of a kind are named, at most. Raises UnavailableError, ConnectionLostError.
    """
    with translated(), engine.connect() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        yield from verify_within(connection, most)


def verify_within(connection: Connection, most: int) -> Iterator[Verified]:
    """Yields the same as the connection's transaction sees it."""
    return (_verified(connection, kind, most) for kind in KINDS)


def _verified(connection: Connection, kind: Kind, most: int) -> Verified:
    rows = wrong = 0
    first: list[Difference] = []
    for row in connection.execute(kind.query.execution_options(yield_per=_PIECE)):
        found = list(differences(kind, row))
        rows, wrong = rows + 1, wrong + bool(found)
        first += found[: most - len(first)]
    return Verified(kind.name, rows, wrong, tuple(first))
