"""Sizes of tables over time: measured in batches, read by pages. No statement reads partitions of more tables than its
batch has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import TextClause, text

from metastore.domain.care_rules import Rule
from metastore.storage.queries.care_figures import FIGURES, RULE_COLUMNS, RULES, care_sums, judged, rules_text
from metastore.storage.queries.parameter_figures import SUMMED, sums, with_figures
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visibility import Scope
from metastore.storage.references import TABLE_ITSELF

_STATE: Final = "sizes"  # name of the property with the state of the measurement
_MAX_SUMS: Final = 40_000  # of one table
_HISTORY: Final = 400  # days

_OF_BATCH: Final = f"""
    SELECT p.table_id, p.id AS partition_id, p.values, p.create_time, p.parameters, {RULE_COLUMNS}
    FROM partitions AS p LEFT JOIN rules AS r ON r.table_id = p.table_id
    WHERE p.table_id IN (SELECT id FROM batch WHERE partitioned)
"""  # noqa: S608 - constants
_UNPARTITIONED: Final = f"""
    SELECT b.id AS table_id, {TABLE_ITSELF} AS partition_id, NULL::text[] AS values, b.create_time, b.parameters,
           {RULE_COLUMNS}
    FROM batch AS b LEFT JOIN rules AS r ON r.table_id = b.id WHERE NOT b.partitioned
"""  # noqa: S608 - constants
_CARE: Final = [name for name in FIGURES if name != "partitions"]
# A table that another call deletes meanwhile is left out: a row that refers to it would fail the whole batch.
_BATCH: Final = text(f"""
    WITH batch AS (
        SELECT id, parameters, create_time, partition_keys <> '[]' AS partitioned FROM tables
        WHERE id > :after AND database_id IS NOT NULL ORDER BY id LIMIT :limit
    ), rules AS MATERIALIZED (
        {RULES}
    ), measured AS (
        SELECT table_id, true AS partitioned, {sums()}, {care_sums()} FROM {judged(_OF_BATCH)} AS p GROUP BY table_id
        UNION ALL
        SELECT table_id, false, {sums()}, {care_sums()} FROM {judged(_UNPARTITIONED)} AS t GROUP BY table_id
    ), held AS MATERIALIZED (
        SELECT id FROM tables WHERE id IN (SELECT id FROM batch) FOR KEY SHARE SKIP LOCKED
    ), written AS (
        INSERT INTO table_sizes (table_id, measured_at, partitions, rows, bytes, files, small_files)
        SELECT batch.id, now(), CASE WHEN m.partitioned THEN m.partitions ELSE 0 END, m.rows, m.bytes, m.files,
               m.small_files
        FROM batch JOIN held USING (id) LEFT JOIN measured AS m ON m.table_id = batch.id
        ON CONFLICT (table_id) DO UPDATE SET measured_at = now(), partitions = excluded.partitions,
            rows = excluded.rows, bytes = excluded.bytes, files = excluded.files, small_files = excluded.small_files
        RETURNING table_id, partitions
    ), cared AS (
        INSERT INTO care_figures (table_id, measured_at, rule, partitions, {", ".join(_CARE)})
        SELECT r.table_id, now(), r.rule, coalesce(m.partitions, 0),
               {", ".join(f"coalesce(m.{each}, 0)" for each in _CARE)}
        FROM rules AS r JOIN held ON held.id = r.table_id LEFT JOIN measured AS m ON m.table_id = r.table_id
        ON CONFLICT (table_id) DO UPDATE SET measured_at = now(), rule = excluded.rule,
            {", ".join(f"{each} = excluded.{each}" for each in FIGURES)}
    ), old_sums AS (
        DELETE FROM partition_sums WHERE table_id IN (SELECT id FROM batch JOIN held USING (id) WHERE partitioned)
    )
    SELECT (SELECT max(id) FROM batch), coalesce(array_agg(table_id) FILTER (WHERE partitions > {SUMMED}), '{{}}')
    FROM written
""")  # noqa: S608 - constants


def _sums_by(second_key: str, second: str) -> TextClause:
    """Returns the statement that stores the sums of a table's partitions by the first key and this expression."""
    partitions = "SELECT keys, values, parameters, create_time FROM partitions WHERE table_id = :table"
    return text(f"""
        WITH found AS (
            SELECT coalesce(keys[1], '') AS first_key, {second_key} AS second_key, min(values[1]) AS first,
                   min({second}) AS second, count(*) AS partitions, {sums()},
                   min(create_time) AS created, max(create_time) AS changed
            FROM {with_figures(partitions)} AS p GROUP BY 1, 2 LIMIT {_MAX_SUMS} + 1
        )
        INSERT INTO partition_sums (table_id, first_key, second_key, first, second, partitions, rows, bytes, files,
                                    created, changed)
        SELECT :table, first_key, second_key, first, second, partitions, rows, bytes, files, created, changed
        FROM found WHERE (SELECT count(*) FROM found) <= {_MAX_SUMS}
    """)  # noqa: S608 - constants


_SUMS_BY_TWO: Final = _sums_by("coalesce(keys[2], '')", "coalesce(values[2], '')")
_SUMS_BY_ONE: Final = _sums_by("NULL::text", "NULL::text")

_REMEMBER: Final = text("""
    INSERT INTO table_size_history (table_id, day, partitions, rows, bytes, files)
    SELECT s.table_id, current_date, s.partitions, s.rows, s.bytes, s.files FROM table_sizes AS s
    LEFT JOIN LATERAL (
        SELECT * FROM table_size_history WHERE table_id = s.table_id ORDER BY day DESC LIMIT 1
    ) AS last ON true
    WHERE s.table_id > :after AND s.table_id <= :last AND s.measured_at = now() AND (last.day IS NULL OR
        (last.partitions, last.rows, last.bytes, last.files) IS DISTINCT FROM (s.partitions, s.rows, s.bytes, s.files))
    ON CONFLICT (table_id, day) DO UPDATE
    SET partitions = excluded.partitions, rows = excluded.rows, bytes = excluded.bytes, files = excluded.files
""")

# The base is the state a week ago, or the first known state. A base of today is useless, but a table that was created
# within the last week has grown from zero.
_GROWTH: Final = text("""
    UPDATE table_sizes AS s SET growth = CASE
        WHEN base.day < current_date
            THEN (s.bytes - base.bytes) / (current_date - greatest(base.day, current_date - 7))
        WHEN base.created > current_date - 7 THEN s.bytes / greatest(1, current_date - base.created) END
    FROM (
        SELECT s.table_id, base.day, base.bytes, to_timestamp(t.create_time)::date AS created
        FROM table_sizes AS s JOIN tables AS t ON t.id = s.table_id CROSS JOIN LATERAL (
            SELECT day, bytes FROM table_size_history AS h WHERE h.table_id = s.table_id
            ORDER BY h.day > current_date - 7, CASE WHEN h.day <= current_date - 7 THEN current_date - h.day
                                                    ELSE h.day - current_date END LIMIT 1
        ) AS base
        WHERE s.table_id > :after AND s.table_id <= :last AND s.measured_at = now()
    ) AS base
    WHERE s.table_id = base.table_id
""")

_WHOLE: Final = text("""
    INSERT INTO catalog_sizes (at, databases, tables, partitions, rows, bytes, files)
    SELECT date_trunc('hour', now()), (SELECT count(*) FROM databases), count(*), coalesce(sum(s.partitions), 0),
           least(coalesce(sum(s.rows), 0), 9e18)::bigint, least(coalesce(sum(s.bytes), 0), 9e18)::bigint,
           least(coalesce(sum(s.files), 0), 9e18)::bigint
    FROM table_sizes AS s JOIN tables AS t ON t.id = s.table_id WHERE t.database_id IS NOT NULL
    ON CONFLICT (at) DO UPDATE SET databases = excluded.databases, tables = excluded.tables,
        partitions = excluded.partitions, rows = excluded.rows, bytes = excluded.bytes, files = excluded.files
""")
_FORGET: Final = text(f"DELETE FROM catalog_sizes WHERE at < now() - interval '{_HISTORY} days'")  # noqa: S608

_PROGRESS: Final = text("""
    SELECT extract(epoch FROM clock_timestamp())::float8, max(value) FROM metastore_properties WHERE name = :name
""")
# OFFSET 0 makes PostgreSQL read few visible tables by their ids, instead of all tables in the order of the figure.
_TOP: Final = """
    SELECT * FROM (
        SELECT d.catalog, d.name AS database, t.name AS "table", s.partitions, s.rows, s.bytes, s.files, s.small_files,
               s.growth, extract(epoch FROM s.measured_at)::float8 AS measured_at
        FROM table_sizes AS s JOIN tables AS t ON t.id = s.table_id JOIN databases AS d ON d.id = t.database_id
        WHERE s.{order} IS NOT NULL AND {seen} {fence}
    ) AS top ORDER BY {order} DESC LIMIT :limit
"""
ORDERS: Final = ("bytes", "files", "small_files", "growth")

_OF_TABLE: Final = text("""
    SELECT extract(epoch FROM day)::float8 AS at, partitions, rows, bytes, files FROM (
        SELECT * FROM table_size_history WHERE table_id = :table ORDER BY day DESC LIMIT :limit
    ) AS h ORDER BY day
""")
_OF_CATALOG: Final = text("""
    SELECT extract(epoch FROM at)::float8 AS at, databases, tables, partitions, rows, bytes, files FROM (
        SELECT DISTINCT ON (at::date) * FROM catalog_sizes ORDER BY at::date DESC, at DESC LIMIT :limit
    ) AS days ORDER BY at
""")


class Progress(NamedTuple):
    """The state of the measurement: the last table of the current pass, and when the next batch is due (epoch)."""

    after: int = 0
    due: float = 0.0
    begun: float = 0.0


class Sizes(Repository):
    """Measures and reads sizes."""

    def progress(self) -> tuple[Progress, float]:
        """Returns the state of the measurement and the database's time, in seconds since 1970."""
        now, value = self._connection.execute(_PROGRESS, {"name": _STATE}).one()
        return Progress(*json.loads(value)) if value else Progress(), now

    def save_progress(self, progress: Progress) -> None:
        query = (
            "INSERT INTO metastore_properties (name, value) VALUES (:name, :value) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        self._connection.execute(text(query), {"name": _STATE, "value": json.dumps(progress)})

    def measure(self, after: int, limit: int, rules: Iterable[tuple[Rule, Mapping[str, Any]]] = ()) -> int | None:
        """Measures the next tables in the order of their ids. Returns the last one, or None if there are no more.

        `rules`: the conditions of their policies, as for `rules_text`.
        """
        values = {"after": after, "limit": limit, "rules": rules_text(rules)}
        last, large = self._connection.execute(_BATCH, values).one()
        if last is None:
            return None
        for table in large:
            # As detailed as possible: a table may have too many pairs of keys.
            if not self._connection.execute(_SUMS_BY_TWO, {"table": table}).rowcount:
                self._connection.execute(_SUMS_BY_ONE, {"table": table})
        self._connection.execute(_REMEMBER, {"after": after, "last": last})
        self._connection.execute(_GROWTH, {"after": after, "last": last})
        return int(last)

    def finish(self) -> None:
        """Adds the sizes of the whole catalog."""
        self._connection.execute(_WHOLE)
        self._connection.execute(_FORGET)

    def top(self, order: str, limit: int, scope: Scope) -> list[dict[str, Any]]:
        """Returns the tables of a scope with the greatest figures. `order`: one of ORDERS."""
        fence = "AND s.table_id = ANY (cast(:few AS bigint[])) OFFSET 0" if scope.is_small else ""
        query = text(_TOP.format(order=order, seen=scope.tables, fence=fence))
        return self._dicts(query, {"limit": limit, **scope.parameters})

    def of_table(self, table: int, limit: int) -> list[dict[str, Any]]:
        """Returns the states of a table, the oldest first, at most `limit` of the newest."""
        return self._dicts(_OF_TABLE, {"table": table, "limit": limit})

    def of_catalog(self, limit: int) -> list[dict[str, Any]]:
        """Returns the last state of each day, the oldest first, at most `limit` of the newest."""
        return self._dicts(_OF_CATALOG, {"limit": limit})
