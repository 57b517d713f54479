"""Sums of a table's partitions by the values of two keys, and the partitions themselves, in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from metastore.storage.postgres.driver import rows_of
from metastore.storage.postgres.sql import Sql
from metastore.storage.queries.parameter_figures import SUMMED, capped_sum, is_large, small_files, sums, with_figures
from metastore.storage.queries.repository import Repository

_LISTED: Final = 25
_SCANNED: Final = 5000  # partitions in the order of names among which chosen ones are looked for
_HIGHEST: Final = "\U0010ffff"
_SUM_COLUMNS: Final = {1: "first", 2: "second"}
_BY_FIGURE: Final = "SELECT * FROM {figures} AS f ORDER BY {figure} DESC NULLS LAST, keys, name"
_ORDERS: Final = {
    name: _BY_FIGURE.replace("{figure}", figure)
    for name, figure in (
        *((name, name) for name in ("rows", "bytes", "files")),
        ("small_files", f"{small_files()} DESC, -bytes / nullif(files, 0)"),
        ("created", "create_time"),
    )
}
SORTS: Final = ("keys", *_ORDERS)
"""Orders of the partitions that are listed, if they are few: by their keys, or descending by a figure."""


class Listed(NamedTuple):
    """The page of the list of partitions.

    Attributes:
        sort: one of SORTS, for few partitions.
        skipped: number of partitions before the page, of few.
        after: the name of the partition before the page, of many.
    """

    sort: str = SORTS[0]
    skipped: int = 0
    after: str = ""


class KeyRange(NamedTuple):
    """A condition on a key: its sort key is in one of these ranges, ends included. `position` counts from 1."""

    position: int
    spans: tuple[tuple[str, str], ...]


def beginning(text: str) -> tuple[str, str]:
    """Returns the range of the texts that begin with a text."""
    return text, text + _HIGHEST


class PartitionCalendar(Repository):
    """Reads partitions for the calendar."""

    def read(
        self,
        table: int,
        positions: tuple[int | None, int | None],
        ranges: Sequence[KeyRange],
        start: str,
        page: Listed,
    ) -> dict[str, Any]:
        """Returns sums by the keys at two positions (from 1), and a page of the partitions.

        Up to SUMMED partitions are summed now. For more, `groups` are sums of the last measurement, which was made at
        `measured`; None if that has no sums by these keys. `total`: their partitions. Of few partitions, `following`
        is the number to skip for the next page. Of many partitions, the list has names that begin with `start`, in the
        order of names; `next` is the name after which it continues.
        """
        query = _query(table, positions, ranges, page, start)
        ((few, number, groups, partitions, last, measured),) = rows_of(self._connection, query)
        listed = partitions or []
        is_more = len(listed) > _LISTED
        return {
            "sort": page.sort if few else "name",
            "following": page.skipped + _LISTED if few and is_more else None,
            "groups": (groups or []) if few or groups else None,
            "total": number if few else sum(group["partitions"] for group in groups or ()) or None,
            "measured": None if few else measured,
            "partitions": listed[:_LISTED],
            "next": None if few else listed[_LISTED - 1]["name"] if is_more else last,
        }


def _listed(sort: str, skipped: int) -> str:
    """Returns the query of a page of few partitions, with their figures, in order."""
    few = "SELECT * FROM chosen WHERE (SELECT few FROM counted)"
    page = f"OFFSET {skipped} LIMIT {_LISTED + 1}"
    if sort == "keys":
        return f"SELECT * FROM {with_figures(f'{few} ORDER BY keys, name {page}')} AS f"  # noqa: S608 - constants
    return f"{_ORDERS[sort].format(figures=with_figures(few))} {page}"


def _query(
    table: int,
    positions: tuple[int | None, int | None],
    ranges: Sequence[KeyRange],
    page: Listed,
    start: str,
) -> Sql:
    """Returns the query of `PartitionCalendar.read`, which is one statement: all figures are of one moment."""
    where, values = _conditions(ranges, {each.position: f"keys[{each.position}]" for each in ranges})
    not_large = "" if ranges else f" AND NOT {is_large('%s')}"
    large = () if ranges else (table,)
    groups, of_groups = _groups(positions, ranges, table)
    scanned = _SCANNED if ranges else _LISTED + 1
    many = f"""
        SELECT * FROM (  -- stops at the end of the page
            SELECT name, keys, parameters, create_time FROM partitions
            WHERE table_id = %s AND name > %s AND name >= %s AND name < %s ORDER BY name LIMIT {scanned}
        ) AS s WHERE NOT (SELECT few FROM counted){where} ORDER BY name LIMIT {_LISTED + 1}
    """  # noqa: S608 - constants
    query = f"""
        WITH chosen AS MATERIALIZED (
            SELECT name, keys, values, parameters, create_time FROM partitions
            WHERE table_id = %s{where}{not_large} LIMIT {SUMMED + 1}
        ), counted AS MATERIALIZED (
            SELECT count(*) AS number, count(*) <= {SUMMED}{not_large} AS few FROM chosen
        ), scanned AS MATERIALIZED (
            SELECT name FROM partitions WHERE table_id = %s AND name > %s AND name >= %s AND name < %s
            ORDER BY name LIMIT {scanned}
        ), listed AS MATERIALIZED (
            SELECT name, create_time, rows, bytes, files FROM ({_listed(page.sort, page.skipped)}) AS f
            UNION ALL
            SELECT name, create_time, rows, bytes, files FROM {with_figures(many)} AS m
        )
        SELECT counted.few, counted.number,
               (SELECT jsonb_agg(to_jsonb(g)) FROM ({groups}) AS g),
               (SELECT jsonb_agg(to_jsonb(p)) FROM (
                   SELECT name, create_time AS created, rows, bytes, files, {small_files()} AS small_files
                   FROM listed) AS p),
               (SELECT max(name) FROM scanned
                WHERE NOT counted.few AND (SELECT count(*) FROM listed) <= {_LISTED} HAVING count(*) = {_SCANNED}),
               (SELECT extract(epoch FROM measured_at)::float8 FROM table_sizes WHERE table_id = %s)
        FROM counted
    """  # noqa: S608 - positions and constants
    scan = (table, page.after, start, start + _HIGHEST)
    parameters = (table, *values, *large, *large, *scan, *scan, *values, *of_groups, table)
    return Sql(query, parameters)


def _groups(positions: tuple[int | None, int | None], ranges: Sequence[KeyRange], table: int) -> tuple[str, list[Any]]:
    """Returns the query of the sums: of the chosen partitions if they are few, else of the last measurement."""
    first, second = (f"values[{position}]" if position else "NULL::text" for position in positions)
    query = f"""
        SELECT {first} AS a, {second} AS b, count(*) AS partitions, {sums()},
               min(create_time) AS created, max(create_time) AS changed
        FROM {with_figures("SELECT * FROM chosen WHERE (SELECT few FROM counted)")} AS c GROUP BY 1, 2
    """  # noqa: S608 - positions and constants
    needed = {*(position or 1 for position in positions), *(each.position for each in ranges)}
    if not needed <= _SUM_COLUMNS.keys():
        return query, []
    where, values = _conditions(ranges, {number: f"{name}_key" for number, name in _SUM_COLUMNS.items()})
    first, second = (_SUM_COLUMNS[position] if position else "NULL::text" for position in positions)
    has_both = " AND second IS NOT NULL" if 2 in needed else ""
    return (
        f"""{query} UNION ALL
        SELECT {first}, {second}, sum(partitions)::bigint, {capped_sum("rows")}, {capped_sum("bytes")},
               {capped_sum("files")}, NULL, min(created), max(changed)
        FROM partition_sums WHERE NOT (SELECT few FROM counted) AND table_id = %s{where}{has_both} GROUP BY 1, 2
    """,  # noqa: S608 - positions and constants
        [table, *values],
    )


def _conditions(ranges: Sequence[KeyRange], columns: Mapping[int, str]) -> tuple[str, list[Any]]:
    conditions = ""
    parameters: list[Any] = []
    for position, spans in ranges:
        name = columns[position]
        either = [f"{name} = %s" if low == high else f"{name} BETWEEN %s AND %s" for low, high in spans]
        conditions += f" AND ({' OR '.join(either)})"
        parameters += [end for low, high in spans for end in ((low,) if low == high else (low, high))]
    return conditions, parameters
