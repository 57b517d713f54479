"""The timers of the file journal: lease renewal, recovery, and the purge of dropped objects."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.undrop import UndropService
from metastore.services.files.journal import Journal

_INTERVAL: Final = 10.0  # seconds
_AT_START: Final = 0.1
_RENEWAL: Final = 20.0  # a third of a lease


def journal_recovery(journal: Journal) -> Timer:
    """Returns the timer that completes file operations of dead workers. Concurrent workers share the work."""
    return Timer("file operation recovery", journal.recover, _INTERVAL)


def lease_renewal(journal: Journal) -> Timer:
    """Returns the timer that renews the leases of this worker's own file operations."""
    return Timer("file operation lease renewal", journal.renew, _RENEWAL)


def witness_writing(journal: Journal) -> Timer:
    """Returns the timer that compares the state of the catalog with its record in the warehouse (the witness), and
    updates the record.
    """
    return Timer("catalog witness", journal.lineage.note, _INTERVAL)


def first_comparison(journal: Journal) -> Timer:
    """Returns the timer that makes the first comparison, when the server starts."""
    return Timer("first comparison with the witness", journal.lineage.note, _AT_START, once=True)


def drop_purging(undrop: UndropService) -> Timer:
    """Returns the timer that purges dropped objects after their retention. The next recovery deletes their files."""
    return Timer("purge of dropped objects", undrop.purge, _INTERVAL)
