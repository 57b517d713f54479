"""Ends what was not renewed in time, and forgets what nobody can ask for any more."""

from __future__ import annotations

import logging
from typing import Final

from metastore.services.rules.transactions import expire_leases
from metastore.services.service import LeasingService

log = logging.getLogger("metastore.timeouts")

_KEPT: Final = 3  # compactions of each object and each way to end, as Hive's metastore.compactor.history.retention.*


class TimeoutService(LeasingService):
    """The background's share of time-outs. Requests do not depend on it: they reap what stands in their way."""

    def run(self) -> None:
        """Does the work, unless another server is at it."""
        with self._store.transaction() as work:
            if not work.try_lock_job("timeouts"):
                return
            reaped = expire_leases(work, self._timeout)
            work.transactions.purge(self._timeout)
            work.compactions.purge(_KEPT)
        if reaped.locks:
            log.info("locks that were not renewed in time were removed: %s", reaped.locks)
        if reaped.transactions:
            log.info("transactions that were not renewed in time were aborted: %s", reaped.transactions)
