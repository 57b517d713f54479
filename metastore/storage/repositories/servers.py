"""The servers that run on this database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.postgres.clock import ago, now
from metastore.storage.schema import metastore_properties, servers

_FINISHED = "schema.finished"  # as migrations.runner writes it


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A server: what is known of it before its workers run.

    Attributes:
        revision: of the schema that it was written for.
        port: the one that it was told to listen on, 0 for any.
    """

    server: UUID
    version: str
    revision: str
    host: str
    port: int

    @property
    def application_name(self) -> str:
        """What PostgreSQL shows its connections as; other than those of servers that do not register themselves."""
        return f"metastore {self.revision}"


class Servers:
    """Queries on the workers of all servers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def renew(self, registration: Registration, worker: int, pid: int) -> None:
        """Notes that the worker is there."""
        row = {**vars(registration), "worker": worker, "pid": pid, "started_at": now(), "seen_at": now()}
        statement = insert(servers).values(row)
        anew = {"seen_at": now(), "pid": pid}
        self._connection.execute(statement.on_conflict_do_update(constraint="servers_pkey", set_=anew))

    def remove(self, server: UUID, worker: int) -> None:
        """Notes that the worker has ended."""
        self._connection.execute(delete(servers).where(servers.c.server == server, servers.c.worker == worker))

    def forget(self, age: timedelta) -> None:
        """Removes those that were not seen for so long."""
        self._connection.execute(delete(servers).where(servers.c.seen_at < ago(age)))

    def finished(self) -> str:
        """Returns the revision whose upgrade was finished last: servers of older ones do not fit any more."""
        query = select(metastore_properties.c.value).where(metastore_properties.c.name == _FINISHED)
        return self._connection.execute(query).scalar() or ""
