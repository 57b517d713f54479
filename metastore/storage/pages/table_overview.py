"""Reads the details for the page about one table, in one statement."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from sqlalchemy import text

from metastore.domain.names import TableName
from metastore.encoding.binary import STOP, decode
from metastore.storage.queries.parameter_figures import SUMMED, is_large, sums, with_figures
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visibility import Scope
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj

_LISTED: Final = 200  # privileges and analyzed columns

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
            WHERE table_id = :table AND partition_id = 0 ORDER BY column_name, engine LIMIT {_LISTED}
        ) AS c) AS analyzed,
        (SELECT jsonb_agg(to_jsonb(p)) FROM (
            SELECT principal_type, principal, privilege, grant_option, column_name,
                   partition_id IS NOT NULL AS partition
            FROM privileges WHERE table_id = :table ORDER BY principal_type, principal, privilege LIMIT {_LISTED})
         AS p) AS privileges,
        (SELECT count(*) FROM table_dependencies AS x JOIN tables AS t ON t.id = x.dependent_id
         JOIN databases AS d ON d.id = t.database_id WHERE x.base_id = :table AND {{seen}}) AS dependents,
        (SELECT count(*) FROM table_dependencies WHERE dependent_id = :table) AS bases
"""  # noqa: S608 - constants


class TableOverview(Repository):
    """The figures of a table's page."""

    def read(self, table: int, name: TableName, created: int, scope: Scope) -> dict[str, Any]:
        """Reads everything. `created`: the table's creation time: older events are about another table of the name.
        Only dependents of the scope are counted.

        Each of `analyzed` has its `statistics`; None if they are large.
        """
        named = {"catalog": name.catalog, "database": name.database, "name": name.name}
        values = {"table": table, **named, "created": created, **scope.parameters}
        (overview,) = self._dicts(text(_OVERVIEW.format(seen=scope.tables)), values)
        return {**overview, "analyzed": [_decoded(row) for row in overview["analyzed"] or ()]}


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    encoded = row.pop("encoded")
    return {**row, "statistics": encoded and decode(ColumnStatisticsObj, b64decode(encoded) + STOP)}
