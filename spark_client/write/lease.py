"""The lease of a registered write, and the heartbeat that renews it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from metastore.client import MetastoreClient
from metastore.client.structs import Rename, Table
from spark_client.errors import MetastoreRefusedError, NoSuchWriteError, PublishConflictError, SparkClientError

_log = logging.getLogger(__name__)
# Two heartbeats may fail before the lease ends.
_HEARTBEATS_PER_LEASE = 3


class Lease:
    """The metastore's record of one write. Inside the context, a thread renews it.

    Publishing ends the write. A write that is undone is ended by `end`. Any other write ends when its lease does, and
    the metastore's cleaning removes its files.
    """

    def __init__(
        self,
        metastore: MetastoreClient,
        table: Table,
        seconds: float,
        directory: str | None = None,
        shared: Iterable[str] = (),
    ) -> None:
        """Registers a write. In the same call, it claims a directory below `directory` that is named by the query id,
        and registers shared directories.

        Raises NoSuchTableError, MetastoreUnavailableError.
        """
        self._metastore = metastore
        directories = sorted(set(shared))
        begun = metastore.begin_write(table.database, table.name, seconds, directory=directory, shared=directories)
        self.query_id = begun.query_id
        self._is_granted = begun.granted
        self.seconds = begun.seconds
        self._interval = begun.seconds / _HEARTBEATS_PER_LEASE
        self._stopped = threading.Event()
        self._lost: NoSuchWriteError | None = None
        self._shared = set() if begun.granted is None else set(directories)

    def __enter__(self) -> Self:
        # A daemon thread, so that it never keeps a process alive whose write has failed.
        threading.Thread(target=self._send_heartbeats, name=f"write {self.query_id}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()

    def check(self) -> None:
        """Raises NoSuchWriteError if the lease was lost. Cleaning may already have deleted the write's files."""
        if self._lost:
            raise self._lost

    def claim(self, locations: Sequence[str]) -> set[str]:
        """Claims directories for this write alone. Returns those that the metastore grants."""
        granted = self._metastore.renew_write(self.query_id, locations=locations) if locations else ()
        return {location for location, is_granted in zip(locations, granted, strict=True) if is_granted}

    def check_write_directory(self, location: str) -> None:
        """Raises PublishConflictError if the write's own directory belongs to another write or object."""
        is_granted = self._is_granted
        if is_granted is None:  # a server of an older version
            (is_granted,) = self._metastore.renew_write(self.query_id, locations=[location])
        if not is_granted:
            raise PublishConflictError(f"{location} belongs to another write or object; run the statement again")

    def share(self, directories: Iterable[str]) -> None:
        """Registers directories that will receive files of this write and that other writers use too.

        Cleaning searches them for the files of a dead write. Directories that are already registered cost no call.
        """
        if shared := sorted(set(directories) - self._shared):
            self._metastore.renew_write(self.query_id, shared=shared)
            self._shared.update(shared)

    def register_renames(self, renames: Sequence[Rename]) -> None:
        """Registers renames before they run, so that cleaning can undo them.

        Raises PublishConflictError if another write renames the same directory.
        """
        try:
            self._metastore.renew_write(self.query_id, renames=renames)
        except MetastoreRefusedError as error:
            raise PublishConflictError(f"{error}; run the statement again") from error

    def is_open(self) -> bool:
        """Returns False if the write was published, ended or cleaned."""
        try:
            self._metastore.renew_write(self.query_id)
        except NoSuchWriteError:
            return False
        return True

    def end(self) -> None:
        """Ends a write whose files are deleted. Logs errors instead of raising: the lease ends by itself."""
        self._stopped.set()
        try:
            self._metastore.end_write(self.query_id)
        except SparkClientError as error:
            _log.warning("write %s could not be ended; it will end when its lease expires: %s", self.query_id, error)

    def _send_heartbeats(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._metastore.renew_write(self.query_id)
            except NoSuchWriteError as error:
                self._lost = error
                return
            except SparkClientError as error:
                _log.warning("write %s could not be renewed; retrying: %s", self.query_id, error)
