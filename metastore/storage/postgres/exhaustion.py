"""Errors for the resources that PostgreSQL runs out of: SQLSTATE class 53, insufficient_resources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metastore.errors import ExhaustedError
from metastore.storage.postgres.rejection import OUT_OF_CONNECTIONS

_MEMORY: Final = "add memory, or lower its work_mem; if it is out of shared memory, raise its max_locks_per_transaction"
_CONNECTIONS: Final = "raise its max_connections, or the limit of the role or database, or lower METASTORE_POOL_SIZE"

# SQLSTATE → the condition's name (PostgreSQL documentation, appendix A), and what to do.
_CONDITIONS: Final = {
    "53100": ("disk_full", "the disk of PostgreSQL is full: free or add space there"),
    "53200": ("out_of_memory", f"PostgreSQL is out of memory: {_MEMORY}"),
    OUT_OF_CONNECTIONS: ("too_many_connections", f"PostgreSQL has no connection left: {_CONNECTIONS}"),
}
EXHAUSTED_STATES: Final = frozenset(_CONDITIONS)
"""The SQLSTATEs that `exhausted` names."""


def exhausted(states: Iterable[str], detail: str) -> ExhaustedError | None:
    """Returns the error for the first of these SQLSTATEs that names a condition of `EXHAUSTED`, None if none does.

    `detail`: PostgreSQL's text, which the error quotes.
    """
    for state in states:
        if state in _CONDITIONS:
            condition, text = _CONDITIONS[state]
            said = " ".join(detail.split())
            return ExhaustedError(f"{condition} (SQLSTATE {state}): {text}. PostgreSQL says: {said}", condition)
    return None
