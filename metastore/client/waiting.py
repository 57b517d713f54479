"""Waits until partitions exist. The server blocks each call until a commit adds the partition: nothing is polled."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from metastore.client.client import MetastoreClient
from metastore.domain.partition_names import value_path
from metastore.domain.partition_ranges import ranges
from thrift_idl.gen.metastore.ttypes import WaitRequest

_CALL: Final = 10.0  # seconds that one call waits, as servers limit it
_PAUSE: Final = 1.0  # seconds before the next call to a server that has too many waiting calls and returns at once


@dataclass(frozen=True, slots=True)
class Waited:
    """The end of a wait.

    Attributes:
        found: the partitions that exist, as `ds=1/hour=2`; with fewer columns, at least one partition begins with it.
        missing: those that do not exist, or, with `dependencies`, whose base partitions do not exist.
    """

    found: tuple[str, ...]
    missing: tuple[str, ...]


def wait_for(
    client: MetastoreClient,
    database: str,
    table: str,
    specs: Sequence[str],
    *,
    dependencies: bool = False,
    timeout: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Waited:
    """Waits until all partitions exist, or for `timeout` seconds.

    Args:
        client: a client of the metastore.
        database: name of the database.
        table: name of the table.
        specs: such as `ds=2026-01-05` or, as ranges, `ds=2026-01-01..2026-01-31/hour=00..23`; at most 10,000.
        dependencies: also waits for all partitions that they depend on, directly or not.
        timeout: None: no limit.
        clock: seconds.
        sleep: waits for seconds.

    A partition that is dropped again during the wait is waited for again. Raises NoSuchTableError, InvalidInputError,
    InvalidObjectError.
    """
    found = client.get_table(database, table)
    types = {column.name: column.type for column in found.partition_columns}
    wanted = ranges(found.full_name, types, specs)
    deadline = None if timeout is None else clock() + timeout

    def exists(values: list[str], seconds: float) -> bool:
        request = WaitRequest(database, table, values, None, dependencies, int(seconds * 1000))
        return bool(client.methods.wait_for_partition(request))

    while True:
        missing = _missing(wanted, deadline, exists, clock, sleep)
        # Those that came first may have been dropped since. One alone exists at this moment.
        if missing or len(wanted) == 1 or not (missing := [each for each in wanted if not exists(each, 0)]):
            break
        if deadline is not None and clock() >= deadline:
            break
    names = {tuple(values): value_path(list(types)[: len(values)], values) for values in wanted}
    lacking = {tuple(values) for values in missing}
    return Waited(
        found=tuple(name for values, name in names.items() if values not in lacking),
        missing=tuple(name for values, name in names.items() if values in lacking),
    )


def _missing(
    wanted: Sequence[list[str]],
    deadline: float | None,
    exists: Callable[[list[str], float], bool],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> list[list[str]]:
    """Waits for each partition in turn. Returns those that do not exist at the deadline."""
    left = deque(wanted)
    while left:
        started = clock()
        seconds = _CALL if deadline is None else max(0.0, min(_CALL, deadline - started))
        if exists(left[0], seconds):
            left.popleft()
        elif deadline is not None and clock() >= deadline:
            return [each for each in left if not exists(each, 0)]
        elif clock() - started < seconds / 2:
            sleep(_PAUSE if deadline is None else max(0.0, min(_PAUSE, deadline - clock())))
    return []
