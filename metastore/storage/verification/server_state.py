"""The state of the PostgreSQL server and of its database, for `metastore doctor`."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from metastore.errors import ExhaustedError
from metastore.storage.postgres.exceptions import translate
from metastore.storage.postgres.readers import Readers
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.lineage import Lineages
from metastore.storage.verification.completeness import incompleteness

_FILL: Final = text("CREATE TEMPORARY TABLE metastore_doctor AS SELECT repeat('x', 100) FROM generate_series(1, 10000)")
_STATE: Final = text("""
    SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS release,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
        current_setting('autovacuum')::bool AS autovacuum, current_setting('fsync')::bool AS fsync,
        (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
        coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
        inet_server_addr() IS NOT NULL AS network,
        extract(epoch FROM clock_timestamp())::float AS clock
""")


class ServerState(NamedTuple):
    """The settings of a PostgreSQL server, and what its database lacks.

    Attributes:
        version: `server_version_num`.
        release: `server_version`.
        connections: the connections that it accepts from roles other than superusers.
        superuser: whether the role of the connection is one.
        network: whether the connection uses a network and not a socket file.
        ahead: the seconds by which its clock is ahead of this host's; negative if it is behind.
        lack: a line about missing parts of the schema; empty if it is complete.
        is_older: whether the database may be older than the files.
        exhausted: the resource that it lacks, such as space on the disk; None if it lacks none.
        excess: a line about rights of readers other than reading; None if there is none.
    """

    version: int
    release: str
    connections: int
    autovacuum: bool
    fsync: bool
    superuser: bool
    encrypted: bool
    network: bool
    ahead: float
    lack: str
    is_older: bool
    exhausted: str | None
    excess: str | None


def server_state(engine: Engine, *, read_only: bool) -> ServerState:
    """Returns the state. `read_only`: nothing is written to find a full disk. Raises DBAPIError."""
    with engine.connect() as connection:
        before = time.time()
        settings = connection.execute(_STATE).one()._asdict()
        ahead = settings.pop("clock") - (before + time.time()) / 2
        lack = incompleteness(connection)
        lineage = None if lack else Lineages(Session(connection)).read()
        full = None if read_only else _exhaustion(connection)
    readers = Readers(engine)
    excess = readers.excess() if readers.names() else None
    older = lineage is not None and bool(lineage.restored or lineage.problem_since)
    return ServerState(**settings, ahead=ahead, lack=lack, is_older=older, exhausted=full, excess=excess)


def _exhaustion(connection: Connection) -> str | None:
    """Writes a temporary table, which needs new space on the disk. Returns the resource that PostgreSQL lacks."""
    try:
        connection.execute(_FILL)
    except DBAPIError as error:
        if isinstance(lack := translate(error), ExhaustedError):
            return str(lack)
        # The role may not create temporary tables, which servers do not need.
    connection.rollback()
    return None
