"""A registered write, and the heartbeat that says that its writer lives."""

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
# Two signs of life may get lost before the writer counts as dead.
_SIGNS_PER_LEASE = 3


class Lease:
    """One write, from its registration on. As a context, it is renewed until the block is left, however that happens.

    Publishing ends a write. One that brought nothing is to be ended by `end`; any other is left to cleaning.
    """

    def __init__(self, metastore: MetastoreClient, table: Table, seconds: float) -> None:
        """Registers. Raises NoSuchTableError, MetastoreUnavailableError."""
        self._metastore = metastore
        granted = metastore.begin_write(table.database, table.name, seconds)
        self.query_id = granted.query_id
        self._interval = granted.seconds / _SIGNS_PER_LEASE
        self._stopped = threading.Event()
        self._lost: NoSuchWriteError | None = None
        self._shared: set[str] = set()

    def __enter__(self) -> Self:
        # A daemon: the sign of life of a writer that has died is worth nothing.
        threading.Thread(target=self._beat, name=f"write {self.query_id}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()

    def check(self) -> None:
        """Raises NoSuchWriteError if the lease was lost: the files of the write may be gone."""
        if self._lost:
            raise self._lost

    def claim(self, locations: Sequence[str]) -> set[str]:
        """Returns those of the directories that are this write's alone from now on."""
        granted = self._metastore.renew_write(self.query_id, locations=locations) if locations else ()
        return {location for location, mine in zip(locations, granted, strict=True) if mine}

    def claim_write_directory(self, location: str, shared: Iterable[str] = ()) -> None:
        """Claims, as `claim`, a directory with the write's name, and in the same call shares, as `share`, others.

        Raises PublishConflictError if it is another's.
        """
        told = sorted(set(shared))
        (mine,) = self._metastore.renew_write(self.query_id, locations=[location], shared=told)
        if not mine:
            raise PublishConflictError(f"{location} belongs to another write or object; run the INSERT again")
        self._shared.update(told)

    def share(self, directories: Iterable[str]) -> None:
        """Says that files come into directories that others use as well; of which it has been said, nothing is."""
        if shared := sorted(set(directories) - self._shared):
            self._metastore.renew_write(self.query_id, shared=shared)
            self._shared.update(shared)

    def rename(self, renames: Sequence[Rename]) -> None:
        """Says what is about to be renamed. Raises PublishConflictError if another write renames it."""
        try:
            self._metastore.renew_write(self.query_id, renames=renames)
        except MetastoreRefusedError as error:
            raise PublishConflictError(f"{error}; run the INSERT again") from error

    def is_open(self) -> bool:
        """False if the write was published, given up, or cleaned."""
        try:
            self._metastore.renew_write(self.query_id)
        except NoSuchWriteError:
            return False
        return True

    def end(self) -> None:
        """Gives the write up, whose files are removed. Never raises: what is not ended is cleaned."""
        self._stopped.set()
        try:
            self._metastore.end_write(self.query_id)
        except SparkClientError as error:
            _log.warning("write %s could not be ended, and is left to cleaning: %s", self.query_id, error)

    def _beat(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._metastore.renew_write(self.query_id)
            except NoSuchWriteError as error:
                self._lost = error
                return
            except SparkClientError as error:
                _log.warning("write %s could not be renewed, and is tried again: %s", self.query_id, error)
