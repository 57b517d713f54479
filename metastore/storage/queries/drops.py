"""Statements on drops (`repositories.drops`)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from metastore.storage.postgres.driver import Prepared
from metastore.storage.postgres.listener import CHANNEL
from metastore.storage.queries.table_keys import owner

_COLUMNS = "id, kind, catalog, database, name, table_id, partitions, dropped_at, kept_until, dropped_by, dropped_from"
FIRST_NAMES: Final = """ARRAY(
    SELECT first.name FROM (SELECT name FROM dropped_partitions WHERE drop_id = {drop}.id LIMIT 3) AS first
    WHERE {drop}.partitions > 0 ORDER BY first.name
)"""
"""The names of the first partitions of a drop."""
_PARTITION_COLUMNS = (
    '"values", keys, location, create_time, last_access_time, parameters, descriptor_id, version, encoded'
)
BEGIN = Prepared(
    "begin_drop",
    text("""
        INSERT INTO drops
            (kind, catalog, database, name, table_id, partitions, dropped_at, kept_until, dropped_by, dropped_from)
        VALUES (:kind, :catalog, :database, :name, :table_id, :partitions, now(), now() + cast(:period AS interval),
            :by, :from)
        RETURNING id
    """),
)
OF_PRESENT_DATABASE: Final = """(
    EXISTS (SELECT FROM dropped_tables AS x
            WHERE (x.drop_id = {drop}.id OR x.table_id = {drop}.table_id) AND x.database_id = {database})
    OR EXISTS (SELECT FROM tables AS x WHERE x.id = {drop}.table_id AND x.database_id = {database})
)"""
"""The drops in the database that has the name now, and not in an earlier one of that name."""
_HOME: Final = "(SELECT d.id FROM databases AS d WHERE d.catalog = drops.catalog AND d.name = drops.database)"
FIND = text(f"""
    SELECT {_COLUMNS}, {FIRST_NAMES.format(drop="drops")} FROM drops WHERE catalog = :catalog AND kept_until > now()
        AND (cast(:everything AS boolean) OR dropped_by = :user
             OR {OF_PRESENT_DATABASE.format(drop="drops", database=_HOME)})
        AND (cast(:database AS text) IS NULL OR database = :database OR table_id = :table_id)
        AND (cast(:name AS text) IS NULL OR name = :name OR table_id = :table_id)
    ORDER BY id DESC
""")  # noqa: S608 - only constants of this module
LOCK_EXPIRED = text("SELECT id FROM drops WHERE kept_until <= now() ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
LOCK = text("SELECT id FROM drops WHERE id = :id AND kept_until > now() FOR UPDATE")

# All queries find a table through its database, so a table without one is hidden. Open writes are aborted; their files
# are removed once the table is restored or purged.
BEGIN = Prepared(
    "begin_drop",
    text("""
        WITH begun AS (
            INSERT INTO drops
                (kind, catalog, database, name, table_id, partitions, dropped_at, kept_until, dropped_by, dropped_from)
            VALUES (:kind, :catalog, :database, :name, :table_id, :partitions, now(), now() + cast(:period AS interval),
                :by, :from)
            RETURNING id
        ), kept AS (
            INSERT INTO dropped_tables (table_id, drop_id, database_id)
            SELECT tables.id, begun.id, database_id FROM tables, begun WHERE tables.id = ANY (cast(:hidden AS bigint[]))
        ), ended AS (
            UPDATE open_writes SET aborted_at = now(), lease_ends_at = now()
            WHERE table_id = ANY (cast(:hidden AS bigint[])) AND aborted_at IS NULL
        ), hidden AS (
            UPDATE tables SET database_id = NULL WHERE id = ANY (cast(:hidden AS bigint[]))
        )
        SELECT id FROM begun
    """),
)
FORGET_DEPENDENTS = (
    text("""
        DELETE FROM table_dependencies AS d USING tables AS t
        WHERE t.id = d.dependent_id AND t.database_id IS NULL AND d.base_id = :table_id
    """),
    text("""
        DELETE FROM materialized_view_sources AS s USING tables AS t
        WHERE t.id = s.view_id AND t.database_id IS NULL AND s.source_id = :table_id
    """),
)
# The old database may be gone, and another one of the same name may have replaced it.
RESTORE_TABLES = text("""
    WITH back AS (
        DELETE FROM dropped_tables WHERE drop_id = :drop_id AND table_id = ANY (cast(:ids AS bigint[]))
        RETURNING table_id, database_id
    )
    UPDATE tables SET name = CASE WHEN id = :renamed THEN :name ELSE name END,
        database_id = coalesce((SELECT d.id FROM databases AS d WHERE d.id = back.database_id), :database_id)
    FROM back WHERE tables.id = back.table_id
""")
OF_TABLE_NAME = text(f"""
    SELECT {", ".join(f"drops.{column}" for column in _COLUMNS.split(", "))}
    FROM drops JOIN dropped_tables AS d ON d.drop_id = drops.id JOIN tables AS t ON t.id = d.table_id
    LEFT JOIN databases ON databases.id = d.database_id
    WHERE drops.catalog = :catalog AND kept_until > now() AND t.name = :name
        AND coalesce(databases.name, drops.database) = :database
    ORDER BY drops.id DESC
""")  # noqa: S608 - only constants of this module
KEEP_PARTITIONS = text(
    """
    INSERT INTO dropped_partitions (drop_id, {own})
    SELECT :drop_id, {own} FROM partitions WHERE table_id = :table_id AND id = ANY (cast(:ids AS bigint[]))
""".replace("{own}", f"id, name, {_PARTITION_COLUMNS}")
)
KEEP_TABLE = text("""
    INSERT INTO dropped_rows (drop_id, relation, content)
    SELECT :drop_id, 'tables', to_jsonb(t) FROM tables AS t WHERE id = :table_id
""")
KEEP_STATISTICS = text("""
    INSERT INTO dropped_rows (drop_id, relation, partition_id, content)
    SELECT :drop_id, 'column_statistics', partition_id, to_jsonb(s) FROM column_statistics AS s
    WHERE table_id = :table_id AND partition_id = ANY (cast(:ids AS bigint[]))
""")
FIND_TAKEN = text("""
    SELECT d.name FROM dropped_partitions AS d JOIN partitions AS p ON p.table_id = :table_id AND p.name = d.name
    WHERE d.drop_id = :drop_id AND (cast(:names AS text[]) IS NULL OR d.name = ANY (cast(:names AS text[])))
    ORDER BY d.name LIMIT 1
""")
FORGET_PARTITIONS = text(
    "DELETE FROM dropped_partitions WHERE drop_id = :drop_id AND id = ANY (cast(:ids AS bigint[]))"
)
TABLES = text("""
    SELECT t.id, t.name FROM dropped_tables AS d JOIN tables AS t ON t.id = d.table_id
    WHERE d.drop_id = :drop_id ORDER BY t.name
""")
TABLE_IDS = text("""
    SELECT drops.catalog, d.table_id FROM drops JOIN dropped_tables AS d ON d.drop_id = drops.id
    WHERE drops.id = :drop_id
""")
MISSING_BASES = text("""
    SELECT b.name FROM table_dependencies AS e JOIN tables AS b ON b.id = e.base_id
    WHERE e.dependent_id = ANY (cast(:ids AS bigint[])) AND b.database_id IS NULL
        AND b.id <> ALL (cast(:ids AS bigint[]))
""")
# Includes drops of partitions of the tables. Only dropped tables can depend on them. The ids are arrays, so that
# PostgreSQL uses the indexes instead of a join that scans all partitions.
_OF_TABLES = "ANY (ARRAY(SELECT table_id FROM dropped_tables WHERE drop_id = :id))"
_ALL_OF = f"ANY (ARRAY(SELECT id FROM drops WHERE id = :id OR table_id = {_OF_TABLES}))"  # noqa: S608 - constants
PURGE = tuple(
    text(statement.format(tables=_OF_TABLES, drops=_ALL_OF))
    for statement in (
        "DELETE FROM table_dependencies WHERE base_id = {tables}",
        "DELETE FROM materialized_view_sources WHERE source_id = {tables}",
        "DELETE FROM partition_lists WHERE table_id = {tables}",
        "DELETE FROM dropped_partitions WHERE drop_id = {drops}",
        "DELETE FROM dropped_rows WHERE drop_id = {drops}",
        "DELETE FROM file_operations WHERE drop_id = {drops} AND kind = 'held'",
        "UPDATE file_operations SET lease_ends_at = NULL WHERE drop_id = {drops}",
        "DELETE FROM partitions WHERE table_id = {tables}",
        "DELETE FROM tables WHERE id = {tables}",
        "DELETE FROM drops WHERE id = :id",
    )
)

# Unordered: sorting would spill to disk. The lock on the table keeps other writers of the same names out, so that the
# order does not matter for deadlocks.
_SELECTED = """drop_id = :drop_id AND (cast(:names AS text[]) IS NULL OR name = ANY (cast(:names AS text[])))"""
RESTORE = text(f"""
    WITH owner AS MATERIALIZED ({owner(":table_id")})
    INSERT INTO partitions (table_id, id, name, {_PARTITION_COLUMNS}) OVERRIDING SYSTEM VALUE
    SELECT table_id, id, name, {_PARTITION_COLUMNS} FROM owner, dropped_partitions WHERE {_SELECTED};
    SELECT pg_notify('{CHANNEL}', '')
""")  # noqa: S608 - only constants of this module
RESTORED = text(f"DELETE FROM dropped_partitions WHERE {_SELECTED} RETURNING id")  # noqa: S608 - constants
# Files that were not restored lose their drop, and are removed by cleaning.
END = text("""
    UPDATE file_operations SET drop_id = NULL WHERE drop_id = :id;
    UPDATE drops SET kept_until = '-infinity' WHERE id = :id
""")
VALUES = text("""
    SELECT drop_id, p.id, "values" FROM dropped_partitions AS p JOIN drops ON drops.id = drop_id
    WHERE table_id = :table_id
""")
RETYPE = text("""
    UPDATE dropped_partitions AS p SET keys = new.keys::text[]
    FROM unnest(cast(:drops AS bigint[]), cast(:ids AS bigint[]), cast(:keys AS text[])) AS new(drop_id, id, keys)
    WHERE p.drop_id = new.drop_id AND p.id = new.id
""")
UPDATE_REMAINING = text("""
    UPDATE drops SET partitions = (SELECT count(*) FROM dropped_partitions WHERE drop_id = :drop_id)
    WHERE id = :drop_id RETURNING partitions
""")
NAMES = text("""
    SELECT name FROM dropped_partitions WHERE drop_id = :drop_id AND starts_with(name || '/', :beginning) ORDER BY name
""")

# Rows are restored unchanged. Dependencies on a table that no longer exists are left out.
_RELATIONS: Final = {
    "databases": "",
    "functions": "",
    "skewed_locations": "",
    "column_statistics": "",
    "privileges": "",
    "partition_dependencies": """ WHERE EXISTS (SELECT FROM table_dependencies AS d
        WHERE d.dependent_id = back.dependent_id AND d.base_id = back.base_id)""",
}
RESTORE_ROWS = {
    relation: text(f"""
        WITH gone AS (
            DELETE FROM dropped_rows WHERE drop_id = :drop_id AND relation = '{relation}'
                AND (cast(:ids AS bigint[]) IS NULL OR partition_id = ANY (cast(:ids AS bigint[])))
            RETURNING content
        ), back AS (
            SELECT row.* FROM gone, LATERAL jsonb_populate_record(NULL::{relation}, gone.content) AS row
        )
        INSERT INTO {relation} OVERRIDING SYSTEM VALUE SELECT * FROM back{condition}
        {"" if relation == "databases" else "ON CONFLICT DO NOTHING"}
    """)  # noqa: S608 - only constants of this module
    for relation, condition in _RELATIONS.items()
}
KEEP_DATABASE = {
    relation: text(f"""
        INSERT INTO dropped_rows (drop_id, relation, content)
        SELECT :drop_id, '{relation}', to_jsonb(r) FROM {relation} AS r WHERE r.{column} = :database_id
    """)  # noqa: S608 - only constants of this module
    for relation, column in {"databases": "id", "functions": "database_id", "privileges": "database_id"}.items()
}

OWNERS: Final = text("""
    SELECT owner, owner_type FROM tables
    WHERE id = :table_id OR (name = :table AND id IN (SELECT table_id FROM dropped_tables WHERE drop_id = :id))
    UNION ALL
    SELECT owner, owner_type FROM databases
    WHERE id IN (SELECT database_id FROM dropped_tables WHERE drop_id = :id
                 UNION ALL SELECT database_id FROM tables WHERE id = :table_id)
    UNION ALL
    SELECT content->>'owner', cast(content->>'owner_type' AS integer) FROM dropped_rows
    WHERE drop_id = :id AND relation = 'databases'
""")
"""The owners of a drop's table and of its database, which may be dropped, too.

A new database of the same name is another one: its owner has no right to what was dropped before.
"""
