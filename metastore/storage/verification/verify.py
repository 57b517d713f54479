"""Reads the whole database in batches, and compares each row with its encoded column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Engine

from metastore.storage.postgres.exceptions import DATABASE_ERRORS, raise_translated
from metastore.storage.verification.differences import Difference, Kind, Verified, differences
from metastore.storage.verification.objects import OBJECTS
from metastore.storage.verification.shared import SHARED

KINDS: Final = (*OBJECTS, *SHARED)
_BATCH: Final = 500  # rows in memory at a time


def verify(engine: Engine, most: int) -> Iterator[Verified]:
    """Yields the result for each kind of row, all from one snapshot, with bounded memory.

    `most`: the number of differences to report for each kind. Raises UnavailableError, ConnectionLostError.
    """
    try:
        with engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield from verify_within(connection, most)
    except DATABASE_ERRORS as error:
        raise_translated(error)


def verify_within(connection: Connection, most: int) -> Iterator[Verified]:
    """Yields the same within the connection's transaction."""
    return (_verified(connection, kind, most) for kind in KINDS)


def _verified(connection: Connection, kind: Kind, most: int) -> Verified:
    rows = wrong = 0
    first: list[Difference] = []
    for row in connection.execute(kind.query.execution_options(yield_per=_BATCH)):
        mismatches = list(differences(kind, row))
        rows, wrong = rows + 1, wrong + bool(mismatches)
        first += mismatches[: most - len(first)]
    return Verified(kind.name, rows, wrong, tuple(first))
