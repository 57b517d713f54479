"""Writers at the source: each changes tables, partitions and databases at random, and reconnects if the source dies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from tests.fixtures.server import connected
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext, FieldSchema

KEEP = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
CASCADE = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true", "CASCADE": "true"})
TABLES, PARTITIONS, DATABASES = 12, 40, 3


class Writer(Thread):
    """One writer. `counts`: changes by kind that the source has accepted; `lost`: calls without a reply."""

    database_weight = 1.0
    """How often a database is dropped with all of its tables and created again. All weights together are 41."""

    def __init__(self, source: Any, seed: int, stopped: Event) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._random = random.Random(seed)
        self._stopped = stopped
        self.counts: Counter[str] = Counter()
        self.lost = 0

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                with connected(self._source) as client:
                    while not self._stopped.is_set():
                        self._change(client)
            except (TException, OSError, EOFError):
                self.lost += 1
                self._stopped.wait(0.2)

    def _change(self, client: Any) -> None:
        kinds: list[tuple[float, Callable[[Any, str, str], object]]] = [
            (4, self._create_table),
            (1, self._drop_table),
            (2, self._rename_table),
            (6, self._alter_table),
            (2, self._add_column),
            (10, self._add_partitions),
            (5, self._drop_partition),
            (8, self._alter_partition),
            (2, self._rename_partition),
            (self.database_weight, self._database),
        ]
        (change,) = self._random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        database = f"db{self._random.randrange(DATABASES)}"
        try:
            change(client, database, self._table())
            self.counts[change.__name__.strip("_")] += 1
        except TExceptionBase:
            pass  # the object does not exist, or exists already

    def _table(self) -> str:
        return f"t{self._random.randrange(TABLES)}"

    def _value(self) -> str:
        return self._random.choice([str(self._random.randrange(PARTITIONS)), "a b", "ü:/", "%3A"])

    def _create_table(self, client: Any, database: str, name: str) -> None:
        client.create_table(table(database, name, [("ds", "string")]))

    def _drop_table(self, client: Any, database: str, name: str) -> None:
        client.drop_table(database, name, True)

    def _rename_table(self, client: Any, database: str, name: str) -> None:
        struct = client.get_table(database, name)
        struct.tableName = self._table()
        client.alter_table(database, name, struct)

    def _alter_table(self, client: Any, database: str, name: str) -> None:
        struct = client.get_table(database, name)
        struct.parameters["x"] = str(self._random.random())
        client.alter_table_with_environment_context(database, name, struct, KEEP)

    def _add_column(self, client: Any, database: str, name: str) -> None:
        struct = client.get_table(database, name)
        struct.sd.cols = [*struct.sd.cols[:6], FieldSchema(f"c{self._random.randrange(10**6)}", "int")]
        client.alter_table_with_environment_context(database, name, struct, CASCADE)

    def _add_partitions(self, client: Any, database: str, name: str) -> None:
        values = {self._value() for _ in range(self._random.randrange(1, 8))}
        client.add_partitions([partition(database, name, [value]) for value in values])

    def _drop_partition(self, client: Any, database: str, name: str) -> None:
        client.drop_partition(database, name, [self._value()], True)

    def _alter_partition(self, client: Any, database: str, name: str) -> None:
        struct = client.get_partition(database, name, [self._value()])
        struct.parameters["x"] = str(self._random.random())
        client.alter_partition_with_environment_context(database, name, struct, KEEP)

    def _rename_partition(self, client: Any, database: str, name: str) -> None:
        before = [self._value()]
        struct = client.get_partition(database, name, before)
        struct.values = [self._value()]
        client.rename_partition(database, name, before, struct)

    def _database(self, client: Any, database: str, _: str) -> None:
        if database in client.get_all_databases():
            client.drop_database(database, True, True)
        client.create_database(Database(database))
