"""The graph around a table and the states of its dependent partitions, in one statement."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import text

from metastore.storage.queries.dependency_states import EVALUATED
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visibility import Scope

EVALUATED_PARTITIONS: Final = 2000
"""Dependent partitions whose state is evaluated."""
_LISTED: Final = 200
_EDGES: Final = 300  # as many as a picture can show

# Evaluating no partition takes no time: `chosen` is empty if there are too many.
_OVERVIEW: Final = f"""
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
        WHERE p.dependent_id IN (SELECT id FROM below) AND {{seen}} LIMIT {EVALUATED_PARTITIONS + 1}
    ), chosen AS (
        SELECT partition_id FROM dependent WHERE (SELECT count(*) FROM dependent) <= {EVALUATED_PARTITIONS}
    ), {EVALUATED.format(columns="NULL::bigint AS none")},
    judged AS (
        SELECT d.name || '.' || t.name AS "table", p.name AS partition, e.total AS base_partitions,
               CASE WHEN e.total = 0 THEN 'incomplete' WHEN e.digest = n.digest THEN 'fresh' ELSE 'stale' END AS state
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
            SELECT * FROM judged WHERE state <> 'fresh' ORDER BY "table", partition LIMIT {_LISTED}) AS j) AS not_fresh,
        (SELECT count(*) FROM dependent) <= {EVALUATED_PARTITIONS} AS all_evaluated
"""  # noqa: S608 - constants


class DependencyOverview(Repository):
    """Reads the dependencies of a table for its page."""

    def read(self, table: int, scope: Scope, hidden: str) -> dict[str, Any]:
        """Returns the edges above and below a table, its direct and indirect dependents, and states of partitions.

        Only tables of the scope have names; hidden dependents are left out, `hidden` stands for hidden bases.
        """
        values = {"table": table, "hidden": hidden, **scope.parameters}
        (overview,) = self._dicts(text(_OVERVIEW.format(seen=scope.tables)), values)
        return overview
