"""Sums of a table's partitions by the values of two keys, and the partitions themselves, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from metastore.storage.postgres.driver import rows_of
from metastore.storage.postgres.sql import Sql
from metastore.storage.queries.parameter_figures import figures, sums

SUMMED: Final = 20_000
"""Partitions that are summed when the page is requested. Beyond, the sums of the last measurement are used."""
_LISTED: Final = 25
_ROWS, _BYTES, _FILES = figures("parameters")
_HIGHEST: Final = "\U0010ffff"


class KeyRange(NamedTuple):
    """A condition on a key: equal to a sort key, or beginning with a text. `position` counts from 1."""

    position: int
    key: str
    is_beginning: bool


class PartitionCalendar:
    """Reads partitions for the calendar."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(
        self, table: int, positions: tuple[int | None, int | None], ranges: Sequence[KeyRange], after: str
    ) -> dict[str, Any]:
        """Returns sums by the keys at two positions (from 1), the first partitions after a name, and measured sums.

        `summed`: how many partitions the sums have: more than SUMMED if there were more. The sums are then empty.
        """
        where, values = _conditions(table, ranges)
        first, second = (f"values[{position}]" if position else "NULL::text" for position in positions)
        # Conditions on keys have indexes of their own: a scan in the order of names could read the whole table.
        listed_from = "chosen WHERE name > %s" if ranges else f"partitions WHERE {where} AND name > %s"
        query = f"""
            WITH chosen AS MATERIALIZED (
                SELECT name, values, parameters, create_time FROM partitions WHERE {where} LIMIT {SUMMED + 1}
            ), summed AS (SELECT count(*) AS number FROM chosen)
            SELECT (SELECT number FROM summed),
                   (SELECT jsonb_agg(to_jsonb(g)) FROM (
                       SELECT {first} AS a, {second} AS b, count(*) AS partitions, {sums("parameters")},
                              min(create_time) AS created, max(create_time) AS changed
                       FROM chosen WHERE (SELECT number FROM summed) <= {SUMMED} GROUP BY 1, 2) AS g),
                   (SELECT jsonb_agg(to_jsonb(p)) FROM (
                       SELECT name, create_time AS created, {_ROWS} AS rows, {_BYTES} AS bytes, {_FILES} AS files
                       FROM {listed_from} ORDER BY name LIMIT {_LISTED + 1}) AS p),
                   (SELECT jsonb_build_object('cells', cells, 'at', extract(epoch FROM measured_at),
                                              'partitions', partitions)
                    FROM table_sizes WHERE table_id = %s AND (SELECT number FROM summed) > {SUMMED})
        """  # noqa: S608 - positions and constants
        ((summed, groups, partitions, measured),) = rows_of(
            self._connection, Sql(query, (*values, *(() if ranges else values), after, table))
        )
        listed = partitions or []
        return {
            "summed": summed,
            "groups": groups or [],
            "partitions": listed[:_LISTED],
            "more": len(listed) > _LISTED,
            "measured": measured,
        }


def _conditions(table: int, ranges: Sequence[KeyRange]) -> tuple[str, list[Any]]:
    conditions = ["table_id = %s"]
    parameters: list[Any] = [table]
    for position, key, is_beginning in ranges:
        if is_beginning:
            conditions.append(f"keys[{position}] >= %s AND keys[{position}] < %s")
            parameters += [key, key + _HIGHEST]
        else:
            conditions.append(f"keys[{position}] = %s")
            parameters.append(key)
    return " AND ".join(conditions), parameters
