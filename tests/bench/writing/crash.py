"""Kills writers at every step while readers run. Afterwards, one clean-up leaves no unreferenced file."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from tests.bench.writing.changer import changers
from tests.bench.writing.files import unreferenced
from tests.bench.writing.history import History, State, Tally
from tests.bench.writing.processes import answering
from tests.bench.writing.readers import read, reading
from tests.bench.writing.writer import DONE, KILLED

# Names of steps, and the occurrence of the step; "" is a random moment.
STEPS = [
    ("planned", 1),
    ("staged", 1),
    ("registered", 1),
    *(("moved", number) for number in (1, 2, 3)),
    ("placed", 1),
    ("published", 1),
    ("cleaned", 1),
    *[("", 1)] * 5,
]
# Kinds of statements; CHANGES includes those that change rows of an older write. The number of kinds and the number of
# steps have no common divisor, so that each kind is killed at each step.
KINDS = ("append", "append", "overwrite")
CHANGES = (
    *("append", "update", "overwrite", "delete", "merge", "several inserts", "replace where"),
    *("stream", "truncate", "create or replace", "save as table"),
)
_IN_PLACE: dict[str, Any] = {"write_mode": "in-place", "lease": 0.5}
_VERSIONS: dict[str, Any] = {"write_mode": "versions", "lease": 3}
LONGEST, LONGEST_CHANGE = 1.5, 8  # seconds of an INSERT; of another statement, in a driver that has just started
PATIENCE = 60  # seconds


@dataclass
class Figures:
    """The results."""

    kills: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    became_visible: int = 0
    tally: Tally = field(default_factory=Tally)
    cleaned_files: int = 0
    unreferenced: list[str] = field(default_factory=list)
    seconds: float = 0

    def count(self, kind: str, step: str, *, killed: bool, visible: bool) -> None:
        """Counts one writer."""
        if not killed:
            self.finished += 1
            return
        self.kills[step] += 1
        self.killed[kind] += 1
        self.became_visible += visible

    def __str__(self) -> str:
        kills = ", ".join(f"{count} {step}" for step, count in sorted(self.kills.items()))
        killed = ", ".join(f"{count} {kind}" for kind, count in sorted(self.killed.items()))
        return (
            f"{self.kills.total()} kills ({kills}; of {killed}) in {self.seconds:.0f} s, "
            f"{self.finished} writes finished before; "
            f"{self.became_visible} killed writes were visible, all of the others were not; "
            f"{self.tally.reads} reads saw {len(self.tally.states)} states, {len(self.tally.wrong)} of them wrong; "
            f"cleaning removed {self.cleaned_files} files and left {len(self.unreferenced)} unreferenced"
        )


@contextmanager
def writers(spark: SparkSession, uri: str, *, changes: bool) -> Iterator[Callable[..., str]]:
    """Yields a function that has a process make one write, and returns the outcome."""
    parameters = spark.sparkContext._gateway.gateway_parameters
    gateway = {"PYSPARK_GATEWAY_PORT": str(parameters.port), "PYSPARK_GATEWAY_SECRET": parameters.auth_token}
    with ExitStack() as processes:
        insert = processes.enter_context(answering("tests.bench.writing.writer", uri, environment=gateway))
        change = processes.enter_context(changers(uri)) if changes else insert
        yield lambda **order: str((insert if order["kind"] in KINDS else change)(**order)["fate"])


def crash(
    spark: SparkSession,
    metastore: MetastoreClient,
    table: str,
    kills: int,
    *,
    readers: int,
    in_place: bool = False,
    changes: bool = False,
    first: int = 0,
    seconds: float = math.inf,
    tell: Callable[[str], object] = lambda _: None,
) -> Figures:
    """Kills writers of `default.table`, which is empty and has the columns id, k and the partition column p.

    Between the two renames of an overwrite in place, readers do not see the partition. With `in_place`, a clean-up
    therefore follows each kill before the visible rows are compared. `changes`: also kills DELETE, UPDATE, MERGE and
    batches of a stream, which is then started again. `first`: number of the first write, which determines statement
    and step. No write begins after `seconds`. `tell` receives a line for each write.
    """
    figures, began, history = Figures(), time.monotonic(), History()
    with (
        writers(spark, str(metastore.addresses[0]), changes=changes) as write,
        reading(spark, table, history, readers) as tally,
    ):
        figures.tally = tally
        for number in itertools.count(first):
            if figures.kills.total() >= kills or time.monotonic() - began > seconds:
                break
            order = _order(number, CHANGES if changes else KINDS, in_place=in_place)
            order |= {"table": f"default.{table}", "old": min(history.state, default=-1)}
            kind, step = order["kind"], order["step"] or "by chance"
            history.begin(wanted := _wanted(kind, history.state, number, order["old"]))
            fate = write(**order)
            figures.cleaned_files += clean(spark, metastore, table) if in_place else 0
            _end(spark, table, history)
            figures.count(kind, step, killed=fate == KILLED, visible=history.state == wanted)
            tell(f"{number} {kind}, {step} {order['number']}: {fate}, {sorted(history.state)}")
            if kind == "stream" and fate == KILLED:
                history.begin(wanted)
                fate = write(**order | {"step": "", "delay": None})
                _end(spark, table, history)
                assert (fate, history.state) == (DONE, wanted), (fate, history.state, wanted)
            if number % 10 == 9:
                metastore.clean("default", table, grace=600)  # of dead writers; readers may still need replaced files
    figures.cleaned_files += clean(spark, metastore, table)
    figures.unreferenced = unreferenced(spark, metastore, "default", table)
    assert read(spark, table) == history.state
    figures.seconds = time.monotonic() - began
    return figures


def _order(number: int, kinds: Sequence[str], *, in_place: bool) -> dict[str, Any]:
    """Returns the write to make, and when to kill it."""
    steps = [*STEPS, ("away", 1), ("away", 3)] if in_place else STEPS
    kind, (step, occurrence) = kinds[number % len(kinds)], steps[number % len(steps)]
    kind = "overwrite" if in_place and kind == "append" else kind
    delay = None if step else random.uniform(0, LONGEST if kind in KINDS else LONGEST_CHANGE)
    mode = _IN_PLACE if in_place else _VERSIONS
    return {"kind": kind, "k": number, "step": step, "number": occurrence, "delay": delay, **mode}


def _end(spark: SparkSession, table: str, history: History) -> None:
    """Ends a write in the history with the rows that are visible now."""
    seen = read(spark, table)
    assert not isinstance(seen, str), seen
    history.end(seen)


def _wanted(kind: str, state: State, number: int, old: int) -> State:
    """Returns the state of the table after a statement. `old`: a write whose rows the table has, -1 for none."""
    if kind in {"append", "stream", "several inserts"}:
        return state | {number}
    if kind in {"overwrite", "create or replace", "save as table"}:
        return frozenset({number})
    if kind == "truncate":
        return frozenset()
    brings = kind in {"merge", "replace where"} or (kind == "update" and old >= 0)
    new = {number} if brings else set[int]()
    return state - {old} | new


def clean(spark: SparkSession, metastore: MetastoreClient, table: str) -> int:
    """Cleans up once, when no job of a dead writer runs in the JVM any more, which outlives it here, and its lease has
    ended.

    Returns the number of removed files.
    """
    deadline = time.monotonic() + PATIENCE
    while _writes(spark) or metastore.clean("default", table, dry_run=True, grace=0).waiting:
        assert time.monotonic() < deadline, "a dead writer did not end in time"
        time.sleep(0.05)
    result = metastore.clean("default", table, grace=0)
    assert not [location for location in result.locations if location.error], result
    return sum(location.files for location in result.locations)


def _writes(spark: SparkSession) -> bool:
    """Returns whether a thread of the JVM is writing, even if its job has not begun yet."""
    java: Any = spark._jvm
    mapper = java.com.fasterxml.jackson.databind.ObjectMapper()
    stacks = mapper.writeValueAsString(java.java.lang.Thread.getAllStackTraces())
    return "DataFrameWriter" in stacks or bool(spark.sparkContext.statusTracker().getActiveJobsIds())
