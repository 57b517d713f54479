"""Dependencies of dependent tables and their partitions. Base partitions are not stored but looked up on each call.

Every method executes one or two statements, regardless of the number of tables and partitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import text

from metastore.domain.dependencies import FRESH, INCOMPLETE, STALE, Source
from metastore.domain.names import DatabaseName
from metastore.storage.postgres.arrays import array_literal
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.dependency_states import EVALUATED, state
from metastore.storage.queries.repository import Repository
from metastore.storage.references import TableRef


class TableEdge(NamedTuple):
    """A table that depends on another. `partitions`: how many of its partitions depend on that table now."""

    dependent_id: int
    base_id: int
    database: str
    table: str
    base_database: str
    base_table: str
    current: bool
    partitions: int

    @property
    def used(self) -> bool:
        """Returns whether the dependent table still needs the base."""
        return self.current or self.partitions > 0


class PartitionEdge(NamedTuple):
    """A dependent partition and its base partitions: all partitions of the base table that start with its values.

    `unchanged`: none of them was changed, added or dropped since the publication. `base_names` is None and
    `base_partition_ids` empty if there are none, or if the query does not ask for names.
    """

    partition_id: int
    dependent_id: int
    database: str
    table: str
    name: str
    values: list[str]
    keys: list[str | None]
    version: int
    base_database: str
    base_table: str
    base_names: list[str] | None
    total: int
    unchanged: bool
    base_partition_ids: list[int]


class Spec(NamedTuple):
    """Selects the partitions of a table whose values start with `values`; all partitions if it is empty."""

    table_id: int
    values: Sequence[str]
    keys: Sequence[str | None]


_NAMES = """
    array_agg(r.name ORDER BY r.name) FILTER (WHERE r.table_id = w.base_id) AS names,
    array_agg(r.id) FILTER (WHERE r.table_id = w.base_id) AS ids
"""
_NO_NAMES = "NULL::text[] AS names, NULL::bigint[] AS ids"
# The digest after the versions of the changed partitions have risen by one.
_NEXT = """
    sha256(convert_to(coalesce(string_agg(r.id || ':' || r.version
        + (r.table_id = :table_id AND (:all OR r.id = ANY(cast(:changed AS bigint[]))))::int, ',' ORDER BY r.id), ''),
        'UTF8')) AS next
"""


def _edges(query: str, columns: str) -> Any:
    return text(f"""
        WITH RECURSIVE chosen AS ({query}), {EVALUATED.format(columns=columns)}
        SELECT d.partition_id, d.dependent_id, dd.name AS database, dt.name AS table, p.name, d."values", d.keys,
               p.version, bd.name AS base_database, bt.name AS base_table, e.names AS base_names, e.total,
               coalesce(e.digest = d.digest, false) AS unchanged,
               coalesce(e.ids, cast('{{}}' AS bigint[])) AS base_partition_ids
        FROM numbered AS d
        JOIN evaluated AS e ON e.spec = d.spec
        JOIN partitions AS p ON p.id = d.partition_id
        JOIN tables AS dt ON dt.id = d.dependent_id JOIN databases AS dd ON dd.id = dt.database_id
        JOIN tables AS bt ON bt.id = d.base_id JOIN databases AS bd ON bd.id = bt.database_id
        ORDER BY database, "table", p.name
    """)  # noqa: S608 - only constants of this module


# One array for each field of the specifications; the inner arrays are array literals.
_SPECS = """
    unnest(cast(:table_id AS bigint[]), cast(:values AS text[]), cast(:keys AS text[])) AS raw(table_id, v, k)
    CROSS JOIN LATERAL (SELECT raw.v::text[] AS "values", raw.k::text[] COLLATE "C" AS keys) AS s
"""
_IDS = "SELECT unnest(cast(:ids AS bigint[])) AS partition_id"
# The length of the shorter list. Two lists overlap if they are equal up to this length.
_BOTH = "least(cardinality(s.keys), cardinality(d.keys))"
_OVERLAPPING = f"""
    SELECT d.partition_id FROM {_SPECS} JOIN partition_dependencies AS d
        ON d.{{table}} = raw.table_id AND cardinality(s.keys) = 0
    UNION
    SELECT d.partition_id FROM {_SPECS} JOIN partition_dependencies AS d
        ON d.{{table}} = raw.table_id AND d.keys[1] = s.keys[1] AND d.keys[1:{_BOTH}] = s.keys[1:{_BOTH}]
        AND (array_position(s.keys, NULL) IS NULL OR d."values"[1:{_BOTH}] = s."values"[1:{_BOTH}])
    UNION
    SELECT d.partition_id FROM {_SPECS} JOIN partition_dependencies AS d
        ON d.{{table}} = raw.table_id AND cardinality(s.keys) > 0 AND s.keys[1] IS NULL AND d.keys[1] IS NULL
        AND d."values"[1:{_BOTH}] = s."values"[1:{_BOTH}]
"""  # noqa: S608 - only constants of this module
_OF_PARTITIONS = _edges(_IDS, _NAMES)
_ABOVE = _edges(_OVERLAPPING.format(table="dependent_id"), _NAMES)
_BELOW = _edges(_OVERLAPPING.format(table="base_id"), _NAMES)
_BELOW_WITHOUT_NAMES = _edges(_OVERLAPPING.format(table="base_id"), _NO_NAMES)

_PUBLISH = text(f"""
    WITH RECURSIVE chosen AS ({_IDS}), {EVALUATED.format(columns=_NO_NAMES)}
    UPDATE partition_dependencies AS d SET digest = e.digest
    FROM numbered AS n JOIN evaluated AS e ON e.spec = n.spec WHERE d.partition_id = n.partition_id
""")  # noqa: S608 - only constants of this module

# One statement, so that a concurrent change of another base partition still makes the partition stale.
_KEEP_FRESH = text(f"""
    WITH RECURSIVE chosen AS ({_IDS}), {EVALUATED.format(columns=_NEXT)}
    UPDATE partition_dependencies AS d SET digest = e.next
    FROM numbered AS n JOIN evaluated AS e ON e.spec = n.spec
    WHERE d.partition_id = n.partition_id AND d.digest = e.digest
""")  # noqa: S608 - only constants of this module

# Counts fresh, stale and incomplete (without any base partition) dependent partitions, and the seconds since the first
# change that a stale one lacks. If the changed partition is gone, its own publication counts.
_CHANGED = "greatest(0, substring({0}.parameters ->> 'transient_lastDdlTime' FROM '^[0-9]{{1,15}}$')::bigint)"
STATES = f"""
    WITH RECURSIVE chosen AS (
        SELECT d.partition_id FROM partition_dependencies AS d JOIN tables AS t ON t.id = d.dependent_id
        WHERE t.database_id IS NOT NULL
    ),
    {EVALUATED.format(columns="NULL::bigint AS none")},
    judged AS (
        SELECT n.partition_id, n.spec, e.total, {state("n")} AS state
        FROM numbered AS n JOIN evaluated AS e ON e.spec = n.spec
    ),
    since AS (
        SELECT coalesce(
            min({_CHANGED.format("b")}) FILTER (WHERE {_CHANGED.format("b")} > {_CHANGED.format("p")}),
            {_CHANGED.format("p")}
        ) AS second
        FROM judged AS j JOIN partitions AS p ON p.id = j.partition_id
        LEFT JOIN reached AS r ON r.spec = j.spec LEFT JOIN partitions AS b ON b.id = r.id
        WHERE j.state = '{STALE}'
        GROUP BY p.id, p.parameters
    )
    SELECT count(*) FILTER (WHERE state = '{FRESH}'), count(*) FILTER (WHERE state = '{STALE}'),
           count(*) FILTER (WHERE state = '{INCOMPLETE}'), (SELECT extract(epoch FROM now()) - min(second) FROM since)
    FROM judged
"""  # noqa: S608 - only constants of this module

_USED = """(d.current OR EXISTS (
    SELECT FROM partition_dependencies AS p WHERE p.dependent_id = d.dependent_id AND p.base_id = d.base_id))"""
_REACHED_TABLES = """
    WITH RECURSIVE reached AS (
        SELECT unnest(cast(:ids AS bigint[])) AS id, 0 AS depth
        UNION
        SELECT d.{to}, r.depth + 1 FROM reached AS r JOIN table_dependencies AS d ON d.{of} = r.id
        WHERE :transitive
    ), nearest AS (SELECT id, max(depth) AS depth FROM reached GROUP BY id)
    SELECT d.dependent_id, d.base_id, dd.name, dt.name, bd.name, bt.name, d.current,
           (SELECT count(*) FROM partition_dependencies AS p
            WHERE p.dependent_id = d.dependent_id AND p.base_id = d.base_id)
    FROM nearest AS n JOIN table_dependencies AS d ON d.{of} = n.id
    JOIN tables AS dt ON dt.id = d.dependent_id JOIN databases AS dd ON dd.id = dt.database_id
    JOIN tables AS bt ON bt.id = d.base_id JOIN databases AS bd ON bd.id = bt.database_id
    ORDER BY n.depth, dd.name, dt.name, d.position
"""
_IS_USED = Prepared(
    "is_used",
    text("""
        SELECT EXISTS (SELECT FROM table_dependencies WHERE base_id = :table_id)
            OR EXISTS (SELECT FROM materialized_view_sources WHERE source_id = :table_id)
            OR EXISTS (SELECT FROM table_indexes WHERE table_id = :table_id)
            OR EXISTS (SELECT FROM table_indexes WHERE index_table_id = :table_id)
    """),
)
_UP = text(_REACHED_TABLES.format(of="dependent_id", to="base_id"))
_DOWN = text(_REACHED_TABLES.format(of="base_id", to="dependent_id"))


class Dependencies(Repository):
    """Queries on dependencies."""

    def is_used(self, table_id: int) -> bool:
        """Returns whether a table has dependents (also dropped ones), views or indexes, or stores an index."""
        return bool(_IS_USED.rows(self._connection, table_id=table_id)[0][0])

    def upwards(self, table_ids: Sequence[int], *, transitive: bool = False) -> list[TableEdge]:
        """Returns the bases of tables, the nearest first. The bases of one table are in the order of addition."""
        return self._table_edges(_UP, table_ids, transitive=transitive)

    def downwards(self, table_ids: Sequence[int], *, transitive: bool = False) -> list[TableEdge]:
        """Returns the dependents of tables: each one after all tables that it depends on itself."""
        return self._table_edges(_DOWN, table_ids, transitive=transitive)

    def _table_edges(self, query: Any, table_ids: Sequence[int], *, transitive: bool) -> list[TableEdge]:
        rows = self._connection.execute(query, {"ids": list(table_ids), "transitive": transitive})
        return [TableEdge(*row) for row in rows]

    def set_base(self, dependent_id: int, base_id: int) -> None:
        """Makes a table the current base of a dependent table: new partitions depend on it."""
        values = {"dependent_id": dependent_id, "base_id": base_id}
        self._connection.execute(
            text("UPDATE table_dependencies SET current = false WHERE dependent_id = :dependent_id AND current"), values
        )
        self.add_base(dependent_id, base_id, current=True)

    def add_base(self, dependent_id: int, base_id: int, *, current: bool) -> None:
        """Adds a base table. A known base keeps its position."""
        self._connection.execute(
            text("""
                INSERT INTO table_dependencies AS t (dependent_id, base_id, position, current)
                SELECT :dependent_id, :base_id, count(*), :current
                FROM table_dependencies WHERE dependent_id = :dependent_id
                ON CONFLICT (dependent_id, base_id) DO UPDATE SET current = t.current OR excluded.current
            """),
            {"dependent_id": dependent_id, "base_id": base_id, "current": current},
        )

    def remove_unused_bases(self, base_ids: Sequence[int]) -> list[int]:
        """Deletes dependencies on tables that no partition has any more. Returns ids of the dependent tables."""
        query = text(f"""
            DELETE FROM table_dependencies AS d WHERE base_id = ANY(:ids) AND NOT {_USED} RETURNING dependent_id
        """)  # noqa: S608 - only constants of this module
        return list(self._connection.execute(query, {"ids": list(base_ids)}).scalars())

    def publish(self, dependent: TableRef, base_id: int, partition_ids: Sequence[int]) -> None:
        """Makes partitions depend on the present versions of the base partitions that start with their values."""
        values = {"dependent_id": dependent.id, "base_id": base_id, "ids": list(partition_ids)}
        self._connection.execute(
            text("""
                INSERT INTO partition_dependencies (partition_id, dependent_id, base_id, "values", keys)
                SELECT id, table_id, :base_id, "values", keys FROM partitions
                WHERE table_id = :dependent_id AND id = ANY(cast(:ids AS bigint[]))
                ON CONFLICT (partition_id) DO UPDATE
                SET base_id = excluded.base_id, "values" = excluded."values", keys = excluded.keys
            """),
            values,
        )
        self._connection.execute(_PUBLISH, values)

    def keep_fresh(self, table_id: int, changed: Sequence[int] | None, dependent_partitions: Sequence[int]) -> None:
        """Keeps fresh dependent partitions fresh although the versions of base partitions are about to rise by one.

        `changed`: the locked base partitions, None for all partitions of the table.
        """
        values = {"table_id": table_id, "all": changed is None, "changed": list(changed or ())}
        self._connection.execute(_KEEP_FRESH, {**values, "ids": list(dependent_partitions)})

    def bases_of(self, partition_ids: Sequence[int]) -> dict[int, int]:
        """Returns the base table of each partition, by partition id."""
        query = text("SELECT partition_id, base_id FROM partition_dependencies WHERE partition_id = ANY(:ids)")
        return {row[0]: row[1] for row in self._connection.execute(query, {"ids": list(partition_ids)})}

    def lock(self, dependent_ids: Sequence[int]) -> None:
        """Locks dependent tables, by ascending id, against changes of their dependencies or texts."""
        query = text("SELECT id FROM tables WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE")
        self._connection.execute(query, {"ids": list(dependent_ids)})

    def serialise(self) -> None:
        """Serialises the adding of bases until the transaction ends: two concurrent additions could close a cycle."""
        self._connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('dependencies', 0))"))

    def sources(self, dependent_ids: Sequence[int]) -> dict[int, list[Source]]:
        """Returns the sources that each dependent table reads, in the order of their bases, the current base last."""
        query = text("""
            SELECT t.dependent_id, d.name, b.name,
                   coalesce((SELECT json_agg(p."values" ORDER BY p."values") FROM partition_dependencies AS p
                             WHERE p.dependent_id = t.dependent_id AND p.base_id = t.base_id), '[]') AS specs
            FROM table_dependencies AS t
            JOIN tables AS b ON b.id = t.base_id JOIN databases AS d ON d.id = b.database_id
            WHERE t.dependent_id = ANY(:ids)
            ORDER BY t.dependent_id, t.current, t.position
        """)
        sources: dict[int, list[Source]] = defaultdict(list)
        for dependent_id, *source in self._connection.execute(query, {"ids": list(dependent_ids)}):
            sources[dependent_id].append(Source(*source))
        return sources

    def edges(self, partition_ids: Sequence[int]) -> list[PartitionEdge]:
        """Returns the dependencies of these partitions, by name."""
        return self._edges(_OF_PARTITIONS, {"ids": list(partition_ids)})

    def edges_above(self, specs: Sequence[Spec]) -> list[PartitionEdge]:
        """Returns the dependencies of the dependent partitions that start with these values."""
        return self._edges(_ABOVE, _arrays(specs))

    def edges_below(self, specs: Sequence[Spec], *, named: bool) -> list[PartitionEdge]:
        """Returns the dependencies on partitions that start with these values.

        `named`: with names and ids of the base partitions.
        """
        return self._edges(_BELOW if named else _BELOW_WITHOUT_NAMES, _arrays(specs))

    def _edges(self, query: Any, values: dict[str, Any]) -> list[PartitionEdge]:
        return [PartitionEdge(*row) for row in self._connection.execute(query, values)]

    def outside(self, database_id: int) -> list[str]:
        """Lists dependent tables of other databases that depend on tables of this one, as database.table."""
        query = text("""
            SELECT DISTINCT dd.name || '.' || dt.name
            FROM tables AS b JOIN table_dependencies AS d ON d.base_id = b.id
            JOIN tables AS dt ON dt.id = d.dependent_id JOIN databases AS dd ON dd.id = dt.database_id
            WHERE b.database_id = :id AND dt.database_id <> :id ORDER BY 1
        """)
        return list(self._connection.execute(query, {"id": database_id}).scalars())

    def between(self, database: DatabaseName) -> list[tuple[str, str | None]]:
        """Returns the bases in a database, each with a dependent there, or None for a dependent in another database."""
        query = text(f"""
            SELECT DISTINCT b.name, CASE WHEN dt.database_id = b.database_id THEN dt.name END
            FROM databases JOIN tables AS b ON b.database_id = databases.id
            JOIN table_dependencies AS d ON d.base_id = b.id
            JOIN tables AS dt ON dt.id = d.dependent_id AND dt.database_id IS NOT NULL -- not dropped
            WHERE databases.catalog = :catalog AND databases.name = :database AND {_USED} ORDER BY 1, 2
        """)  # noqa: S608 - only constants of this module
        rows = self._connection.execute(query, {"catalog": database.catalog, "database": database.name})
        return [(base, dependent) for base, dependent in rows]


def _arrays(specs: Sequence[Spec]) -> dict[str, Any]:
    return {
        "table_id": [spec.table_id for spec in specs],
        "values": [array_literal(spec.values) for spec in specs],
        "keys": [array_literal(spec.keys) for spec in specs],
    }
