"""Sessions of PostgreSQL that hold locks for which other sessions wait, and transactions that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import text

from metastore.storage.queries.repository import Repository

_OURS: Final = "metastore"  # application names of servers begin with it
_BLOCKING: Final = """
SELECT waiting.pid AS waiting_pid, blocking.pid, blocking.application_name AS application, blocking.usename AS user,
       host(blocking.client_addr) AS address, blocking.state,
       round(extract(epoch FROM now() - blocking.xact_start)::numeric, 1)::float8 AS seconds,
       left(blocking.query, 200) AS sql, quote_ident(current_user) AS own_role
FROM pg_stat_activity waiting
CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocker(pid)
JOIN pg_stat_activity blocking ON blocking.pid = blocker.pid
WHERE waiting.pid = ANY (:pids) AND waiting.wait_event_type = 'Lock'
"""
# A prepared transaction has no process: PostgreSQL names it by 0, and its locks by a virtual
# transaction, which also has a lock of the transaction itself.
_PREPARED: Final = """
SELECT DISTINCT awaited.pid AS waiting_pid, prepared.gid, prepared.owner AS user,
       round(extract(epoch FROM now() - prepared.prepared)::numeric, 1)::float8 AS seconds
FROM pg_locks awaited
JOIN pg_locks held ON held.pid IS NULL AND held.granted AND held.locktype = awaited.locktype
     AND (held.database, held.relation, held.page, held.tuple, held.transactionid) IS NOT DISTINCT FROM
         (awaited.database, awaited.relation, awaited.page, awaited.tuple, awaited.transactionid)
     AND (held.classid, held.objid, held.objsubid) IS NOT DISTINCT FROM
         (awaited.classid, awaited.objid, awaited.objsubid)
JOIN pg_locks own ON own.pid IS NULL AND own.virtualtransaction = held.virtualtransaction
     AND own.locktype = 'transactionid' AND own.granted
JOIN pg_prepared_xacts prepared ON prepared.transaction = own.transactionid
WHERE awaited.pid = ANY (:pids) AND NOT awaited.granted AND 0 = ANY (pg_blocking_pids(awaited.pid))
"""
_HIDDEN: Final = "<insufficient privilege>"  # PostgreSQL's text for the statement of another role's session
_RUNNING: Final = text("""
    SELECT l.transactionid::text FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND a.datname = current_database()
        AND l.pid <> pg_backend_pid()
""")


class Blocking(Repository):
    """Queries for blocking sessions, and for transactions that run."""

    def sessions(self, pids: Sequence[int]) -> dict[int, list[Mapping[str, Any]]]:
        """Returns the sessions that block each of these sessions, by process id.

        The statement of a session that belongs to a server is left out, because PostgreSQL shows it with its values.
        PostgreSQL hides the state of another role's session: `hint` then says which role needs which right. A prepared
        transaction has the process id 0. Raises DBAPIError.
        """
        blocking: dict[int, list[Mapping[str, Any]]] = {}
        for row in self._connection.execute(text(_PREPARED), {"pids": list(pids)}).mappings():
            session = {"pid": 0, "application": f"prepared transaction {row['gid']}", "user": row["user"]}
            hint = f"prepared {row['seconds']:g} s ago: COMMIT PREPARED or ROLLBACK PREPARED ends it"
            blocking.setdefault(row["waiting_pid"], []).append({**session, "seconds": row["seconds"], "hint": hint})
        for row in self._connection.execute(text(_BLOCKING), {"pids": list(pids)}).mappings():
            hidden = ("waiting_pid", "own_role")
            session = {name: value for name, value in row.items() if name not in hidden and value is not None}
            session["application"] = row["application"] or "unknown"
            if str(session["application"]).startswith(_OURS):
                session.pop("sql", None)
            if row["sql"] == _HIDDEN:
                session.pop("sql", None)
                session["hint"] = f"its state is hidden: GRANT pg_read_all_stats TO {row['own_role']}"
            blocking.setdefault(row["waiting_pid"], []).append(session)
        return blocking

    def running_changes(self) -> set[str]:
        """Returns the numbers of the transactions of this database that have changed something and have not ended."""
        return set(self._connection.execute(_RUNNING).scalars())
