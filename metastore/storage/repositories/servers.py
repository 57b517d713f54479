"""The servers that use this database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, select, text
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.postgres.clock import ago, now
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.servers import metastore_properties, servers

_FINISHED: Final = "schema.finished"  # written by migrations.runner

# Properties "warehouse of UUID", which belong to rows of `servers`.
_NOTE_WAREHOUSE: Final = text("""
    INSERT INTO metastore_properties (name, value) VALUES ('warehouse of ' || :server, :warehouse)
    ON CONFLICT DO NOTHING
""")
_FORGET_WAREHOUSES: Final = text("""
    DELETE FROM metastore_properties AS p WHERE starts_with(p.name, 'warehouse of ')
    AND NOT EXISTS (SELECT FROM servers AS s WHERE p.name = 'warehouse of ' || s.server)
""")
_OTHER_WAREHOUSES: Final = text("""
    SELECT DISTINCT s.host || ':' || s.port, p.value
    FROM servers AS s JOIN metastore_properties AS p ON p.name = 'warehouse of ' || s.server
    WHERE s.seen_at > clock_timestamp() - interval '60 seconds' AND p.value <> :warehouse ORDER BY 1, 2
""")


@dataclass(frozen=True, kw_only=True)
class Registration:
    """The identity of a server, known before its workers start.

    Attributes:
        revision: the schema revision that it was written for.
        port: the configured port, 0 for any.
        warehouse: the location of the warehouse.
    """

    server: UUID
    version: str
    revision: str
    host: str
    port: int
    warehouse: str

    @property
    def application_name(self) -> str:
        """The application_name of its connections. Servers that do not register themselves use another one."""
        return f"metastore {self.revision}"


class Servers(Repository):
    """Queries on the workers of all servers."""

    def renew(self, registration: Registration, worker: int, pid: int) -> None:
        """Registers a worker, or renews its registration."""
        row = {**vars(registration), "worker": worker, "pid": pid, "started_at": now(), "seen_at": now()}
        warehouse = row.pop("warehouse")
        statement = insert(servers).values(row)
        renewed = {"seen_at": now(), "pid": pid}
        self._connection.execute(statement.on_conflict_do_update(constraint="servers_pkey", set_=renewed))
        named = {"server": str(registration.server), "warehouse": warehouse}
        self._connection.execute(_NOTE_WAREHOUSE, named)

    def other_warehouses(self, warehouse: str) -> list[tuple[str, str]]:
        """Returns the running servers with another warehouse: address and warehouse."""
        rows = self._connection.execute(_OTHER_WAREHOUSES, {"warehouse": warehouse}).all()
        return [(address, other) for address, other in rows]

    def remove(self, server: UUID, worker: int) -> None:
        """Removes the registration of a worker that ends."""
        self._connection.execute(delete(servers).where(servers.c.server == server, servers.c.worker == worker))

    def forget(self, age: timedelta) -> None:
        """Deletes the registrations of workers that were not renewed for so long."""
        self._connection.execute(delete(servers).where(servers.c.seen_at < ago(age)))
        self._connection.execute(_FORGET_WAREHOUSES)

    def finished(self) -> str:
        """Returns the revision up to which upgrades are finished. Servers written for older ones can no longer run."""
        query = select(metastore_properties.c.value).where(metastore_properties.c.name == _FINISHED)
        return self._connection.execute(query).scalar() or ""
