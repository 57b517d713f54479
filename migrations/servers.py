"""The servers that use a database: from their registrations, and for older versions from their connections."""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import Connection, text

_GONE: Final = 60  # seconds without a renewal after which a server counts as dead

_REGISTERED: Final = text("""
    SELECT host, port, version, revision, count(*), extract(epoch FROM clock_timestamp() - max(seen_at)), max(value)
    FROM servers LEFT JOIN metastore_properties ON name = 'warehouse of ' || server
    WHERE seen_at > clock_timestamp() - make_interval(secs => :gone)
    GROUP BY server, host, port, version, revision ORDER BY revision, host, port
""")
# Servers that register use another application_name (`Registration.application_name`).
_UNREGISTERED: Final = text("""
    SELECT coalesce(host(client_addr), 'this host'), count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'metastore' GROUP BY 1 ORDER BY 1
""")


class RunningServer(NamedTuple):
    """A running server.

    Attributes:
        revision: the schema revision that it was written for; empty for versions that did not register.
        workers: number of workers; for servers that did not register, of connections.
        seen: seconds since the last renewal.
        warehouse: the location of its warehouse; None for versions that did not register it.
    """

    address: str
    version: str
    revision: str
    workers: int  # of one without a revision, its connections to the database
    seen: float | None  # seconds ago
    warehouse: str | None = None

    def __str__(self) -> str:
        if not self.revision:
            return f"an older server at {self.address} ({self.workers} connections)"
        return f"{self.address} of version {self.version} ({self.revision}, seen {self.seen:.0f} s ago)"


def running(connection: Connection) -> list[RunningServer]:
    """Lists the servers on this database, by revision."""
    servers = [
        RunningServer(host, "", "", connections, None) for host, connections in connection.execute(_UNREGISTERED).all()
    ]
    if connection.scalar(text("SELECT to_regclass('servers') IS NOT NULL")):
        rows = connection.execute(_REGISTERED, {"gone": _GONE}).all()
        for host, port, version, revision, workers, seen, warehouse in rows:
            servers.append(RunningServer(f"{host}:{port}", version, revision, workers, float(seen), warehouse))
    return servers


def older(connection: Connection, revision: str) -> list[RunningServer]:
    """Lists the servers that were written for an earlier revision than this one."""
    return [server for server in running(connection) if server.revision < revision]
