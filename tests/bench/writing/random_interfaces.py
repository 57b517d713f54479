"""Random statements through four interfaces: two drivers, Spark Connect and JDBC; some at once, some interrupted by a
kill.

The rows of each table are also kept in memory. After each step, another interface reads the table. An interrupted
statement must have happened completely or not at all.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

CLASSIC, OTHER, CONNECT, JDBC = "driver", "other driver", "Connect", "JDBC"
LAYOUTS = {
    "plain": "(a BIGINT, s STRING, d DECIMAL(9,2)) PARTITIONED BY (p INT) STORED AS PARQUET",
    "orc": "(a BIGINT, s STRING, d DECIMAL(9,2)) PARTITIONED BY (p INT) STORED AS ORC",
    "text key": "(a BIGINT, s STRING, d DECIMAL(9,2)) PARTITIONED BY (p STRING) STORED AS PARQUET",
    "skewed": (
        "(a BIGINT, s STRING, d DECIMAL(9,2)) PARTITIONED BY (p INT) SKEWED BY (s) ON ('x', 'y/z') "
        "STORED AS DIRECTORIES STORED AS PARQUET"
    ),
    "buckets": (
        "(a BIGINT, s STRING, d DECIMAL(9,2)) PARTITIONED BY (p INT) CLUSTERED BY (a) INTO 3 BUCKETS STORED AS PARQUET"
    ),
    "datasource": "(a BIGINT, s STRING, d DECIMAL(9,2), p INT) USING parquet PARTITIONED BY (p)",
    "in place": (
        "(a BIGINT, s STRING, d DECIMAL(9,2)) PARTITIONED BY (p INT) STORED AS PARQUET "
        "TBLPROPERTIES ('write.mode' = 'in-place')"
    ),
}
TEXTS = ("x", "y/z", "", "ä ö", "%41", None, "o'clock")
Row = tuple[int, str | None, str, str]


class Interface:
    """A process that runs statements through one of its interfaces. `ask` raises EOFError if the process has ended."""

    def __init__(self, command: list[str], environment: Mapping[str, str], name: str = "classic") -> None:
        self._command, self._environment, self._name = command, environment, name
        self.start()

    def start(self) -> None:
        """Starts the process, and waits until it answers."""
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(self._environment)
        )
        self._line()

    def ask(self, sql: str, name: str | None = None) -> Any:
        assert self.process.stdin
        print(json.dumps({"sql": sql, "interface": name or self._name}), file=self.process.stdin, flush=True)
        return self._line()

    def kill(self) -> None:
        """Kills the process with SIGKILL. Its JVM ends with it."""
        self.process.kill()
        self.process.wait(60)

    def _line(self) -> Any:
        for line in self.process.stdout or ():
            if line.startswith("{"):
                return json.loads(line)
        raise EOFError


@dataclass
class Figures:
    """The counts of steps, and the errors."""

    steps: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        steps = ", ".join(f"{count} {name}" for name, count in sorted(self.steps.items()))
        reads = ", ".join(f"{count} {name}" for name, count in sorted(self.reads.items()))
        return f"{self.steps.total()} steps ({steps}), read by {reads}: {len(self.wrong)} wrong"


@dataclass
class RandomInterfaces:
    """Runs random steps. `interfaces`: functions that run a statement, by name. `kills`: functions that kill and
    restart a process, each with the interface that it interrupts, by name.
    """

    interfaces: Mapping[str, Callable[[str], Any]]
    kills: Mapping[str, tuple[str, Callable[[], None]]]
    chance: random.Random
    tell: Callable[[str], None]
    figures: Figures = field(default_factory=Figures)
    table: str = ""
    rows: list[Row] = field(default_factory=list)
    number: int = 0

    def run(self, tables: int, steps: int, seconds: float) -> Figures:
        end = time.monotonic() + seconds
        for number in range(tables):
            layout = self.chance.choice(list(LAYOUTS))
            self.table, self.rows = f"interfaces_{number}_{self.chance.randrange(10**6)}", []
            self._must(self._interface(), f"CREATE TABLE {self.table} {LAYOUTS[layout]}", layout)
            for _ in range(steps):
                if time.monotonic() > end:
                    return self.figures
                self.chance.choice([self._one, self._one, self._one, self._at_once, self._cut])(layout)
                self._read(layout)
        return self.figures

    def small_inserts(self, count: int) -> None:
        """Inserts single rows through all interfaces in turn into one table of twenty partitions."""
        self.table, self.rows = f"small_{self.chance.randrange(10**6)}", []
        self._must(CLASSIC, f"CREATE TABLE {self.table} {LAYOUTS['plain']}", "small")
        names = list(self.interfaces)
        for number in range(count):
            row = self._row(str(number % 20))
            self._must(names[number % len(names)], f"INSERT INTO {self.table} VALUES {_values([row])}", "small")
            self.rows.append(row)
        self.figures.steps["small insert"] += count
        self._read("small")

    def many_partitions(self, partitions: int, files: int) -> None:
        """Writes `files` files into each of many partitions by as many drivers at once; reads a few and counts all."""
        table = f"many_{self.chance.randrange(10**6)}"
        self._must(CLASSIC, f"CREATE TABLE {table} (a BIGINT) PARTITIONED BY (p INT) STORED AS PARQUET", "many")
        self._must(CLASSIC, "SET hive.exec.max.dynamic.partitions = 100000", "many")
        self._must(OTHER, "SET hive.exec.max.dynamic.partitions = 100000", "many")
        for number in range(files):
            interface = (CLASSIC, OTHER)[number % 2]
            sql = f"INSERT INTO {table} SELECT id + {number * partitions}, CAST(id AS INT) FROM range({partitions})"
            self._must(interface, sql, "many")
        self.figures.steps[f"{partitions} partitions × {files} files"] += 1
        total = partitions * files
        for interface in self.interfaces:
            for columns, condition, expected in (
                ("count(*), sum(a), count(DISTINCT p)", "true", [total, total * (total - 1) // 2, partitions]),
                ("count(*), min(a), max(p)", "p BETWEEN 7 AND 16", [10 * files, 7, 16]),
                ("count(*), max(p), 0", f"p % 100 = 99 AND a < {partitions}", [partitions // 100, partitions - 1, 0]),
            ):
                query = f"SELECT {columns} FROM {table} WHERE {condition}"
                answer = self.interfaces[interface](query)
                self.figures.reads[interface] += 1
                if [[int(value) for value in row] for row in answer.get("rows", [])] != [expected]:
                    self._wrong(f"{interface}: {query} = {answer}, expected {expected}")

    def _interface(self) -> str:
        return self.chance.choice(list(self.interfaces))

    def _row(self, partition: str | None = None) -> Row:
        self.number += 1
        cents = self.chance.randrange(-99999, 99999)
        decimal = f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"
        return self.number, self.chance.choice(TEXTS), decimal, partition or str(self.chance.randrange(5))

    def _statement(self, layout: str, among: list[str]) -> tuple[str, str, list[Row]]:
        """Returns the kind, the SQL and the rows afterwards. It changes only the partitions `among`."""
        chance, table = self.chance, self.table
        p = chance.choice(among)
        new = [self._row(chance.choice(among)) for _ in range(chance.randrange(1, 5))]
        one = [self._row(p) for _ in range(chance.randrange(1, 4))]
        inside = ", ".join(_literal(layout, value) for value in among)
        cut = chance.randrange(1, self.number + 1)
        statics = ", ".join(f"({a}, {_text(s)}, {d})" for a, s, d, _ in one)
        key, here = _literal(layout, p), [row for row in self.rows if row[3] == p]
        kinds: dict[str, tuple[str, list[Row]]] = {
            "insert": (f"INSERT INTO {table} VALUES {_values(new, layout)}", [*self.rows, *new]),
            "insert into one": (f"INSERT INTO {table} PARTITION (p = {key}) VALUES {statics}", [*self.rows, *one]),
            "overwrite one": (
                f"INSERT OVERWRITE TABLE {table} PARTITION (p = {key}) VALUES {statics}",
                [*(row for row in self.rows if row[3] != p), *one],
            ),
            "delete": (
                f"DELETE FROM {table} WHERE p IN ({inside}) AND a <= {cut}",
                [row for row in self.rows if row[3] not in among or row[0] > cut],
            ),
            "update": (
                f"UPDATE {table} SET s = 'new', d = d + 1.25 WHERE p = {key} AND a % 2 = 0",
                [_updated(row) if row[3] == p and row[0] % 2 == 0 else row for row in self.rows],
            ),
            "copy": (
                f"INSERT INTO {table} SELECT a + 1000000, s, d, p FROM {table} WHERE p = {key}",
                [*self.rows, *((a + 1_000_000, s, d, q) for a, s, d, q in here)],
            ),
        }
        if here:
            kinds["truncate"] = (
                f"TRUNCATE TABLE {table} PARTITION (p = {key})",
                [row for row in self.rows if row[3] != p],
            )
        if layout == "buckets":
            kinds.pop("copy")  # the numbers of the copies would collide in `a`, which is harmless; keeps files small
        kind = chance.choice(list(kinds))
        return (kind, *kinds[kind])

    def _one(self, layout: str) -> None:
        kind, sql, after = self._statement(layout, [str(number) for number in range(5)])
        self.figures.steps[kind] += 1
        if self._must(self._interface(), sql, layout):
            self.rows = after

    def _at_once(self, layout: str) -> None:
        """Two statements on different partitions, or two appends, through two interfaces at the same time."""
        self.figures.steps["two at once"] += 1
        before = list(self.rows)
        _, first, after_first = self._statement(layout, ["0", "1"])
        _, second, after_second = self._statement(layout, ["2", "3", "4"])
        interface = self._interface()
        rival = self.chance.choice(
            [name for name in self.interfaces if {name, interface} != {JDBC, OTHER} and name != interface]
        )
        pairs = ((interface, first), (rival, second))
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda pair: self._must(*pair, layout), pairs))
        low = [row for row in (after_first if done[0] else before) if row[3] in ("0", "1")]
        self.rows = low + [row for row in (after_second if done[1] else before) if row[3] not in ("0", "1")]

    def _cut(self, layout: str) -> None:
        """Kills a driver or the metastore while a statement runs."""
        name = self.chance.choice(list(self.kills))
        interface, kill = self.kills[name]
        self.figures.steps[f"{name} killed"] += 1
        _, sql, after = self._statement(layout, [str(number) for number in range(5)])

        def run() -> Any:
            try:
                return self.interfaces[interface](sql)
            except (EOFError, BrokenPipeError):
                return {"error": "killed"}

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run)
            time.sleep(self.chance.random() * 1.5)
            kill()
            answer = running.result()
        rows_by = self._rows_by(CLASSIC, layout)
        if rows_by == sorted(after, key=repr):
            self.rows = after
        elif rows_by != sorted(self.rows, key=repr):
            self._wrong(f"{name} killed during {sql} ({answer}): {_difference(rows_by, self.rows)}")
            self.rows = list(rows_by) if isinstance(rows_by, list) else self.rows
        elif "rows" in answer:
            self._wrong(f"{name} killed during {sql}, which answered, and is lost")

    def _read(self, layout: str) -> None:
        interface = self._interface()
        self.figures.reads[interface] += 1
        rows_by = self._rows_by(interface, layout)
        if rows_by != sorted(self.rows, key=repr):
            self._wrong(f"{layout} {self.table} read by {interface}: {_difference(rows_by, self.rows)}")
            self.rows = list(rows_by) if isinstance(rows_by, list) else self.rows
        p, query = self.chance.randrange(5), f"SELECT count(*), coalesce(sum(a), 0), 0 FROM {self.table} WHERE p = "
        key, here = _literal(layout, str(p)), [row[0] for row in self.rows if row[3] == str(p)]
        counted = self.interfaces[interface](f"{query}{key}")
        if [[int(value) for value in row] for row in counted.get("rows", [])] != [[len(here), sum(here), 0]]:
            self._wrong(f"{layout} {query}{key} by {interface}: {counted}, expected {len(here)}, {sum(here)}")
        text = self.chance.choice([text for text in TEXTS if text is not None])
        query = f"SELECT count(*) FROM {self.table} WHERE s = {_text(text)}"
        counted, expected = self.interfaces[interface](query), sum(row[1] == text for row in self.rows)
        if [[int(value) for value in row] for row in counted.get("rows", [])] != [[expected]]:
            self._wrong(f"{layout} {query} by {interface}: {counted}, expected {expected}")

    def _rows_by(self, interface: str, layout: str) -> Any:
        answer = self.interfaces[interface](f"SELECT a, s, CAST(d AS STRING), CAST(p AS STRING) FROM {self.table}")
        if "error" in answer:
            self._wrong(f"{layout} {self.table} cannot be read by {interface}: {answer['error']}")
            return answer["error"]
        return sorted(((int(a), s, d, p) for a, s, d, p in answer["rows"]), key=repr)

    def _must(self, interface: str, sql: str, layout: str) -> bool:
        answer = self.interfaces[interface](sql)
        if "error" in answer:
            self._wrong(f"{layout}: {interface}: {sql}: {answer['error']}")
        return "error" not in answer

    def _wrong(self, text: str) -> None:
        self.figures.wrong.append(text)
        self.tell(text)


def _updated(row: Row) -> Row:
    cents = round(float(row[2]) * 100) + 125
    return row[0], "new", f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}", row[3]


def _text(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "\\'") + "'"


def _literal(layout: str, partition: str) -> str:
    return f"'{partition}'" if layout == "text key" else partition


def _values(rows: list[Row], layout: str = "") -> str:
    return ", ".join(f"({a}, {_text(s)}, {d}, {_literal(layout, p)})" for a, s, d, p in rows)


def _difference(actual: Any, expected: list[Row]) -> str:
    if not isinstance(actual, list):
        return str(actual)
    missing, added = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    return f"missing {list(missing.elements())[:4]}, added {list(added.elements())[:4]}"
