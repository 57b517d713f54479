"""Changes, dropped objects, locks, transactions and writes as pages show them. Each method is one bounded statement.

Rows of objects that the caller may not see are left out (`queries.visibility`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import text

from metastore.domain.names import TableName
from metastore.domain.renaming import TEMPORARY_NAME
from metastore.storage.queries.drops import FIRST_NAMES, OF_PRESENT_DATABASE
from metastore.storage.queries.name_changes import NAMED_SINCE
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.rule_visibility import HIDES_DROP
from metastore.storage.queries.visibility import Scope

_SCANNED: Final = 10_000  # newest events among which visible ones are looked for
_LONGEST: Final = 200_000  # characters of a message that is read
_LISTED: Final = 200
_ENDED: Final = 100
_EVENT: Final = f"""
    e.event_id AS id, e.event_time AS at, e.event_type AS event, e.catalog, e.database, e.table_name AS "table",
    CASE WHEN length(e.message) < {_LONGEST} THEN e.message END AS message,
    substring(left(e.message, 1000) FROM '"user":"([^"]*)"') AS "user"
"""
_SINCE_NAMED: Final = NAMED_SINCE.format(catalog="e.catalog", database="e.database", table="e.table_name")
_SINCE_DATABASE: Final = NAMED_SINCE.format(catalog="e.catalog", database="e.database", table="''")
_HISTORY: Final = text(f"""
    SELECT {_EVENT} FROM notification_log AS e
    WHERE e.catalog = :catalog AND e.database = :database AND e.table_name = :table AND e.event_id < :before
      AND e.event_time >= :created AND (cast(:is_whole AS boolean) OR e.event_id >= {_SINCE_NAMED})
    ORDER BY e.event_id DESC LIMIT :limit
""")  # noqa: S608 - constants

_EXISTS: Final = """
    EXISTS (SELECT FROM databases AS d JOIN tables AS t ON t.database_id = d.id
            WHERE d.catalog = e.catalog AND d.name = e.database AND t.name = e.table_name)
"""
_PRESENT: Final = OF_PRESENT_DATABASE.format(drop="gone", database="d.id")
_SHOWN: Final = f"{_PRESENT} AND NOT {HIDES_DROP.format(drop='gone')}"
_CHANGES: Final = f"""
    WITH recent AS MATERIALIZED (
        {{recent}} AND (e.table_name IS NULL OR e.table_name !~ :temporary) ORDER BY e.event_id DESC LIMIT :limit
    )
    SELECT (SELECT jsonb_agg(to_jsonb(x) ORDER BY x.id DESC) FROM (
               SELECT {_EVENT}, {_EXISTS} AS exists
               FROM recent JOIN notification_log AS e ON e.event_id = recent.event_id) AS x) AS events,
           (SELECT jsonb_agg(to_jsonb(x)) FROM (
               SELECT gone.id, gone.kind, gone.catalog, gone.database, gone.name AS "table", gone.partitions,
                      {FIRST_NAMES.format(drop="gone")} AS names,
                      gone.dropped_by AS "user", gone.dropped_from AS address,
                      extract(epoch FROM gone.dropped_at)::float8 AS at,
                      extract(epoch FROM gone.kept_until)::float8 AS kept_until
               FROM drops AS gone LEFT JOIN databases AS d ON d.catalog = gone.catalog AND d.name = gone.database
               WHERE gone.kept_until > now()
                 AND (cast(:is_admin AS boolean) OR gone.dropped_by = :user OR ({{altered}} AND {_SHOWN}))
               ORDER BY gone.dropped_at DESC, gone.id DESC LIMIT {_LISTED}) AS x) AS drops
"""  # noqa: S608 - constants
_RECENT: Final = "SELECT e.event_id FROM notification_log AS e WHERE e.event_id < :before"
# Events from before a table or database got its name are about another one.
_RECENT_SEEN: Final = f"""
    SELECT e.event_id FROM notification_log AS e
    LEFT JOIN databases AS d ON d.catalog = e.catalog AND d.name = e.database
    LEFT JOIN {{tables}} AS t ON t.database_id = d.id AND t.name = e.table_name
    WHERE e.event_id < :before
      AND e.event_id >= least(:before, (SELECT last_event_id + 1 FROM notification_sequence)) - {_SCANNED}
      AND ({{whole}} OR (e.table_name IS NULL AND {{databases}})
           OR ({{seen}} AND e.event_id >= {_SINCE_NAMED}))
      AND e.event_id >= {_SINCE_DATABASE}
"""  # noqa: S608 - constants
_FEW: Final = "(SELECT t.id, t.database_id, t.name FROM tables AS t WHERE {seen} OFFSET 0)"

_HIDDEN: Final = "CASE WHEN cast(:is_admin AS boolean) OR {user} = :user THEN {column} ELSE '***' END"
_LOCKS: Final = f"""
    SELECT l.id, l.transaction_id AS transaction, l.acquired_at IS NULL AS waiting, l.blocked_by, c.type,
           c.catalog, c.database, c.table_name AS "table", c.partition_name AS partition,
           {_HIDDEN.format(user="l.user_name", column="l.user_name")} AS "user",
           {_HIDDEN.format(user="l.user_name", column="l.host_name")} AS host,
           {_HIDDEN.format(user="l.user_name", column="left(l.agent, 200)")} AS agent,
           extract(epoch FROM now() - l.acquired_at)::float8 AS age,
           extract(epoch FROM now() - coalesce(x.heartbeat_at, l.heartbeat_at))::float8 AS heartbeat_age
    FROM locks AS l JOIN lock_components AS c ON c.lock_id = l.id
    LEFT JOIN transactions AS x ON x.id = l.transaction_id
    LEFT JOIN databases AS d ON d.catalog = c.catalog AND d.name = c.database
    LEFT JOIN tables AS t ON t.database_id = d.id AND t.name = c.table_name
    WHERE coalesce(x.heartbeat_at, l.heartbeat_at) > now() - cast(:timeout AS interval)
      AND (l.user_name = :user OR {{seen}} OR (c.table_name IS NULL AND {{databases}})) {{chosen}}
    ORDER BY l.acquired_at IS NULL DESC, l.id, c.position LIMIT {_LISTED}
"""  # noqa: S608 - constants
_WAITING: Final = """
    AND (l.acquired_at IS NULL OR l.id IN (SELECT blocked_by FROM locks WHERE acquired_at IS NULL))
"""
_OF_WRITE: Final = f"""
    w.query_id, d.catalog, d.database_name AS database, d."table",
    {_HIDDEN.format(user="w.user_name", column="w.user_name")} AS "user", extract(epoch FROM w.begun_at) AS begun
"""
_TABLE_OF_WRITE: Final = """
    JOIN LATERAL (
        SELECT d.catalog, d.name AS database_name, t.name AS "table" FROM tables AS t
        JOIN databases AS d ON d.id = t.database_id WHERE t.id = w.table_id AND {seen}
    ) AS d ON true
"""
_HELD: Final = f"""
    SELECT
        (SELECT jsonb_agg(to_jsonb(h)) FROM ({_LOCKS.replace("{chosen}", "")}) AS h) AS locks,
        (SELECT jsonb_agg(to_jsonb(o)) FROM (
            SELECT x.id, x.type, {_HIDDEN.format(user="x.user_name", column="x.user_name")} AS "user",
                   {_HIDDEN.format(user="x.user_name", column="x.host_name")} AS host,
                   extract(epoch FROM now() - x.started_at) AS age,
                   extract(epoch FROM now() - x.heartbeat_at) AS heartbeat_age
            FROM transactions AS x WHERE x.state = 'open'
              AND (cast(:is_admin AS boolean) OR x.user_name = :user) ORDER BY x.id LIMIT {_LISTED}
        ) AS o) AS transactions,
        (SELECT jsonb_agg(to_jsonb(p)) FROM (
            SELECT {_OF_WRITE}, extract(epoch FROM w.lease_ends_at) AS lease_ends,
                   CASE WHEN w.aborted_at IS NOT NULL THEN 'aborted' WHEN w.lease_ends_at < now() THEN 'abandoned'
                        ELSE 'in flight' END AS state
            FROM open_writes AS w {_TABLE_OF_WRITE} ORDER BY w.begun_at LIMIT {_LISTED}
        ) AS p) AS writes,
        (SELECT jsonb_agg(to_jsonb(e)) FROM (
            SELECT {_OF_WRITE}, extract(epoch FROM w.ended_at) AS ended, w.outcome
            FROM (SELECT * FROM ended_writes ORDER BY ended_at DESC LIMIT {_SCANNED}) AS w {_TABLE_OF_WRITE}
            ORDER BY w.ended_at DESC LIMIT {_ENDED}
        ) AS e) AS ended
"""  # noqa: S608 - constants

_SERVERS: Final = text(f"""
    SELECT
        (SELECT jsonb_agg(to_jsonb(s)) FROM (
            SELECT host, port, version, revision, count(*) AS workers, extract(epoch FROM min(started_at)) AS started,
                   extract(epoch FROM max(seen_at)) AS seen
            FROM servers WHERE seen_at > now() - interval '10 minutes'
            GROUP BY server, host, port, version, revision ORDER BY host, port LIMIT {_LISTED}) AS s) AS servers,
        (SELECT max(version_num) FROM alembic_version) AS revision,
        (SELECT jsonb_agg(to_jsonb(r)) FROM (
            SELECT c.relname AS name, coalesce(s.n_live_tup, 0) AS live, pg_table_size(c.oid) AS bytes,
                   pg_indexes_size(c.oid) AS index_bytes, coalesce(s.n_dead_tup, 0) AS dead,
                   extract(epoch FROM greatest(s.last_autovacuum, s.last_vacuum)) AS vacuumed
            FROM pg_class AS c LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid
            WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
            ORDER BY pg_total_relation_size(c.oid) DESC LIMIT 12) AS r) AS relations,
        pg_database_size(current_database()) AS bytes,
        current_setting('server_version') AS postgresql,
        current_setting('max_connections')::int AS max_connections,
        (SELECT count(*) FROM pg_stat_activity) AS connections,
        (SELECT extract(epoch FROM max(now() - xact_start))::float8 FROM pg_stat_activity
         WHERE datname = current_database()) AS oldest_transaction,
        (SELECT jsonb_agg(to_jsonb(b)) FROM (
            SELECT a.pid, a.application_name AS application, extract(epoch FROM now() - a.query_start) AS age,
                   regexp_replace(left(a.query, 300), '''[^'']*(''|$)', '''…''', 'g') AS statement,
                   pg_blocking_pids(a.pid) AS blocked_by
            FROM pg_stat_activity AS a
            WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' LIMIT 50) AS b) AS blocked,
        (SELECT count(*) FROM file_operations WHERE parked) AS parked
""")  # noqa: S608 - constants


class Activity(Repository):
    """Reads recent and running activity of the metastore."""

    def changes(
        self, before: int, limit: int, user: str | None, scope: Scope, *, is_admin: bool
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Returns the newest visible events before an id, and the drops that can be undone, by this user, in databases
        of the caller, or all. `exists`: whether the table of an event still exists.

        While a CREATE TABLE AS SELECT fills its table, events have a temporary name. They are left out: the event of
        its end has the table's own.
        """
        if scope.shows_all:
            recent = _RECENT
        else:
            tables = _FEW.format(seen=scope.tables) if scope.is_small else "tables"
            recent = _RECENT_SEEN.format(seen=scope.tables, databases=scope.databases, whole=scope.whole, tables=tables)
        given: dict[str, Any] = {"before": before, "limit": limit, "user": user, "is_admin": is_admin}
        values = {**given, **scope.parameters, "temporary": TEMPORARY_NAME}
        query = text(_CHANGES.format(recent=recent, altered=scope.altered))
        events, drops = self._connection.execute(query, values).one()
        return events or [], drops or []

    def history(
        self, table: TableName, before: int, limit: int, *, created: int, is_whole: bool
    ) -> list[dict[str, Any]]:
        """Returns the newest events of a table before an id, since its creation; unless `is_whole`, since it got its
        name.
        """
        named = {"catalog": table.catalog, "database": table.database, "table": table.name}
        return self._dicts(
            _HISTORY, {**named, "created": created, "is_whole": is_whole, "before": before, "limit": limit}
        )

    def held(
        self, user: str | None, timeout: timedelta, scope: Scope, *, is_admin: bool
    ) -> dict[str, list[dict[str, Any]]]:
        """Returns locks, transactions, and open and ended writes. Only an admin sees other holders."""
        values = {"user": user, "is_admin": is_admin, "timeout": timeout, **scope.parameters}
        (row,) = self._dicts(text(_HELD.format(seen=scope.tables, databases=scope.databases)), values)
        return {name: listed or [] for name, listed in row.items()}

    def waiting(self, user: str | None, timeout: timedelta, scope: Scope, *, is_admin: bool) -> list[dict[str, Any]]:
        """Returns the locks that wait or make others wait."""
        values = {"user": user, "is_admin": is_admin, "timeout": timeout, **scope.parameters}
        query = _LOCKS.format(seen=scope.tables, databases=scope.databases, chosen=_WAITING)
        return self._dicts(text(query), values)

    def health(self) -> dict[str, Any]:
        """Returns servers, sizes and waiting statements of the database."""
        (health,) = self._dicts(_SERVERS, {})
        return health
