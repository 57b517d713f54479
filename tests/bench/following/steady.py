"""Writers at the source whose changes all succeed: each has its own tables, and knows what is in them."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, Final

from tests.bench.following.writers import CASCADE, DATABASES, KEEP
from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition

_TABLES: Final = 5
"""Tables of one writer: at least half of them exist."""
EXTERNAL: Final[dict[str, Any]] = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}}
"""The source moves no files of such a table."""
_PARTITIONS: Final = 40
"""Partitions of one table, at most."""


class Pace:
    """Gives out turns at a steady rate to all writers."""

    def __init__(self, rate: float) -> None:
        self._interval = 1 / rate
        self._lock = Lock()
        self._next = time.monotonic()

    def wait(self) -> None:
        with self._lock:
            turn = self._next = max(self._next + self._interval, time.monotonic() - 1)
        time.sleep(max(0.0, turn - time.monotonic()))


class SteadyWriter(Thread):
    """One writer. Every change is one event. `counts`: changes by kind."""

    def __init__(self, source: Server, place: int, stopped: Event, pace: Pace) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._place = place
        self._database = f"db{place % DATABASES}"
        self._random = random.Random(place)
        self._stopped = stopped
        self._pace = pace
        self._numbers = count()
        self._tables: dict[str, list[str]] = {}
        """The values of the partitions of each table."""
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        kinds: list[tuple[int, Callable[[str], object]]] = [
            (3, self._replace_table),
            (1, self._rename_table),
            (6, self._alter_table),
            (1, self._add_column),
            (10, self._add_partitions),
            (8, self._drop_partition),
            (10, self._alter_partition),
            (1, self._rename_partition),
        ]
        with connected(self._source) as self._client:
            while not self._stopped.is_set():
                self._pace.wait()
                (change,) = self._random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
                if len(self._tables) * 2 < _TABLES:
                    change = self._replace_table
                name = self._random.choice([*self._tables]) if self._tables else ""
                change(name)
                self.counts[change.__name__.strip("_")] += 1

    def _new(self) -> str:
        return f"w{self._place}_{next(self._numbers)}"

    def _replace_table(self, name: str) -> None:
        """Creates a table, or drops one if there are enough."""
        if len(self._tables) < _TABLES:
            new = self._new()
            self._client.create_table(table(self._database, new, [("ds", "string")], **EXTERNAL))
            self._tables[new] = []
        else:
            self._client.drop_table(self._database, name, True)
            del self._tables[name]

    def _rename_table(self, name: str) -> None:
        struct, new = self._client.get_table(self._database, name), self._new()
        struct.tableName = new
        self._client.alter_table(self._database, name, struct)
        self._tables[new] = self._tables.pop(name)

    def _alter_table(self, name: str) -> None:
        struct = self._client.get_table(self._database, name)
        struct.parameters["x"] = str(self._random.random())
        self._client.alter_table_with_environment_context(self._database, name, struct, KEEP)

    def _add_column(self, name: str) -> None:
        struct = self._client.get_table(self._database, name)
        struct.sd.cols = [*struct.sd.cols[:6], FieldSchema(f"c{next(self._numbers)}", "int")]
        self._client.alter_table_with_environment_context(self._database, name, struct, CASCADE)

    def _add_partitions(self, name: str) -> None:
        """Adds one to three partitions, or drops one if there are enough."""
        if len(self._tables[name]) >= _PARTITIONS:
            self._drop_partition(name)
            return
        values = [f"{next(self._numbers)} ü:/%3A" for _ in range(self._random.randrange(1, 4))]
        self._client.add_partitions([partition(self._database, name, [value]) for value in values])
        self._tables[name] += values

    def _drop_partition(self, name: str) -> None:
        if value := self._value(name):
            self._client.drop_partition(self._database, name, [value], True)
            self._tables[name].remove(value)

    def _alter_partition(self, name: str) -> None:
        if value := self._value(name):
            struct = self._partition(name, value)
            struct.parameters["x"] = str(self._random.random())
            self._client.alter_partition_with_environment_context(self._database, name, struct, KEEP)

    def _rename_partition(self, name: str) -> None:
        if value := self._value(name):
            struct, new = self._partition(name, value), f"{next(self._numbers)} renamed"
            struct.values = [new]
            self._client.rename_partition(self._database, name, [value], struct)
            self._tables[name].remove(value)
            self._tables[name].append(new)

    def _value(self, name: str) -> str | None:
        """Returns a partition of a table. Adds some if it has none, which is the change then."""
        if self._tables[name]:
            return self._random.choice(self._tables[name])
        self._add_partitions(name)
        return None

    def _partition(self, name: str, value: str) -> Partition:
        result: Partition = self._client.get_partition(self._database, name, [value])
        return result
