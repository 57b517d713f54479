"""Removes shared descriptors that no table or partition uses, and then their unused parts.

Writers look up descriptors by their content. So an unused descriptor is first retired, which hides it from writers. A
later run deletes it, when all transactions that were running at that time, and may have found it, have ended. If one of
them has used the descriptor, it is restored. No writer waits, not even one of another version."""

from __future__ import annotations

import logging
import time
from typing import Final

from metastore.storage.repositories.shared_descriptors import DESCRIPTORS, SHARED
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.cleaning")

_MOST: Final = 10_000  # rows of a kind in one run
_SHARE: Final = 100  # searching all partitions takes at most 1/100 of the time
_LEAST: Final = 1.0  # seconds

Shared = tuple[str, int]  # kind and id


class DescriptorCleaningService:
    """The cleaning of one process. Several processes share the work."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._retired: dict[Shared, frozenset[str]] = {}  # with the transactions that were running then
        self._used: dict[int, float] = {}  # descriptors of partitions, and until when no search is needed

    def run(self) -> int:
        """Cleans, unless another server does. Returns the number of removed rows."""
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
            log.info("%s unused descriptors, or parts of descriptors, were removed", removed)
        return removed

    def _unused(self, kind: str) -> list[int]:
        """Returns unused rows. A descriptor is searched for among all partitions, unless that was done recently."""
        with self._store.read() as work:
            unused = work.shared_descriptors.unused(kind, _MOST)
            if kind != DESCRIPTORS:
                return unused
            now = time.monotonic()
            self._used = {number: until for number, until in self._used.items() if until > now}
            unknown = [number for number in unused if number not in self._used]
            used = work.shared_descriptors.of_partitions(unknown)
        took = time.monotonic() - now
        self._used |= dict.fromkeys(used, now + max(_LEAST, _SHARE * took))
        return [number for number in unknown if number not in used]
