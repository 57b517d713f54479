"""What was dropped, truncated or overwritten, and can be taken back until its time is over (schema.drops).

Every method is a constant number of statements, however many partitions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection, text

from metastore.domain.keys import sort_key
from metastore.domain.names import TableName
from metastore.storage.postgres.arrays import array_literal, number_array_literal
from metastore.storage.postgres.driver import Prepared
from metastore.storage.postgres.listener import CHANNEL
from metastore.storage.queries.owner import owner
from metastore.storage.references import TableRef
from metastore.storage.schema import TABLE_ITSELF

DATABASE: Final = "database"
TABLE: Final = "table"
PARTITIONS: Final = "partitions"
TRUNCATED: Final = "truncated"
OVERWRITTEN: Final = "overwritten"


class Drop(NamedTuple):
    """What one call dropped, truncated or overwrote. `name`: empty of a database; `table_id`: of a table that stays."""

    id: int
    kind: str
    catalog: str
    database: str
    name: str
    table_id: int | None
    partitions: int
    dropped_at: datetime
    kept_until: datetime
    dropped_by: str | None
    dropped_from: str | None


class DroppedTable(NamedTuple):
    """A dropped table."""

    id: int
    name: str


_COLUMNS = ", ".join(Drop._fields)
_OWN = '"values", keys, location, create_time, last_access_time, parameters, descriptor_id, version, encoded'
_BEGIN = Prepared(
    "begin_drop",
    text("""
        INSERT INTO drops
            (kind, catalog, database, name, table_id, partitions, dropped_at, kept_until, dropped_by, dropped_from)
        VALUES (:kind, :catalog, :database, :name, :table_id, :partitions, now(), now() + cast(:period AS interval),
            :by, :from)
        RETURNING id
    """),
)
_FIND = text(f"""
    SELECT {_COLUMNS} FROM drops WHERE catalog = :catalog AND kept_until > now()
        AND (cast(:database AS text) IS NULL OR database = :database OR table_id = :table_id)
        AND (cast(:name AS text) IS NULL OR name = :name OR table_id = :table_id)
    ORDER BY id DESC
""")  # noqa: S608 - only constants of this module
_OVER = text("SELECT id FROM drops WHERE kept_until <= now() ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
_LOCK = text("SELECT id FROM drops WHERE id = :id AND kept_until > now() FOR UPDATE")

# Its database is what all queries find a table by. Writes under way are of no use any more: their files are removed
# when the table is back, or gone.
_HIDE = Prepared(
    "hide_table",
    text("""
        WITH kept AS (
            INSERT INTO dropped_tables (table_id, drop_id, database_id)
            SELECT id, :drop_id, database_id FROM tables WHERE id = :table_id
        ), ended AS (
            UPDATE open_writes SET aborted_at = now(), lease_ends_at = now()
            WHERE table_id = :table_id AND aborted_at IS NULL
        )
        UPDATE tables SET database_id = NULL WHERE id = :table_id
    """),
)
_FORGET_DEPENDENTS = (
    text("""
        DELETE FROM table_dependencies AS d USING tables AS t
        WHERE t.id = d.dependent_id AND t.database_id IS NULL AND d.base_id = :table_id
    """),
    text("""
        DELETE FROM materialized_view_sources AS s USING tables AS t
        WHERE t.id = s.view_id AND t.database_id IS NULL AND s.source_id = :table_id
    """),
)
# A database of the same name may have come instead of the table's.
_SHOW = text("""
    WITH back AS (
        DELETE FROM dropped_tables WHERE drop_id = :drop_id AND table_id = ANY (cast(:ids AS bigint[]))
        RETURNING table_id, database_id
    )
    UPDATE tables SET name = CASE WHEN id = :renamed THEN :name ELSE name END,
        database_id = coalesce((SELECT d.id FROM databases AS d WHERE d.id = back.database_id), :database_id)
    FROM back WHERE tables.id = back.table_id
""")
_OF_HIDDEN = text(f"""
    SELECT {", ".join(f"drops.{column}" for column in Drop._fields)}
    FROM drops JOIN dropped_tables AS d ON d.drop_id = drops.id JOIN tables AS t ON t.id = d.table_id
    LEFT JOIN databases ON databases.id = d.database_id
    WHERE drops.catalog = :catalog AND kept_until > now() AND t.name = :name
        AND coalesce(databases.name, drops.database) = :database
    ORDER BY drops.id DESC
""")  # noqa: S608 - only constants of this module
_KEEP_PARTITIONS = text(
    """
    INSERT INTO dropped_partitions (drop_id, {own})
    SELECT :drop_id, {own} FROM partitions WHERE table_id = :table_id AND id = ANY (cast(:ids AS bigint[]))
""".replace("{own}", f"id, name, {_OWN}")
)
_KEEP_TABLE = text("""
    INSERT INTO dropped_rows (drop_id, relation, content)
    SELECT :drop_id, 'tables', to_jsonb(t) FROM tables AS t WHERE id = :table_id
""")
_KEEP_STATISTICS = text("""
    INSERT INTO dropped_rows (drop_id, relation, partition_id, content)
    SELECT :drop_id, 'column_statistics', partition_id, to_jsonb(s) FROM column_statistics AS s
    WHERE table_id = :table_id AND partition_id = ANY (cast(:ids AS bigint[]))
""")
_TAKEN = text("""
    SELECT d.name FROM dropped_partitions AS d JOIN partitions AS p ON p.table_id = :table_id AND p.name = d.name
    WHERE d.drop_id = :drop_id AND (cast(:names AS text[]) IS NULL OR d.name = ANY (cast(:names AS text[])))
    ORDER BY d.name LIMIT 1
""")
_FORGET_PARTITIONS = text(
    "DELETE FROM dropped_partitions WHERE drop_id = :drop_id AND id = ANY (cast(:ids AS bigint[]))"
)
_HIDDEN = text("""
    SELECT t.id, t.name FROM dropped_tables AS d JOIN tables AS t ON t.id = d.table_id
    WHERE d.drop_id = :drop_id ORDER BY t.name
""")
_HIDDEN_IDS = text("""
    SELECT drops.catalog, d.table_id FROM drops JOIN dropped_tables AS d ON d.drop_id = drops.id
    WHERE drops.id = :drop_id
""")
_MISSING_BASES = text("""
    SELECT b.name FROM table_dependencies AS e JOIN tables AS b ON b.id = e.base_id
    WHERE e.dependent_id = ANY (cast(:ids AS bigint[])) AND b.database_id IS NULL
        AND b.id <> ALL (cast(:ids AS bigint[]))
""")
# With what was kept of a table that goes; only dropped tables can depend on it.
# As arrays, of which it asks indexes: it does not look at each partition that there is.
_OF_TABLES = "ANY (ARRAY(SELECT table_id FROM dropped_tables WHERE drop_id = :id))"
_ALL_OF = f"ANY (ARRAY(SELECT id FROM drops WHERE id = :id OR table_id = {_OF_TABLES}))"  # noqa: S608 - constants
_PURGE = tuple(
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

# In no order, which would be sorted on disk: the table is locked, so that nobody else adds the same names.
_CHOSEN = """drop_id = :drop_id AND (cast(:names AS text[]) IS NULL OR name = ANY (cast(:names AS text[])))"""
_RESTORE = text(f"""
    WITH owner AS MATERIALIZED ({owner(":table_id")})
    INSERT INTO partitions (table_id, id, name, {_OWN}) OVERRIDING SYSTEM VALUE
    SELECT table_id, id, name, {_OWN} FROM owner, dropped_partitions WHERE {_CHOSEN};
    SELECT pg_notify('{CHANNEL}', '')
""")  # noqa: S608 - only constants of this module
_RESTORED = text(f"DELETE FROM dropped_partitions WHERE {_CHOSEN} RETURNING id")  # noqa: S608 - constants
# Its rows, which may be many, go when it is purged. Files of it that have not come back are nobody's.
_END = text("""
    UPDATE file_operations SET drop_id = NULL WHERE drop_id = :id;
    UPDATE drops SET kept_until = '-infinity' WHERE id = :id
""")
_VALUES = text("""
    SELECT drop_id, p.id, "values" FROM dropped_partitions AS p JOIN drops ON drops.id = drop_id
    WHERE table_id = :table_id
""")
_RETYPE = text("""
    UPDATE dropped_partitions AS p SET keys = new.keys::text[]
    FROM unnest(cast(:drops AS bigint[]), cast(:ids AS bigint[]), cast(:keys AS text[])) AS new(drop_id, id, keys)
    WHERE p.drop_id = new.drop_id AND p.id = new.id
""")
_LEFT = text("""
    UPDATE drops SET partitions = (SELECT count(*) FROM dropped_partitions WHERE drop_id = :drop_id)
    WHERE id = :drop_id RETURNING partitions
""")
_NAMES = text("""
    SELECT name FROM dropped_partitions WHERE drop_id = :drop_id AND starts_with(name || '/', :beginning) ORDER BY name
""")

# Rows go back as they were, but for those of a dependency that is there no more.
_RELATIONS: Final = {
    "databases": "",
    "functions": "",
    "skewed_locations": "",
    "column_statistics": "",
    "privileges": "",
    "partition_dependencies": """ WHERE EXISTS (SELECT FROM table_dependencies AS d
        WHERE d.dependent_id = back.dependent_id AND d.base_id = back.base_id)""",
}
_ROWS_BACK = {
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
_KEEP_DATABASE = {
    relation: text(f"""
        INSERT INTO dropped_rows (drop_id, relation, content)
        SELECT :drop_id, '{relation}', to_jsonb(r) FROM {relation} AS r WHERE r.{column} = :database_id
    """)  # noqa: S608 - only constants of this module
    for relation, column in {"databases": "id", "functions": "database_id", "privileges": "database_id"}.items()
}


class Drops:
    """Queries on what can be taken back."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(
        self,
        kind: str,
        name: TableName,
        period: timedelta,
        caller: tuple[str | None, str | None],
        *,
        table_id: int | None = None,
        partitions: int = 0,
    ) -> int:
        """Something is dropped with this transaction, by this user from this address; returns the drop's number."""
        given = {"kind": kind, "catalog": name.catalog, "database": name.database, "name": name.name}
        more = {"table_id": table_id, "partitions": partitions, "period": period, "by": caller[0], "from": caller[1]}
        number: int = _BEGIN.rows(self._connection, **given, **more)[0][0]
        return number

    def find(
        self, catalog: str, database: str | None = None, name: str | None = None, table_id: int | None = None
    ) -> list[Drop]:
        """Lists what can be taken back of a catalog, a database or a table (a database itself: the empty name), the
        newest first; also of the table of this id, whatever it was called then."""
        given = {"catalog": catalog, "database": database, "name": name, "table_id": table_id}
        return [Drop(*row) for row in self._connection.execute(_FIND, given)]

    def lock(self, drop_id: int) -> bool:
        """Nobody else takes it back, or purges it, before this transaction ends; false where somebody has."""
        return self._connection.execute(_LOCK, {"id": drop_id}).one_or_none() is not None

    def lock_expired(self) -> int | None:
        """Locks one whose time is over, and that nobody is at; or None."""
        number: int | None = self._connection.execute(_OVER).scalar()
        return number

    def purge(self, drop_id: int) -> None:
        """Forgets it with all that was kept for it; its files are due from the commit on."""
        for statement in _PURGE:
            self._connection.execute(statement, {"id": drop_id})

    def hide_table(self, drop_id: int, table_id: int) -> None:
        """Drops a table: it is kept with all that belongs to it, and no query finds it."""
        _HIDE.rows(self._connection, drop_id=drop_id, table_id=table_id)

    def forget_dependents(self, table_id: int) -> None:
        """Forgets, with a table that is dropped for good, that what was dropped before depends on it."""
        for statement in _FORGET_DEPENDENTS:
            self._connection.execute(statement, {"table_id": table_id})

    def tables(self, drop_id: int) -> list[DroppedTable]:
        """Returns the tables of a drop."""
        return [DroppedTable(*row) for row in self._connection.execute(_HIDDEN, {"drop_id": drop_id})]

    def table_ids(self, drop_id: int) -> list[tuple[str, int]]:
        """Returns the catalog and the id of each table of a drop."""
        return [(row[0], row[1]) for row in self._connection.execute(_HIDDEN_IDS, {"drop_id": drop_id})]

    def missing_bases(self, ids: Sequence[int]) -> list[str]:
        """Names the dropped tables on which these tables depend, and which do not come back with them."""
        return list(self._connection.execute(_MISSING_BASES, {"ids": list(ids)}).scalars())

    def of_table_name(self, name: TableName) -> list[Drop]:
        """Lists the drops with which a table of this name went, the newest first."""
        given = {"catalog": name.catalog, "database": name.database, "name": name.name}
        return [Drop(*row) for row in self._connection.execute(_OF_HIDDEN, given)]

    def restore_tables(self, drop_id: int, ids: Sequence[int], database_id: int, renamed: int, name: str) -> None:
        """Tables of a drop are back, in their database or, where that is gone, in this one; one gets another name.

        Raises AlreadyExistsError where a name is taken.
        """
        given = {"drop_id": drop_id, "ids": list(ids), "database_id": database_id, "renamed": renamed, "name": name}
        self._connection.execute(_SHOW, given)

    def save_copies(self, drop_id: int, table_id: int, partition_ids: Sequence[int] | None) -> None:
        """Copies partitions or (None) a table, before they are changed, with their statistics."""
        ids = [TABLE_ITSELF] if partition_ids is None else partition_ids
        given = {"drop_id": drop_id, "table_id": table_id, "ids": number_array_literal(ids)}
        self._connection.execute(_KEEP_TABLE if partition_ids is None else _KEEP_PARTITIONS, given)
        self._connection.execute(_KEEP_STATISTICS, given)

    def restore_statistics(self, drop_id: int, exact: Sequence[int], ids: Sequence[int]) -> None:
        """Statistics of these partitions, or of the table itself, are as they were; those of `ids` are done with."""
        self._connection.execute(
            _ROWS_BACK["column_statistics"], {"drop_id": drop_id, "ids": number_array_literal(exact)}
        )
        self._connection.execute(_FORGET_PARTITIONS, {"drop_id": drop_id, "ids": number_array_literal(ids)})

    def keep_database(self, drop_id: int, database_id: int) -> None:
        """Copies a database, its functions and privileges, which are about to be deleted."""
        for statement in _KEEP_DATABASE.values():
            self._connection.execute(statement, {"drop_id": drop_id, "database_id": database_id})

    def restore_database(self, drop_id: int) -> None:
        """Brings back a database, without its tables. Of its functions and privileges, what is there again stays.

        Raises AlreadyExistsError where its name is taken.
        """
        for relation in _KEEP_DATABASE:
            self._connection.execute(_ROWS_BACK[relation], {"drop_id": drop_id, "ids": None})

    def partition_names(self, drop_id: int, beginning: str = "") -> list[str]:
        """Lists the partitions of a drop whose names, with a slash behind them, begin so."""
        return list(self._connection.execute(_NAMES, {"drop_id": drop_id, "beginning": beginning}).scalars())

    def find_taken_name(self, drop_id: int, table_id: int, names: Sequence[str] | None) -> str | None:
        """Returns the first partition of a drop, or of those named, whose name another one has now."""
        given = {"drop_id": drop_id, "table_id": table_id, "names": None if names is None else array_literal(names)}
        name: str | None = self._connection.execute(_TAKEN, given).scalar()
        return name

    def restore_partitions(self, drop_id: int, table_id: int, names: Sequence[str] | None) -> None:
        """Partitions are back, all of a drop (which `end` ends) or those named, with what belonged to them.

        Raises AlreadyExistsError where one of the names is taken.
        """
        given = {"drop_id": drop_id, "table_id": table_id, "names": None if names is None else array_literal(names)}
        self._connection.execute(_RESTORE, given)
        ids = None if names is None else self._connection.execute(_RESTORED, given).scalars()
        only = None if ids is None else number_array_literal(ids)
        for relation in ("skewed_locations", "column_statistics", "privileges", "partition_dependencies"):
            self._connection.execute(_ROWS_BACK[relation], {"drop_id": drop_id, "ids": only})

    def retype(self, table: TableRef) -> None:
        """Gives the partitions that were dropped of a table the sort keys of the types that its keys have now."""
        rows = self._connection.execute(_VALUES, {"table_id": table.id}).all()
        keys = [array_literal(list(map(sort_key, table.key_kinds, values))) for _, _, values in rows]
        given = {"drops": [row[0] for row in rows], "ids": [row[1] for row in rows], "keys": keys}
        self._connection.execute(_RETYPE, given)

    def update_remaining(self, drop_id: int) -> int:
        """Counts the partitions that did not come back yet."""
        count: int = self._connection.execute(_LEFT, {"drop_id": drop_id}).scalar_one()
        return count

    def finish(self, drop_id: int) -> None:
        """Ends the drop: all of it is back."""
        self._connection.execute(_END, {"id": drop_id})
