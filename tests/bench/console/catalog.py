"""A big catalog: bulk-loaded, measured by the server's own service, with events, locks, writes and drops."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice, product
from typing import TypeVar

from sqlalchemy import Connection, text

from metastore.domain.names import DatabaseName, TableName
from metastore.services.entry.sizes import SizeService
from metastore.settings import Settings
from metastore.storage.importing.bulk_load import LoadedTable
from metastore.storage.importing.partition_texts import NewPartition, partition_texts
from metastore.storage.mapping.descriptors import Descriptor, complete, shared_part
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from migrations import runner
from thrift_idl.gen.hive_metastore.ttypes import (
    Catalog,
    Database,
    FieldSchema,
    Partition,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

OWNED, GRANTED, NOTHING, ADMIN = "owns_some", "reads_a_database", "sees_nothing", "root"
BIG, MONTHLY = "events_by_hour", "events_by_month"  # 60 % of all partitions; 18,000 partitions
_DATABASES = 100
_FIRST_DAY = date(2024, 1, 1)
_SHARED_SHARE = 5  # of 100 tables, so many are in the first database
_Item = TypeVar("_Item")
_WORDS = [
    a + b
    for a, b in product(
        ("air", "sale", "click", "user", "order", "price", "flight", "stock", "ship", "tax", "cost", "page", "item"),
        ("", "s", "_count", "_sum", "_date", "_id", "_name", "_kind", "_share", "_rank", "_code", "_city", "_hour"),
    )
]


_HISTORY = (
    """
    INSERT INTO catalog_sizes
    SELECT c.at - n * interval '1 day', c.databases, c.tables, c.partitions, c.rows, c.bytes - n * 1000000, c.files
    FROM catalog_sizes AS c, generate_series(1, 365) AS n
    """,
    """
    INSERT INTO table_size_history
    SELECT s.table_id, current_date - n, s.partitions, s.rows, s.bytes - n, s.files
    FROM table_sizes AS s, generate_series(1, 5) AS n
    """,
    "UPDATE table_sizes SET growth = table_id % 1000",
)


@dataclass(frozen=True)
class Size:
    """The numbers of tables and partitions."""

    tables: int = 100_000
    partitions: int = 1_000_000


def build(url: str, size: Size) -> None:
    """Fills an empty database."""
    runner.upgrade(url)
    store = Store(make_engine(Settings(), url), Settings())
    chance = random.Random(1)
    with store.transaction(audited=False) as work:
        work.catalogs.insert(Catalog("hive", "", "file:/w", 0, {}))
        work.bulk_load.insert_databases([_database(number) for number in range(_DATABASES)])
    with store.transaction(audited=False) as work:
        ids = work.bulk_load.database_ids([DatabaseName("hive", _name(number)) for number in range(_DATABASES)])
    loaded: dict[TableName, LoadedTable] = {}
    for numbers in _batches(range(size.tables), 5000):
        tables = [_table(number, chance) for number in numbers]
        with store.transaction(audited=False) as work:
            new = [(ids[DatabaseName("hive", table.dbName)], table) for table in tables]
            loaded |= work.bulk_load.insert_tables(new)
    _partitions(store, loaded, size.partitions)
    engine = make_engine(Settings(), url)
    with engine.begin() as connection:
        _activity(connection, size)
        _objects_of_writers(connection)
        connection.execute(text("UPDATE privileges_version SET version = version + 1"))
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("VACUUM ANALYZE"))
    _measure(store, engine.connect())


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def _name(number: int) -> str:
    return f"db_{number:03}"


def _database(number: int) -> Database:
    owner = OWNED if number == 7 else "somebody"
    return Database(
        _name(number),
        f"Data of team {number}",
        f"file:/w/{number}",
        {},
        ownerName=owner,
        ownerType=1,
        catalogName="hive",
        createTime=1_700_000_000,
    )


def _table(number: int, chance: random.Random) -> Table:
    database = 0 if number % 100 < _SHARED_SHARE else number % _DATABASES
    words = chance.choices(_WORDS, k=12)
    columns = [
        FieldSchema(
            f"{word}_{position}", "string", f"the {word.replace('_', ' ')} of row {number}" if position % 3 else None
        )
        for position, word in enumerate(words)
    ]
    if number in (0, 1):
        name, keys = (BIG, MONTHLY)[number], [FieldSchema(key, "string", None) for key in ("dt", "hour", "region")]
    else:
        name = f"{words[0]}_{words[1]}_{number}"
        keys = [FieldSchema("dt", "string", None)] if number % 3 == 0 else []
    sd = StorageDescriptor(
        columns,
        f"file:/w/{database}/{name}",
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        serdeInfo=SerDeInfo(None, "org.apache.hadoop.hive.ql.io.orc.OrcSerde", {}),
        numBuckets=-1,
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    parameters = {
        "comment": f"Table {number} of {words[2]}",
        "numRows": str(number),
        "numFiles": "3",
        "totalSize": str(chance.randrange(10**10)),
    }
    owner = OWNED if number % 5000 == 77 else f"owner_{number % 500}"
    return Table(
        name,
        _name(database),
        owner,
        1_700_000_000,
        0,
        0,
        sd,
        keys,
        parameters,
        None,
        None,
        "MANAGED_TABLE",
        catName="hive",
        ownerType=1,
    )


def _partitions(store: Store, loaded: dict[TableName, LoadedTable], count: int) -> None:
    big, monthly = TableName("hive", _name(0), BIG), TableName("hive", _name(0), MONTHLY)
    small = [name for name, table in loaded.items() if table.keys == ("dt",)]
    days = [(_FIRST_DAY + timedelta(number)).isoformat() for number in range(5000)]
    hourly = islice(product(days, map(str, range(24)), map(str, range(25))), count * 6 // 10)
    month = product((f"2025-03-{day:02}" for day in range(1, 31)), map(str, range(24)), map(str, range(25)))
    left = max(0, count - count * 6 // 10 - 18_000)
    rest = ((small[number % len(small)], (days[number // len(small)],)) for number in range(left))
    wanted: Iterator[tuple[TableName, tuple[str, ...]]] = (
        *((big, values) for values in hourly),
        *((monthly, values) for values in month),
        *rest,
    ).__iter__()
    shape = _shape()
    for some in _batches(wanted, 20_000):
        with store.transaction(audited=False) as work:
            by_table: dict[TableName, list[NewPartition]] = {}
            for name, values in sorted(some):
                by_table.setdefault(name, []).append(_partition(loaded[name], values, shape))
            work.bulk_load.insert_partitions(
                [partition_texts(loaded[name].id, loaded[name].kinds, new) for name, new in by_table.items()]
            )


def _shape() -> Descriptor:
    sd = StorageDescriptor(
        [FieldSchema("a", "string", None)],
        "",
        numBuckets=-1,
        bucketCols=[],
        sortCols=[],
        parameters={},
        serdeInfo=SerDeInfo(None, "x", {}),
    )
    complete(sd)
    return shared_part(sd)


def _partition(table: LoadedTable, values: Sequence[str], shape: Descriptor) -> NewPartition:
    name = "/".join(f"{key}={value}" for key, value in zip(table.keys, values, strict=True))
    sd = StorageDescriptor([], f"{table.location}/{name}", parameters={})
    complete(sd)
    created = int((date.fromisoformat(values[0]) - date(1970, 1, 1)).total_seconds()) + 90_000
    parameters = {"numRows": str(len(name)), "totalSize": str(len(name) * 10**6), "numFiles": "2"}
    partition = Partition(list(values), "", "", created, 0, sd, parameters, catName="hive")
    return NewPartition(name, partition, shape)


def _activity(connection: Connection, size: Size) -> None:
    """Adds events and locks."""
    run = connection.execute
    run(
        text("""
        INSERT INTO notification_log (event_id, event_time, event_type, catalog, database, table_name, message)
        SELECT n, 1700000000 + n, 'ALTER_TABLE', 'hive', d.name, t.name,
               '{"user":"somebody","filler":"' || repeat('x', 2000) || '"}'
        FROM generate_series(1, :events) AS n JOIN tables AS t ON t.id = (SELECT min(id) FROM tables) + n % :tables
        JOIN databases AS d ON d.id = t.database_id
    """),
        {"events": size.tables // 2, "tables": size.tables},
    )
    run(text("UPDATE notification_sequence SET last_event_id = (SELECT max(event_id) FROM notification_log)"))
    run(
        text("""
        WITH made AS (
            INSERT INTO locks (user_name, host_name, agent, acquired_at, heartbeat_at, heartbeat_count)
            SELECT 'somebody', 'host', 'agent', now(), now() + interval '9 hours', 0
            FROM generate_series(1, 1000) RETURNING id
        )
        INSERT INTO lock_components (lock_id, position, type, catalog, database, table_name)
        SELECT made.id, 0, 1, 'hive', d.name, t.name
        FROM made JOIN tables AS t ON t.id = (SELECT min(id) FROM tables) + made.id
        JOIN databases AS d ON d.id = t.database_id
    """)
    )


def _objects_of_writers(connection: Connection) -> None:
    """Adds writes in flight, drops and grants."""
    run = connection.execute
    run(
        text("""
        INSERT INTO open_writes (query_id, table_id, number, roots, lease_millis, lease_ends_at, swept, begun_at)
        SELECT 'write-' || n, (SELECT min(id) FROM tables) + n, 1, '{}', 1000, now() + interval '9 hours', false, now()
        FROM generate_series(1, 1000) AS n
    """)
    )
    run(
        text("""
        INSERT INTO drops (kind, catalog, database, name, partitions, dropped_at, kept_until, dropped_by)
        SELECT 'table', 'hive', 'db_0' || (n % 90 + 10), 't' || n, 0, now(), now() + interval '9 hours', 'somebody'
        FROM generate_series(1, 5000) AS n
    """)
    )
    run(
        text("""
        INSERT INTO privileges (object_type, database_id, principal_type, principal, privilege, grant_option,
                                create_time)
        SELECT 2, id, 1, :user, 'SELECT', false, 0 FROM databases WHERE name = 'db_033'
    """),
        {"user": GRANTED},
    )
    run(
        text("""
        INSERT INTO privileges (object_type, table_id, principal_type, principal, privilege, grant_option, create_time)
        SELECT 3, id, 1, :user, 'SELECT', false, 0 FROM tables WHERE id % 2000 = 0
    """),
        {"user": GRANTED},
    )


def _measure(store: Store, connection: Connection) -> None:
    """Measures all tables at once, as servers do in the background, and makes up the history of a year."""
    sizes = SizeService(store)
    due = text("""
        UPDATE metastore_properties SET value = json_build_array(value::json->0, 0, value::json->2)
        WHERE name = 'sizes'
    """)
    done = text("SELECT count(*) FROM catalog_sizes")
    with connection:
        while not connection.execute(done).scalar_one():
            sizes.measure()
            connection.execute(due)
            connection.commit()
        for statement in _HISTORY:
            connection.execute(text(statement))
        connection.commit()
