"""Removes what no table and no partition is described by any more: descriptors, and then their parts.

Writers look for the descriptor that they need by its content. So one that nothing refers to is first retired: nobody
finds it any more. It goes in a later run, when every transaction has ended that was under way when it was retired, and
may have found it before; if one of them has used it, it is restored. No writer waits, whatever its version.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from metastore.storage.repositories.shared_descriptors import DESCRIPTORS, SHARED
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.cleaning")

_MOST: Final = 10_000  # of a kind in one run
_SHARE: Final = 100  # looking through all partitions takes at most one in so many seconds
_LEAST: Final = 1.0  # seconds

Shared = tuple[str, int]  # kind and id


class DescriptorCleaningService:
    """Of one process; several share the work."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._retired: dict[Shared, frozenset[str]] = {}  # and what was under way then
        self._used: dict[int, float] = {}  # descriptors that only partitions have, and until when that is believed

    def run(self) -> int:
        """Does the work, unless another server is at it. Returns how many rows were removed."""
        with self._store.read() as work:
            underway = work.shared_descriptors.underway()
        ready = {row for row, before in self._retired.items() if not before & underway}
        removed = 0
        for kind in SHARED:
            unused = self._unused(kind)
            with self._store.transaction() as work:
                if not work.try_lock_job("descriptors"):
                    return removed
                removed += work.shared_descriptors.delete(
                    kind, [number for number in unused if (kind, number) in ready]
                )
                work.shared_descriptors.restore(kind, unused)
                work.shared_descriptors.retire(kind, unused)
        with self._store.read() as work:
            underway = work.shared_descriptors.underway()
            retired = work.shared_descriptors.retired()
        self._retired = {row: self._retired.get(row, underway) for row in retired}
        if removed:
            log.info("descriptors that nothing refers to, and their parts, were removed: %s", removed)
        return removed

    def _unused(self, kind: str) -> list[int]:
        """Returns those to which nothing refers. Whether partitions have a descriptor is looked for among all of them,
        unless that was done lately.
        """
        with self._store.read() as work:
            unused = work.shared_descriptors.unused(kind, _MOST)
            if kind != DESCRIPTORS:
                return unused
            now = time.monotonic()
            self._used = {number: until for number, until in self._used.items() if until > now}
            doubtful = [number for number in unused if number not in self._used]
            found = work.shared_descriptors.of_partitions(doubtful)
        took = time.monotonic() - now
        self._used |= dict.fromkeys(found, now + max(_LEAST, _SHARE * took))
        return [number for number in doubtful if number not in found]
