"""The pages about one table: its overview, its dependencies, and the layout of its data."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from sqlalchemy import text

from metastore.domain.dependencies import FRESH
from metastore.domain.names import TableName
from metastore.encoding.binary import STOP, decode
from metastore.storage.queries.dependency_states import EVALUATED, state
from metastore.storage.queries.parameter_figures import SUMMED, is_large, sums, with_figures
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visibility import Scope
from metastore.storage.schema.statistics import IS_KNOWN
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj

_LISTED: Final = 200  # privileges, analyzed columns, and partitions that are not fresh

_FEW: Final = f"NOT {is_large(':table')}"
_COUNTED: Final = (
    f"SELECT parameters, create_time FROM partitions WHERE table_id = :table AND {_FEW} LIMIT {SUMMED + 1}"  # noqa: S608 - constants
)
_LARGE: Final = 10_000  # bytes of a column's statistics, which are mostly sketches: larger ones are not read
_NEWEST: Final = 1000  # partitions with the greatest first key among which the newest one is looked for

_OVERVIEW: Final = f"""
    WITH newest AS (
        SELECT name, create_time, parameters FROM (
            SELECT name, keys, create_time, parameters FROM partitions
            WHERE table_id = :table AND keys[1] IS NOT NULL ORDER BY keys[1] DESC LIMIT {_NEWEST}
        ) AS last ORDER BY keys DESC NULLS LAST LIMIT 1
    ), counted AS (
        SELECT count(*) AS partitions, {sums()}, max(create_time) AS changed FROM {with_figures(_COUNTED)} AS p
    )
    SELECT
        (SELECT to_jsonb(counted) FROM counted) AS counted,
        (SELECT partitions <= {SUMMED} AND {_FEW} FROM counted) AS few,
        (SELECT to_jsonb(s) || jsonb_build_object('measured_at', extract(epoch FROM s.measured_at))
         FROM table_sizes AS s WHERE table_id = :table) AS measured,
        (SELECT jsonb_build_object('name', name, 'created', create_time, 'rows', rows, 'bytes', bytes, 'files', files)
         FROM {with_figures("SELECT * FROM newest")} AS n) AS newest,
        (SELECT jsonb_build_object('at', event_time, 'event', event_type,
                'user', substring(left(message, 1000) FROM '"user":"([^"]*)"'))
         FROM notification_log
         WHERE catalog = :catalog AND database = :database AND table_name = :name AND event_time >= :created
         ORDER BY event_id DESC LIMIT 1) AS changed,
        (SELECT jsonb_agg(to_jsonb(c)) FROM (
            SELECT column_name, engine, analyzed_at,
                   CASE WHEN length(encoded) < {_LARGE} THEN encode(encoded, 'base64') END AS encoded
            FROM column_statistics
            WHERE table_id = :table AND partition_id = 0 AND {IS_KNOWN} ORDER BY column_name, engine LIMIT {_LISTED}
        ) AS c) AS analyzed,
        (SELECT jsonb_agg(to_jsonb(p)) FROM (
            SELECT principal_type, principal, privilege, grant_option, column_name,
                   partition_id IS NOT NULL AS partition
            FROM privileges WHERE table_id = :table ORDER BY principal_type, principal, privilege LIMIT {_LISTED})
         AS p) AS privileges,
        (SELECT count(*) FROM table_dependencies AS x JOIN tables AS t ON t.id = x.dependent_id
         JOIN databases AS d ON d.id = t.database_id WHERE x.base_id = :table AND {{seen}})
        + (SELECT count(*) FROM view_bases AS v JOIN tables AS t ON t.id = v.view_id
           JOIN databases AS d ON d.id = t.database_id AND d.catalog = :catalog
           WHERE v.names @> ARRAY[cast(:database AS text) || '.' || :name] COLLATE "C" AND {{seen}}) AS dependents,
        (SELECT count(*) FROM table_dependencies WHERE dependent_id = :table) AS bases,
        (SELECT jsonb_build_array(d.parameters, c.parameters)
         FROM databases AS d JOIN catalogs AS c ON c.name = d.catalog
         WHERE d.catalog = :catalog AND d.name = :database) AS inherited
"""  # noqa: S608 - constants

_EVALUATED: Final = 2000  # dependent partitions whose state is evaluated
_EDGES: Final = 300  # as many as a picture can show

# Evaluating no partition takes no time: `chosen` is empty if there are too many.
_DEPENDENCIES: Final = f"""
    WITH RECURSIVE above AS (
        SELECT cast(:table AS bigint) AS id
        UNION SELECT e.base_id FROM above AS r JOIN table_dependencies AS e ON e.dependent_id = r.id
    ), below AS (
        SELECT cast(:table AS bigint) AS id
        UNION SELECT e.dependent_id FROM below AS r JOIN table_dependencies AS e ON e.base_id = r.id
    ), edges AS MATERIALIZED (
        SELECT dependent_id, base_id, current FROM table_dependencies
        WHERE dependent_id IN (SELECT id FROM above) OR base_id IN (SELECT id FROM below)
        LIMIT {_EDGES}
    ), dependent AS MATERIALIZED (
        SELECT p.partition_id, p.dependent_id FROM partition_dependencies AS p JOIN tables AS t ON t.id = p.dependent_id
        JOIN databases AS d ON d.id = t.database_id
        WHERE p.dependent_id IN (SELECT id FROM below) AND {{seen}} LIMIT {_EVALUATED + 1}
    ), chosen AS (
        SELECT partition_id FROM dependent WHERE (SELECT count(*) FROM dependent) <= {_EVALUATED}
    ), {EVALUATED.format(columns="NULL::bigint AS none")},
    judged AS (
        SELECT d.name || '.' || t.name AS "table", p.name AS partition, e.total AS base_partitions,
               {state("n")} AS state
        FROM numbered AS n JOIN evaluated AS e ON e.spec = n.spec JOIN partitions AS p ON p.id = n.partition_id
        JOIN tables AS t ON t.id = n.dependent_id JOIN databases AS d ON d.id = t.database_id
    ), named AS MATERIALIZED (
        SELECT t.id, d.name || '.' || t.name AS name, {{seen}} AS seen
        FROM tables AS t JOIN databases AS d ON d.id = t.database_id
        WHERE t.id IN (SELECT dependent_id FROM edges UNION SELECT base_id FROM edges)
    )
    SELECT
        (SELECT jsonb_agg(to_jsonb(g)) FROM (
            SELECT CASE WHEN b.seen THEN b.name ELSE :hidden END AS base, t.name AS dependent, e.current,
                   (SELECT count(*) FROM partition_dependencies AS p
                    WHERE p.dependent_id = e.dependent_id AND p.base_id = e.base_id) AS partitions
            FROM edges AS e JOIN named AS t ON t.id = e.dependent_id AND t.seen JOIN named AS b ON b.id = e.base_id
            ORDER BY 1, 2) AS g) AS edges,
        (SELECT jsonb_agg(n.name ORDER BY n.name) FROM named AS n
         WHERE n.seen AND n.id IN (SELECT id FROM below) AND n.id <> :table) AS dependents,
        (SELECT jsonb_object_agg(s."table", s.states) FROM (
            SELECT "table", jsonb_object_agg(state, number) AS states FROM (
                SELECT "table", state, count(*) AS number FROM judged GROUP BY 1, 2) AS c GROUP BY 1) AS s) AS states,
        (SELECT jsonb_agg(to_jsonb(j)) FROM (
            SELECT * FROM judged WHERE state <> '{FRESH}' ORDER BY "table", partition LIMIT {_LISTED}
        ) AS j) AS not_fresh,
        (SELECT count(*) FROM dependent) <= {_EVALUATED} AS all_evaluated
"""  # noqa: S608 - constants

_LAYOUTS: Final = text("""
    WITH newest AS (
        SELECT id, name, keys, location FROM partitions WHERE table_id = :table AND keys[1] IS NOT NULL
        ORDER BY keys[1] DESC LIMIT :limit
    )
    SELECT n.name, n.location, coalesce((
        SELECT jsonb_agg(jsonb_build_array(s.value, s.location) ORDER BY s.id) FROM skewed_locations AS s
        WHERE s.partition_id = n.id), '[]') AS skewed
    FROM newest AS n ORDER BY n.keys NULLS FIRST
""")
_LAYOUT_OF_TABLE: Final = text("""
    SELECT '' AS name, t.location, coalesce((
        SELECT jsonb_agg(jsonb_build_array(s.value, s.location) ORDER BY s.id) FROM skewed_locations AS s
        WHERE s.table_id = t.id AND s.partition_id IS NULL), '[]') AS skewed
    FROM tables AS t WHERE t.id = :table
""")


class TablePages(Repository):
    """Reads what the pages about a table show."""

    def overview(self, table: int, name: TableName, created: int, scope: Scope) -> dict[str, Any]:
        """Returns the figures of the overview. Counts only dependents of the scope.

        Args:
            table: the table's id.
            name: its name.
            created: its creation time; older events are about another table of that name.
            scope: the tables that the caller may see.

        Each column of `analyzed` has its `statistics`, or None if they are large. `inherited`: the parameters of the
        database and of the catalog; None if another call has just dropped them.
        """
        named = {"catalog": name.catalog, "database": name.database, "name": name.name}
        values = {"table": table, **named, "created": created, **scope.parameters}
        (overview,) = self._dicts(text(_OVERVIEW.format(seen=scope.tables)), values)
        return {**overview, "analyzed": [_decoded(row) for row in overview["analyzed"] or ()]}

    def dependencies(self, table: int, scope: Scope, hidden: str) -> dict[str, Any]:
        """Returns the edges above and below a table, its direct and indirect dependents, and states of partitions.

        Only tables of the scope have names; hidden dependents are left out, `hidden` stands for hidden bases.
        """
        values = {"table": table, "hidden": hidden, **scope.parameters}
        (overview,) = self._dicts(text(_DEPENDENCIES.format(seen=scope.tables)), values)
        return overview

    def layouts(self, table: int, limit: int, *, partitioned: bool) -> list[dict[str, Any]]:
        """Returns name, location and `skewed` (pairs of a value and its location) of the table, or of partitions.

        These are the `limit` partitions with the greatest first key, in the order of their keys.
        """
        query = _LAYOUTS if partitioned else _LAYOUT_OF_TABLE
        return self._dicts(query, {"table": table, "limit": limit})


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    encoded = row.pop("encoded")
    return {**row, "statistics": encoded and decode(ColumnStatisticsObj, b64decode(encoded) + STOP)}
