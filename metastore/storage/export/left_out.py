"""Objects of the catalog that an export to a version of Hive's schema leaves out."""

from __future__ import annotations

from typing import Final, NamedTuple

from metastore.storage.schema.statistics import IS_KNOWN

ALL: Final = ("2.3", "3.1", "4.0")
BEFORE_4: Final = ("2.3", "3.1")


class LeftOut(NamedTuple):
    """A kind of object, the query that counts it, and the versions of the schema that have no place for it."""

    what: str
    query: str
    versions: tuple[str, ...] = ALL


LEFT_OUT: Final = (
    LeftOut(
        "indexes of Hive 2",
        "SELECT count(*) FROM table_indexes i JOIN tables t ON t.id = i.table_id WHERE t.database_id IS NOT NULL",
        ("3.1", "4.0"),
    ),
    LeftOut("drops that can be undone", "SELECT count(*) FROM drops"),
    LeftOut("locks", "SELECT count(*) FROM locks"),
    LeftOut(
        "delegation tokens",
        "SELECT (SELECT count(*) FROM delegation_tokens) + (SELECT count(*) FROM issued_tokens)",
    ),
    LeftOut("master keys", "SELECT count(*) FROM master_keys"),
    LeftOut(
        "grants on a catalog, a location or a pattern of names",
        "SELECT count(*) FROM privileges WHERE scope IS NOT NULL AND privilege NOT LIKE 'DENY %'",
    ),
    LeftOut(
        "denied rights (the exported grants give more without them)",
        "SELECT count(*) FROM privileges WHERE privilege LIKE 'DENY %'",
    ),
    LeftOut(
        "dependencies between tables (their table parameters are exported)", "SELECT count(*) FROM table_dependencies"
    ),
    LeftOut("parameters of catalogs", "SELECT count(*) FROM catalogs WHERE parameters <> '{}'"),
    LeftOut(
        "column statistics of other engines",
        f"SELECT count(*) FROM column_statistics WHERE engine <> 'hive' AND {IS_KNOWN}",
        BEFORE_4,
    ),
    LeftOut(
        "managed locations of databases",
        """
        SELECT count(*) FROM databases WHERE hive.thrift_field(encoded, 10) IS NOT NULL
    """,
        BEFORE_4,
    ),
    LeftOut(
        "constraints other than keys", "SELECT count(*) FROM table_constraints WHERE kind NOT IN ('pk', 'fk')", ("2.3",)
    ),
    LeftOut("unfinished transactions", "SELECT count(*) FROM transactions WHERE state <> 'committed'", ("2.3",)),
    LeftOut("runtime statistics", "SELECT count(*) FROM runtime_statistics", ("2.3",)),
    LeftOut("sources of materialized views", "SELECT count(*) FROM materialized_view_sources", ("2.3",)),
    LeftOut(
        "write ids of tables in other catalogs",
        "SELECT count(*) FROM write_ids WHERE catalog <> 'hive'",
        ("3.1", "4.0"),
    ),
    LeftOut(
        "requested compactions",
        """
        SELECT count(*) FROM compactions WHERE state IN ('initiated', 'working', 'ready for cleaning')
    """,
        ("2.3",),
    ),
)
