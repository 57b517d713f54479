"""Tables with their policies of table care, and what these mean for their partitions. Each method is one statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import TextClause, text

from metastore.domain.care import CREATED_PERIOD, DISCOVER, PREFIX
from metastore.domain.care_rules import KINDS, Rule
from metastore.domain.names import TableName
from metastore.domain.scan_shapes import OPENED
from metastore.storage.queries.care_figures import (
    RULE_COLUMNS,
    RULES,
    UNANALYZED,
    UNCOUNTED,
    care_sums,
    judged,
    outdated,
    rules_text,
)
from metastore.storage.queries.parameter_figures import sums
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.scan_days import SINCE, TODAY
from metastore.storage.queries.visibility import Scope
from metastore.storage.references import TABLE_ITSELF

_DEPENDENTS: Final = 20  # names
_VIEWS: Final = "t.type NOT IN ('VIRTUAL_VIEW', 'MATERIALIZED_VIEW', 'INDEX_TABLE')"


def _policies(alias: str, extra: Sequence[str] = ()) -> str:
    named = ", ".join(f"'{name}'" for name in (DISCOVER, CREATED_PERIOD, *extra))
    return (
        "(SELECT coalesce(jsonb_object_agg(key, value), jsonb_build_object()) "  # noqa: S608 - constants
        f"FROM jsonb_each_text({alias}.parameters) WHERE starts_with(key, '{PREFIX}') OR key IN ({named}))"
    )


_DISCOVERED: Final = f"""AND t.type = 'EXTERNAL_TABLE' AND t.partition_keys <> '[]' AND lower(trim(coalesce(
    t.parameters ->> '{DISCOVER}', d.parameters ->> '{DISCOVER}', c.parameters ->> '{DISCOVER}'))) = 'true'"""
_COLUMNS: Final = f"""
    t.id, t.type = 'EXTERNAL_TABLE' AS external, t.partition_keys <> '[]' AS partitioned,
    (SELECT coalesce(jsonb_agg(k ->> 'name' ORDER BY n), '[]')
     FROM jsonb_array_elements(t.partition_keys) WITH ORDINALITY AS e(k, n)) AS keys,
    concat_ws(' ', f.input_format, f.serde_library) AS storage,
    {_policies("t", KINDS)} AS own, {_policies("d")} AS of_database, {_policies("c")} AS of_catalog,
    greatest(coalesce(f.bucket_count, 0), CASE WHEN f.stored_as_sub_directories
        THEN (SELECT count(*) FROM skew_values AS v WHERE v.skew_id = sd.skew_id) + 1 ELSE 0 END) AS floor
"""  # noqa: S608 - constants
_JOINS: Final = """
    JOIN databases AS d ON d.id = t.database_id JOIN catalogs AS c ON c.name = d.catalog
    JOIN storage_descriptors AS sd ON sd.id = t.descriptor_id JOIN storage_formats AS f ON f.id = sd.format_id
"""


def _last_day(condition: str) -> str:
    return f"(SELECT day FROM scan_records WHERE table_id = found.id AND {condition} ORDER BY day DESC LIMIT 1)"  # noqa: S608


_OF_BATCH: Final = text(f"""
    SELECT {_COLUMNS} FROM (
        SELECT * FROM tables WHERE id > :after AND database_id IS NOT NULL ORDER BY id LIMIT :limit
    ) AS t {_JOINS} WHERE {_VIEWS}
""")  # noqa: S608 - constants

# The tables with the most files to remove come first. Only their policies and dependents are read.
_TABLES: Final = f"""
    WITH found AS MATERIALIZED (
        SELECT t.id, t.database_id, count(*) OVER () AS total,
               coalesce(m.compact_files - m.compact_files_after + m.expired_files + m.empty + m.unanalyzed,
                        s.small_files, 1) AS weight
        FROM tables AS t JOIN databases AS d ON d.id = t.database_id JOIN catalogs AS c ON c.name = d.catalog
        LEFT JOIN table_sizes AS s ON s.table_id = t.id LEFT JOIN care_figures AS m ON m.table_id = t.id
        WHERE {_VIEWS} AND d.catalog = :catalog {{named}} {{discovered}} AND {{seen}}
        ORDER BY weight DESC, t.id LIMIT :limit
    )
    SELECT {_COLUMNS}, found.total, d.catalog, d.name AS database, t.name AS "table", t.version,
           s.partitions AS measured_partitions, s.rows, s.bytes, s.files, s.small_files, s.growth,
           (to_timestamp(t.create_time) AT TIME ZONE 'UTC')::date AS created, {TODAY} AS today, {SINCE} AS since,
           {_last_day("shape <> '" + OPENED + "'")} AS scanned, {_last_day("shape = '" + OPENED + "'")} AS opened,
           to_jsonb(m) || jsonb_build_object('at', extract(epoch FROM m.measured_at)::bigint) AS measured,
           (SELECT jsonb_agg(b.name) FROM (
               SELECT CASE WHEN {{named_to_caller}} THEN d.name || '.' || t.name END AS name
               FROM table_dependencies AS x JOIN tables AS t ON t.id = x.dependent_id
               JOIN databases AS d ON d.id = t.database_id
               WHERE x.base_id = found.id ORDER BY 1 LIMIT {_DEPENDENTS}) AS b) AS dependents
    FROM found JOIN tables AS t ON t.id = found.id {_JOINS}
    LEFT JOIN table_sizes AS s ON s.table_id = t.id LEFT JOIN care_figures AS m ON m.table_id = t.id
    ORDER BY found.weight DESC, found.id
"""  # noqa: S608 - constants

# The order makes PostgreSQL use the index. If one table has most partitions, it would read them all for each table.
_PARTITIONS: Final = f"""
    SELECT p.table_id, p.id AS partition_id, p.values, p.create_time, p.parameters, {RULE_COLUMNS}
    FROM rules AS r CROSS JOIN LATERAL (
        SELECT table_id, id, values, create_time, parameters FROM partitions WHERE table_id = r.table_id
        ORDER BY name LIMIT :most
    ) AS p
    UNION ALL
    SELECT t.id, {TABLE_ITSELF}, NULL::text[], t.create_time, t.parameters, {RULE_COLUMNS}
    FROM rules AS r JOIN tables AS t ON t.id = r.table_id WHERE t.partition_keys = '[]'
"""  # noqa: S608 - constants
_FIGURES: Final = text(f"""
    WITH rules AS MATERIALIZED ({RULES})
    SELECT table_id, {sums()}, {care_sums()} FROM {judged(_PARTITIONS)} AS p GROUP BY table_id
""")  # noqa: S608 - constants


# A partition is held if a partition of a dependent table depends on it: its values are the first ones of the partition.
_HELD: Final = """
    EXISTS (SELECT FROM partition_dependencies AS x WHERE x.base_id = chosen.table_id AND (
        x.keys[1] = chosen.keys[1] AND x.keys = chosen.keys[1:cardinality(x.keys)]
        OR chosen.keys[1] IS NULL AND x.values = chosen.values[1:cardinality(x.values)]))
"""
# The rows come in the order of the index, so that LIMIT ends the search.
_CHOSEN: Final = f"""
    WITH rules AS MATERIALIZED ({RULES})
    SELECT name, coalesce(values, '{{{{}}}}') AS values, version, files, bytes, files_after, {_HELD} AS held{{more}}
    FROM (
        SELECT * FROM {{judged}} AS j WHERE {{condition}} ORDER BY name LIMIT :limit
    ) AS chosen ORDER BY name
"""  # noqa: S608 - constants
_LISTED: Final = f"""
    SELECT p.table_id, p.id AS partition_id, p.name, p.keys, p.values, p.create_time, p.parameters, p.version,
           {RULE_COLUMNS}
    FROM partitions AS p JOIN rules AS r ON r.table_id = p.table_id
    WHERE p.table_id = :table AND p.name > :after ORDER BY p.name
"""  # noqa: S608 - constants
_LISTED_TABLE: Final = f"""
    SELECT t.id AS table_id, {TABLE_ITSELF} AS partition_id, t.name, NULL::text[] AS keys, NULL::text[] AS values,
           t.create_time, t.parameters, t.version, {RULE_COLUMNS}
    FROM tables AS t JOIN rules AS r ON r.table_id = t.id WHERE t.id = :table
"""  # noqa: S608 - constants
_UNCOUNTED: Final = f"({UNANALYZED} OR {UNCOUNTED})"
_COLUMNS_TO_COUNT: Final = f""",
    NOT {_UNCOUNTED} AS is_counted, CASE WHEN is_outdated THEN ARRAY(
        SELECT DISTINCT s.column_name {outdated("chosen")} ORDER BY s.column_name) END AS columns
"""


class ChosenPartition(NamedTuple):
    """A partition that table care would change. `files` and `bytes` are None if unknown; `held`: a partition of a
    dependent table depends on it.

    Of the kind STATISTICS: `is_counted`, its basic statistics are accurate; `columns`, whose stored statistics are
    outdated, None if there are none.
    """

    name: str
    values: list[str]
    version: int
    files: int | None
    bytes: int | None
    files_after: int
    held: bool
    is_counted: bool | None = None
    columns: list[str] | None = None


class Care(Repository):
    """Reads policies and what they mean."""

    def of_batch(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Returns the tables that `Sizes.measure` measures next: `id`, `keys`, `own`, `of_database` and `of_catalog`
        (parameters that are policies), and `floor`, the number of files that a partition has at least.
        """
        return self._dicts(_OF_BATCH, {"after": after, "limit": limit})

    def tables(
        self, target: TableName, limit: int, scope: Scope, dependents: Scope, *, discovered: bool = False
    ) -> list[dict[str, Any]]:
        """Returns the tables of a target in a scope, those with the most to do first, like `of_batch`.

        `target`: a table, without its name a database, and without both the catalog. `discovered`: only external
        tables whose partitions are discovered.

        Also returns their names, sizes, last measurement (`measured`, None if there is none), and `dependents`, the
        names of dependent tables (None for one outside the scope `dependents`). `total`: number of tables found.
        """
        names = {"catalog": target.catalog, "database": target.database, "table": target.name}
        return self._dicts(
            _tables(target, scope, dependents, discovered=discovered), {**names, "limit": limit, **scope.parameters}
        )

    def figures(self, rules: Iterable[tuple[Rule, Mapping[str, Any]]], most: int) -> dict[int, dict[str, Any]]:
        """Returns sums and figures of tables by their ids, from at most `most` partitions of each.

        A partitioned table that has no partitions has no entry.
        """
        rows = self._dicts(_FIGURES, {"rules": rules_text(rules), "most": most})
        return {row["table_id"]: row for row in rows}

    def expired(self, rule: Rule, after: str, limit: int) -> list[ChosenPartition]:
        """Returns at most `limit` expired partitions of a table, by name, that come after a name."""
        return self._chosen(_LISTED, "is_expired", rule, after, limit)

    def compactable(self, rule: Rule, after: str, limit: int, *, partitioned: bool) -> list[ChosenPartition]:
        """Returns at most `limit` partitions of a table that would be compacted, by name, that come after a name.

        Without partitions, the table is the only one, with the name of the table and no values.
        """
        return self._chosen(_LISTED if partitioned else _LISTED_TABLE, "is_compact", rule, after, limit)

    def uncounted(self, rule: Rule, after: str, limit: int, *, partitioned: bool) -> list[ChosenPartition]:
        """Returns at most `limit` partitions of a table without accurate statistics, as `compactable`.

        Statistics of columns count if somebody has stored them.
        """
        source, condition = (
            _LISTED if partitioned else _LISTED_TABLE,
            f"NOT is_expired AND ({_UNCOUNTED} OR is_outdated)",
        )
        return self._chosen(source, condition, rule, after, limit, _COLUMNS_TO_COUNT)

    def _chosen(
        self, source: str, condition: str, rule: Rule, after: str, limit: int, more: str = ""
    ) -> list[ChosenPartition]:
        query = text(_CHOSEN.format(judged=judged(source), condition=condition, more=more))
        values = {"rules": rules_text([(rule, {})]), "table": rule.table_id, "after": after, "limit": limit}
        return [ChosenPartition(**row) for row in self._dicts(query, values)]


def _tables(target: TableName, scope: Scope, dependents: Scope, *, discovered: bool) -> TextClause:
    named = (" AND d.name = :database" if target.database else "") + (" AND t.name = :table" if target.name else "")
    only = _DISCOVERED if discovered else ""
    return text(_TABLES.format(named=named, discovered=only, seen=scope.tables, named_to_caller=dependents.tables))
