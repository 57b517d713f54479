"""One transaction a request: opened by a service, joined by repositories, committed here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from metastore.errors import UnavailableError
from metastore.storage.descriptors import DescriptorCache, Descriptors
from metastore.storage.faults import translate, translated
from metastore.storage.repositories.databases import Databases
from metastore.storage.repositories.partitions import Partitions
from metastore.storage.repositories.partitions_write import PartitionsWrite
from metastore.storage.repositories.tables import Tables


class UnitOfWork:
    """The repositories of one connection."""

    def __init__(self, connection: Connection, cache: DescriptorCache) -> None:
        self._connection = connection
        descriptors = Descriptors(connection, cache)
        self.databases = Databases(connection)
        self.tables = Tables(connection, descriptors)
        self.partitions = Partitions(connection, descriptors)
        self.partitions_write = PartitionsWrite(connection, descriptors)

    def commit(self) -> None:
        """Commits now, where something outside the database must be undone if that fails.

        Raises:
            UnavailableError: the connection broke during the commit; whether it happened is not known.
        """
        try:
            self._connection.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise UnavailableError(f"The connection broke during the commit: {translate(error)}") from error
            raise


class Store:
    """The database, as services see it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._cache = DescriptorCache()

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        """Statements that stand for themselves: no transaction block, each sees all that is committed."""
        with translated(), self._reading.connect() as connection:
            yield UnitOfWork(connection, self._cache)

    @contextmanager
    def transaction(self) -> Iterator[UnitOfWork]:
        """Everything inside is committed at the end, or nothing of it."""
        with translated(), self._engine.connect() as connection:
            work = UnitOfWork(connection, self._cache)
            yield work
            work.commit()

    def close(self) -> None:
        self._engine.dispose()
