"""Expires leases in the background, and deletes old transactions and compactions."""

from __future__ import annotations

import logging
from typing import Final

from metastore.services.rules.transactions import expire_leases
from metastore.services.service import LeasingService

log = logging.getLogger("metastore.timeouts")

_KEPT: Final = 3  # compactions of each object and each way to end, as Hive's metastore.compactor.history.retention.*


class TimeoutService(LeasingService):
    """Background job for timeouts. Requests do not depend on it: they expire the leases that block them."""

    def run(self) -> None:
        """Runs the job, unless another server does."""
        with self._store.transaction() as work:
            if not work.try_lock_job("timeouts"):
                return
            expired = expire_leases(work, self._timeout)
            work.transactions.purge(self._timeout)
            work.compactions.purge(_KEPT)
        if expired.locks:
            log.info("Expired locks were deleted: %s", expired.locks)
        if expired.transactions:
            log.info("Expired transactions were aborted: %s", expired.transactions)
