"""Measurement of tables in the background."""

from __future__ import annotations

from typing import Final

from metastore.services.rules.care import conditions_of
from metastore.services.service import Service
from metastore.storage.pages.sizes import Progress

_BATCH: Final = 200  # tables
_LONGEST_INTERVAL: Final = 3600.0  # seconds between the starts of two passes over all tables
_PASSES: Final = 20  # factor: the interval is this many times as long as a pass, or the maximum
_SHARE: Final = 50  # factor: a pause is this many times as long as the batch before it


class SizeService(Service):
    """Measures tables."""

    def measure(self) -> None:
        """Measures the next tables, unless another server does, or nothing is due. Takes at most 2 % of a core."""
        with self._store.transaction(audited=False) as work:
            progress, begun = work.sizes.progress()
            if begun < progress.due or not work.try_lock_job("sizes"):
                return
            first = progress.begun if progress.after else begun
            rules = [conditions_of(row, begun) for row in work.care.of_batch(progress.after, _BATCH)]
            last = work.sizes.measure(progress.after, _BATCH, [(each.rule, each.timeless) for each in rules])
            if last is None:
                work.sizes.finish()
                interval = min(_PASSES * (begun - first), _LONGEST_INTERVAL)
                work.sizes.save_progress(Progress(0, max(first + interval, begun), 0.0))
                return
            _, ended = work.sizes.progress()
            work.sizes.save_progress(Progress(last, ended + _SHARE * (ended - begun), first))
