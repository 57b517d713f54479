"""Many small INSERTs by several clients at once, and many partitions with several files each, with random queries."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bench.random_sql.processes import CLASSIC, JDBC, OTHER
from tests.bench.random_sql.queries import all_rows, random_query
from tests.bench.random_sql.run import Run
from tests.bench.random_sql.tables import ID, Table
from tests.bench.random_sql.texts import INT, TEXT, Column


def small_inserts(run: Run, count: int) -> None:
    """Single rows by all clients at once. Each read sees all INSERTs that had ended, and none that had not begun."""
    _must(run, CLASSIC, "CREATE TABLE small (id BIGINT, s STRING) PARTITIONED BY (p INT) STORED AS PARQUET")
    lanes = [[name for name in lane if name in run.interfaces] for lane in ([CLASSIC], [OTHER, JDBC], ["Connect"])]
    lanes = [lane for lane in lanes if lane]
    lock, begun, ended = threading.Lock(), set[int](), set[int]()

    def insert(lane: list[str], chance: random.Random, numbers: range) -> None:
        for number in numbers:
            with lock:
                begun.add(number)
            _must(run, chance.choice(lane), f"INSERT INTO small VALUES ({number}, 'x{number}', {number % 20})")
            with lock:
                ended.add(number)
                before = set(ended)
            interface = chance.choice(lane)
            rows = run.interfaces[interface]("SELECT id, s, p FROM small").get("rows", [])
            with lock:
                after = set(begun)
            seen = [int(row[0]) for row in rows]
            if len(seen) != len(set(seen)) or not before <= set(seen) <= after:
                run.figures.wrong.append(f"small INSERTs: {interface} saw {sorted(seen)} between {before} and {after}")
                run.tell(run.figures.wrong[-1])

    with ThreadPoolExecutor(len(lanes)) as pool:
        seeds = [run.chance.random() for _ in lanes]
        parts = [range(number, count, len(lanes)) for number in range(len(lanes))]
        list(pool.map(insert, lanes, map(random.Random, seeds), parts))
    run.figures.steps["small insert"] += count


def many_partitions(run: Run, partitions: int, files: int, queries: int) -> None:
    """So many files in each partition, by two drivers at once, and random queries by all clients.

    Then all partitions are overwritten, and the table is dropped and restored, with queries after each.
    """
    table = Table("many", [ID, Column("s", TEXT)], [Column("p", INT), Column("q", TEXT)], "many")
    _must(run, CLASSIC, "CREATE TABLE many (id BIGINT, s STRING) PARTITIONED BY (p INT, q STRING) STORED AS PARQUET")
    for interface in (CLASSIC, OTHER):
        _must(run, interface, "SET hive.exec.max.dynamic.partitions = 100000")
    run.oracle.create(table)

    def write(interface: str, numbers: range) -> None:
        for _ in numbers:
            columns = "id % 40, concat('x', id % 7), CAST(id DIV 10 AS INT), concat('k=', id % 10, '/')"
            _must(run, interface, f"INSERT INTO many SELECT {columns} FROM range({partitions})")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (CLASSIC, OTHER), (range(0, files, 2), range(1, files, 2))))
    numbers = f"WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id < {partitions - 1}) "
    for _ in range(files):
        selected = "SELECT id % 40, 'x' || (id % 7), id / 10, 'k=' || (id % 10) || '/' FROM n"
        run.oracle.run([f"INSERT INTO many {numbers}{selected}"], table)
    run.figures.steps[f"{partitions} partitions × {files} files"] += 1
    run.told[table.name] = []
    run.tables.append(table)
    _query(run, table, queries)
    _must(run, CLASSIC, "INSERT OVERWRITE TABLE many SELECT id + 1, concat(s, '!'), p, q FROM many")
    run.oracle.run(["UPDATE many SET id = id + 1, s = s || '!'"], table)
    _query(run, table, queries)
    _must(run, OTHER, "DROP TABLE many")
    _must(run, CLASSIC, "UNDROP TABLE many")
    run.figures.steps["overwrite, drop and undrop"] += 3
    _query(run, table, queries)
    run.tables.clear()


def _query(run: Run, table: Table, queries: int) -> None:
    run.check(table, all_rows(table))
    for _ in range(queries):
        run.check(table, random_query(run.chance, table, []))


def _must(run: Run, interface: str, sql: str) -> None:
    answer: Mapping[str, Any] = run.interfaces[interface](sql)
    if "error" in answer:
        run.figures.wrong.append(f"{interface}: {sql}: {answer['error']}")
        run.tell(run.figures.wrong[-1])
