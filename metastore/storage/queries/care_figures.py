"""What the policies of table care mean for partitions, in SQL: which are empty, have expired, or have small files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from metastore.domain.care_rules import Rule
from metastore.storage.queries.parameter_figures import capped_sum, is_small, with_figures

_FIELDS: Final = (
    "table_id bigint, compacts boolean, small bigint, target bigint, min_files bigint, floor bigint, "
    "quiet_before bigint, created_before bigint, cutoff text, patterns text[], pattern_columns int[], "
    "columns int[], starts int[], widths int[], rule jsonb"
)
RULES: Final = f"""
    SELECT *, EXISTS (SELECT FROM column_statistics AS s WHERE s.table_id = r.table_id) AS analyzed
    FROM jsonb_to_recordset(cast(:rules AS jsonb)) AS r({_FIELDS})
"""  # noqa: S608 - constants
"""The query of the conditions of tables. `:rules` is the text that `rules_text` returns."""
RULE_COLUMNS: Final = ", ".join(f"r.{field.split()[0]}" for field in [*_FIELDS.split(", ")[1:-1], "analyzed"])
"""The columns of RULES that `judged` needs, for a join."""
_MOST_PARTS: Final = 4  # year, month, day, hour

UNANALYZED: Final = "NOT jsonb_exists(parameters, 'COLUMN_STATS_ACCURATE')"
UNCOUNTED: Final = "files IS NULL OR bytes IS NULL"
"""Conditions on a row of `judged`: nobody knows that its statistics are accurate; its files are not counted."""
_SPACES: Final = "E' \\t\\r\\n'"
# Casting a text that is no JSON would be an error. A name is escaped as `domain.column_statistics` does.
_IS_LISTED: Final = f"position(translate(to_json(s.column_name)::text, {_SPACES}, '') || ':' IN {{row}}.accuracy) > 0"


def outdated(row: str) -> str:
    """Returns the FROM clause of the stored statistics of columns, `s`, that `row`, one of `judged`, does not list as
    accurate. A table without such statistics costs nothing.
    """
    return (
        f"FROM column_statistics AS s WHERE {row}.analyzed AND s.table_id = {row}.table_id "
        f"AND s.partition_id = {row}.partition_id AND NOT {_IS_LISTED.format(row=row)}"
    )


FIGURES: Final = (
    "partitions",
    "empty",
    "uncounted",
    "unanalyzed",
    "compact_partitions",
    "compact_files",
    "compact_files_after",
    "compact_bytes",
    "expired_partitions",
    "expired_files",
    "expired_bytes",
)
"""Names of the figures of `care_sums`."""


def rules_text(rules: Iterable[tuple[Rule, Mapping[str, Any]]]) -> str:
    """Returns the value of `:rules`, from conditions at one moment and the same conditions without times."""
    return json.dumps([{**rule._asdict(), "rule": timeless} for rule, timeless in rules])


def judged(query: str) -> str:
    """Returns a subquery with the rows of a query, their figures, and `is_empty`, `is_expired`, `is_compact`,
    `files_after` and `is_outdated`: stored statistics of columns are not known to be accurate.

    The query has the columns `table_id`, `partition_id` (TABLE_ITSELF for a table without partitions), `values` (NULL
    for such a table), `create_time` and `parameters`, and those of RULES, which are NULL for a table without
    conditions. CASE evaluates the cheap conditions first.
    """
    return f"""(
        SELECT *, CASE WHEN analyzed THEN EXISTS (SELECT {outdated("expiring")}) ELSE false END AS is_outdated,
            NOT is_expired AND CASE
            WHEN compacts IS NOT TRUE OR files IS NULL OR files < min_files THEN false
            WHEN NOT coalesce({is_small("small")} AND bytes > 0, false) OR files <= files_after THEN false
            ELSE greatest(create_time, {_WRITTEN}) <= quiet_before END AS is_compact
        FROM (
            SELECT *, coalesce(files = 0 OR bytes = 0, false) AS is_empty,
                   coalesce(create_time < created_before, false) OR CASE
                       WHEN cutoff IS NULL THEN false
                       WHEN coalesce(digits COLLATE "C" >= cutoff COLLATE "C", true) THEN false
                       WHEN NOT ({_MATCHES}) THEN false
                       ELSE {_IS_DATE} END AS is_expired,
                   greatest(floor, (bytes - 1) / target + 1) AS files_after,
                   CASE WHEN analyzed THEN CASE WHEN {_ACCURACY} LIKE '{{%}}' THEN {_ACCURACY} ELSE '' END END
                       AS accuracy
            FROM (SELECT *, CASE WHEN cutoff IS NOT NULL THEN {_DIGITS} END AS digits
                  FROM {with_figures(query)} AS figures) AS dated OFFSET 0
        ) AS expiring OFFSET 0
    )"""  # noqa: S608 - the query and constants


_ACCURACY: Final = f"translate(parameters ->> 'COLUMN_STATS_ACCURATE', {_SPACES}, '')"
_TEXT: Final = "(parameters ->> 'transient_lastDdlTime')"
_WRITTEN: Final = (
    f"CASE WHEN length({_TEXT}) BETWEEN 1 AND 12 AND translate({_TEXT}, '0123456789', '') = '' "
    f"THEN {_TEXT}::bigint ELSE 0 END"
)
"""When a partition was last written or altered: seconds since 1970. Hive and Spark set the parameter."""
_DIGITS: Final = " || ".join(
    f"coalesce(CASE WHEN widths[{part}] = 0 THEN lpad(values[columns[{part}]], 2, '0') "
    f"ELSE substr(values[columns[{part}]], starts[{part}], widths[{part}]) END, '')"
    for part in range(1, _MOST_PARTS + 1)
)
_MATCHES: Final = " AND ".join(
    f"coalesce(values[pattern_columns[{part}]] ~ patterns[{part}], true)" for part in range(1, _MOST_PARTS + 1)
)
# PostgreSQL raises an error for a day that does not exist: the day is compared with the last one of its month.
_IS_DATE: Final = """CASE
    WHEN digits < '0001' THEN false
    WHEN length(digits) = 4 THEN true
    WHEN substr(digits, 5, 2) NOT BETWEEN '01' AND '12' THEN false
    WHEN length(digits) = 6 THEN true
    WHEN substr(digits, 9, 2) > '23' OR substr(digits, 7, 2) = '00' THEN false
    ELSE substr(digits, 7, 2)::int <= extract(day FROM
        make_date(substr(digits, 1, 4)::int, substr(digits, 5, 2)::int, 1) + interval '1 month - 1 day') END"""


def care_sums() -> str:
    """Returns the SQL expressions of FIGURES over the rows of `judged`."""

    def counted(condition: str) -> str:
        return f"count(*) FILTER (WHERE {condition})"

    def summed(figure: str, condition: str) -> str:
        return f"coalesce({capped_sum(f'CASE WHEN {condition} THEN {figure} END')}, 0)"

    expressions = {
        "partitions": "count(*)",
        "empty": counted("is_empty AND NOT is_expired"),
        "uncounted": counted(UNCOUNTED),
        "unanalyzed": counted(f"{UNANALYZED} OR is_outdated"),
        "compact_partitions": counted("is_compact"),
        "compact_files": summed("files", "is_compact"),
        "compact_files_after": summed("files_after", "is_compact"),
        "compact_bytes": summed("bytes", "is_compact"),
        "expired_partitions": counted("is_expired"),
        "expired_files": summed("files", "is_expired"),
        "expired_bytes": summed("bytes", "is_expired"),
    }
    return ", ".join(f"{expressions[name]} AS {name}" for name in FIGURES)
