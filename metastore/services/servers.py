"""Registrations of servers with their versions, so that an upgrade knows which servers still run."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from typing import Final

from metastore.errors import MetastoreError
from metastore.storage.repositories.servers import Registration
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.servers")

_FORGOTTEN: Final = timedelta(hours=1)  # registrations that were not renewed for so long are deleted


class ServerService:
    """The registration of one worker."""

    def __init__(self, store: Store, registration: Registration, worker: int) -> None:
        self._store = store
        self._registration = registration
        self._worker = worker
        self._is_new = worker == 0  # one worker warns for its server

    def renew(self) -> None:
        """Renews the registration of the worker, and deletes those of workers that ended without doing so.

        The first time, warns of running servers with another warehouse.
        If an upgrade was finished that this version does not support, the worker rejects all calls from now on.
        """
        with self._store.transaction() as work:
            finished = work.servers.finished()
            if finished > self._registration.revision:
                work.servers.remove(self._registration.server, self._worker)
            else:
                work.servers.renew(self._registration, self._worker, os.getpid())
            others = work.servers.other_warehouses(self._registration.warehouse) if self._is_new else []
            work.servers.forget(_FORGOTTEN)
        self._is_new = False
        for address, other in others:
            log.warning(
                "This server's warehouse is %s, but the server %s on the same database uses %s: give both the same "
                "METASTORE_WAREHOUSE, or new databases are created in either",
                self._registration.warehouse,
                address,
                other,
            )
        if finished > self._registration.revision:
            reason = (
                f"This server supports schema revision {self._registration.revision}, but the database was upgraded to "
                f"{finished}: start a server of the new version instead"
            )
            log.error(reason)
            self._store.reject_connections(reason)

    def leave(self) -> None:
        """Deletes the registration of the worker. If the database is unavailable, the registration expires."""
        try:
            with self._store.transaction() as work:
                work.servers.remove(self._registration.server, self._worker)
        except MetastoreError as error:
            log.warning("The registration of this worker could not be deleted and will expire: %s", error)
