"""Each server is registered with its version, so that an upgrade knows who is still there."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from typing import Final

from metastore.errors import MetastoreError
from metastore.storage.repositories.servers import Registration
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.servers")

_FORGOTTEN: Final = timedelta(hours=1)  # a worker of which nothing has been heard


class ServerService:
    """The registration of one worker."""

    def __init__(self, store: Store, registration: Registration, worker: int) -> None:
        self._store = store
        self._registration = registration
        self._worker = worker

    def renew(self) -> None:
        """Says that the worker is there. Where the schema does not fit it any more, it refuses all calls from now on:
        somebody has finished an upgrade while it was silent.
        """
        with self._store.transaction() as work:
            finished = work.servers.finished()
            if finished > self._registration.revision:
                work.servers.remove(self._registration.server, self._worker)
            else:
                work.servers.renew(self._registration, self._worker, os.getpid())
            work.servers.forget(_FORGOTTEN)
        if finished > self._registration.revision:
            reason = (
                f"This server is of revision {self._registration.revision}, and the upgrade of its database to "
                f"{finished} was finished: start a server of that version in its place"
            )
            log.error(reason)
            self._store.reject_connections(reason)

    def leave(self) -> None:
        """Says that the worker has ended. Where the database does not answer, its silence will tell it."""
        try:
            with self._store.transaction() as work:
                work.servers.remove(self._registration.server, self._worker)
        except MetastoreError as error:
            log.warning("this worker stays registered until it is missed: %s", error)
