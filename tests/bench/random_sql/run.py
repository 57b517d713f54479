"""Random statements through several clients of Spark, and the same in SQLite."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.bench.random_sql.changes import Change, literal_change, random_change
from tests.bench.random_sql.processes import JDBC, OTHER
from tests.bench.random_sql.queries import Query, all_rows, random_query
from tests.bench.random_sql.tables import Oracle, Row, Table, random_table

_CONFLICTS = ("WRITE_CONFLICT", "PublishConflictError", "40001")
_TABLES = 3  # that exist at the same time


@dataclass
class Figures:
    """What was done, what was rejected, and what was wrong."""

    steps: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    layouts: Counter[str] = field(default_factory=Counter)
    conflicts: int = 0
    rejected: dict[str, str] = field(default_factory=dict)  # the beginning of the message to the statement
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        steps, reads, layouts = (
            ", ".join(f"{count} {name}" for name, count in sorted(counter.items()))
            for counter in (self.steps, self.reads, self.layouts)
        )
        return (
            f"{self.steps.total()} statements ({steps}) on {self.layouts.total()} tables ({layouts}), "
            f"{self.reads.total()} queries ({reads}): {self.conflicts} conflicts, {len(self.wrong)} wrong"
        )


@dataclass
class Run:
    """`interfaces`: the clients by name, functions of a statement. `kills`: the client whose statement is cut, and what
    kills a process and starts it again."""

    interfaces: Mapping[str, Callable[[str], Any]]
    kills: Mapping[str, tuple[str, Callable[[], None]]]
    chance: random.Random
    tell: Callable[[str], None]
    oracle: Oracle = field(default_factory=Oracle)
    figures: Figures = field(default_factory=Figures)
    tables: list[Table] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)  # the statements of each table

    def run(self, steps: int, each: int, seconds: float) -> Figures:
        """Runs so many steps, `each` of them on three tables. No step begins after so many seconds."""
        end, number = time.monotonic() + seconds, 0
        while self.figures.steps.total() < steps and time.monotonic() < end:
            self._new_tables(number)
            number += 1
            for _ in range(each):
                if not self.tables or time.monotonic() > end:
                    break
                table = self.chance.choice(self.tables)
                kinds = [self._one] * 7 + ([self._at_once] * 2 + [self._cut] if table.atomic else [])
                self.chance.choice(kinds)(table)
                self._check(table)
        return self.figures

    def _new_tables(self, number: int) -> None:
        for table in self.tables:
            self._ask(self._interface(), f"DROP TABLE {table.name}")
        self.tables = []
        while len(self.tables) < _TABLES:
            table = random_table(self.chance, f"r{number}_{self.chance.randrange(10**6)}")
            answer = self._ask(self._interface(), table.made)
            if "error" in answer:
                self._reject("create", table.made, answer["error"])
                continue
            self.figures.layouts[table.layout] += 1
            self.oracle.create(table)
            self.tables.append(table)
            self.told[table.name] = [table.made]

    def _interface(self) -> str:
        return self.chance.choice(list(self.interfaces))

    def _ask(self, interface: str, sql: str) -> Any:
        try:
            return self.interfaces[interface](sql)
        except (EOFError, BrokenPipeError):
            return {"error": "killed"}

    def _reject(self, kind: str, sql: str, error: str) -> None:
        self.figures.rejected.setdefault(f"{kind}: {error[:90]}", f"{sql[:600]}\n    {error[:400]}")

    def _others(self, table: Table) -> list[Table]:
        return [other for other in self.tables if other is not table]

    def _one(self, table: Table) -> None:
        change, interface = random_change(self.chance, table, self._others(table)), self._interface()
        self.figures.steps[change.kind] += 1
        answer = self._ask(interface, change.spark)
        if "error" in answer:
            self._reject(f"{change.kind}, {table.layout}", change.spark, answer["error"])
            return
        self._apply(table, change, interface)

    def _apply(self, table: Table, change: Change, interface: str) -> None:
        self.told[table.name].append(f"{interface}: {change.spark}")
        self.oracle.run(change.sqlite, table)
        change.after()

    def _at_once(self, table: Table) -> None:
        """Two statements at the same time: the rows are those after one order of those that succeeded."""
        changes = [literal_change(self.chance, table) for _ in range(2)]
        self.figures.steps["at once"] += 2
        interface = self._interface()
        rival = self.chance.choice(
            [name for name in self.interfaces if name != interface and {name, interface} != {JDBC, OTHER}]
        )
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(self._ask, (interface, rival), (change.spark for change in changes)))
        done = []
        for change, answer in zip(changes, answers, strict=True):
            if "error" not in answer:
                done.append(change)
            elif any(word in answer["error"] for word in _CONFLICTS):
                self.figures.conflicts += 1
            else:
                self._reject(f"{change.kind} at once, {table.layout}", change.spark, answer["error"])
        self.told[table.name].append(f"at once, {interface} and {rival}: " + " | ".join(each.spark for each in done))
        self._settle(table, [done, done[::-1]])

    def _cut(self, table: Table) -> None:
        """Kills a driver or the metastore while a statement runs: it has happened completely or not at all."""
        name = self.chance.choice(list(self.kills))
        interface, kill = self.kills[name]
        change = random_change(self.chance, table, self._others(table))
        self.figures.steps[f"{name} killed"] += 1
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._ask, interface, change.spark)
            time.sleep(self.chance.random() * 1.5)
            kill()
            answer = running.result()
        self.told[table.name].append(f"{name} killed during {change.spark}: {answer}")
        if change.kind == "add column":  # the columns say whether it has happened
            described = self._ask(interface, f"DESCRIBE {table.name}").get("rows", [])
            if any(row[0] == f"new_{len(table.data)}" for row in described):
                self._apply(table, change, interface)
            return
        self._settle(table, [[change]] if "rows" in answer else [[], [change]])

    def _settle(self, table: Table, possible: list[list[Change]]) -> None:
        """Makes SQLite's rows those of the possible order that Spark shows."""
        query, interface = all_rows(table), self._interface()
        actual = self._rows(interface, query)
        for changes in possible:
            if self.oracle.rows_after(table, *(change.sqlite for change in changes)) == actual:
                for change in changes:
                    self.oracle.run(change.sqlite, table)
                return
        expected = self.oracle.rows_after(table, *(change.sqlite for change in possible[-1]))
        self._wrong(table, f"{query.spark} by {interface}", actual, expected)

    def _check(self, table: Table) -> None:
        if table not in self.tables:
            return
        for query in (all_rows(table), *(random_query(self.chance, table, self._others(table)) for _ in range(2))):
            if not self.check(table, query):
                return

    def check(self, table: Table, query: Query) -> bool:
        """Compares the answers to a query."""
        interface = self._interface()
        self.figures.reads[interface] += 1
        actual, expected = self._rows(interface, query), self.oracle.rows(query.text.sqlite, query.types)
        if actual != expected:
            self._wrong(table, f"{query.spark} by {interface}", actual, expected)
        return actual == expected

    def _rows(self, interface: str, query: Query) -> list[Row] | str:
        answer = self._ask(interface, query.spark)
        if "error" in answer:
            return str(answer["error"])
        return sorted((tuple(row) for row in answer["rows"]), key=repr)

    def _wrong(self, table: Table, where: str, actual: list[Row] | str, expected: list[Row]) -> None:
        """Reports an error with all statements of the table, which gets no more of them."""
        difference = actual
        if not isinstance(actual, str):
            missing, added = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
            difference = f"missing {list(missing.elements())[:4]}, added {list(added.elements())[:4]}"
        text = "\n  ".join([f"{where}: {difference}", *self.told[table.name]])
        self.figures.wrong.append(text)
        self.tell(text)
        self.tables = self._others(table)
