"""Processor time of single calls, ours and Hive's: python -m tests.bench.processor [--calls 500] [--rounds 12].

Both servers use databases of one PostgreSQL. Each has one connection, on which one call is repeated in rounds, by
turns. The time is that of the server's processes without PostgreSQL, so that other work on the machine has little
effect; the median of the rounds is printed.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import click

from tests.bench.load import Connection
from tests.bench.servers import PEERS, Side, ours, peer, postgres
from tests.bench.workload import Workload

CALLS = ("get_table", "get_partitions_by_filter, one day")
COLUMNS = 40
_WARM = 1_000  # calls before the first round; Java compiles its code meanwhile


@click.command(help=__doc__)
@click.option("--partitions", default=10_000, show_default=True, help="Partitions of the table.")
@click.option("--calls", default=500, show_default=True, help="Calls in a round.")
@click.option("--rounds", default=12, show_default=True, help="Rounds for each server.")
@click.option("--alone", is_flag=True, help="Measure this server only.")
def main(partitions: int, calls: int, rounds: int, *, alone: bool) -> None:
    """Prints a line for each call."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        database = stack.enter_context(postgres(folder / "postgres"))
        sides = [stack.enter_context(ours(database, folder / "ours"))]
        if not alone:
            sides.append(stack.enter_context(peer(PEERS[0], database, folder / "theirs")))
        workload = Workload(f"file:{folder}/wide", partitions, COLUMNS, 1_000, shared_directories=True)
        for side in sides:
            with closing(Connection(side)) as connection:
                for request in (*workload.create(), *workload.add()):
                    connection.call(request)
            database.vacuum(side)
        for call in CALLS:
            request, _ = workload.reads()[call]
            spent = _spent(sides, request, calls, rounds)
            texts = [f"{side.name} {1e3 * median(times):.3f} ms" for side, times in zip(sides, spent, strict=True)]
            ratio = "" if alone else f"; × {median(b / a for a, b in zip(*spent, strict=True)):.1f}"
            click.echo(f"{call}: {', '.join(texts)}{ratio}")


def _spent(sides: Sequence[Side], request: bytes, calls: int, rounds: int) -> list[list[float]]:
    """Returns, for each server, the seconds of processor time of one call in each round."""
    spent: list[list[float]] = [[] for _ in sides]
    with ExitStack() as stack:
        repeats = [stack.enter_context(closing(Repeat(side, request))) for side in sides]
        for repeat in repeats:
            repeat.call(_WARM)
        for _ in range(rounds):
            for side, repeat, times in zip(sides, repeats, spent, strict=True):
                before = processor_time(side)
                repeat.call(calls)
                times.append((processor_time(side) - before) / calls)
    return spent


def processor_time(side: Side) -> float:
    """Returns the seconds of processor time of the server's processes, to the nanosecond (Linux)."""
    numbers = [each.pid for each in (side.process, *side.process.children(recursive=True))]
    return sum(time.clock_gettime_ns((~number << 3) | 2) for number in numbers) / 1e9  # CPUCLOCK_SCHED of the process


class Repeat:
    """A connection on which one call is repeated. All of its replies have the same size."""

    def __init__(self, side: Side, request: bytes) -> None:
        with closing(Connection(side)) as connection:
            self._size = connection.call(request)
        self._request = request
        self._socket = socket.create_connection((side.host, side.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, times: int) -> None:
        """Makes the call this many times."""
        for _ in range(times):
            self._socket.sendall(self._request)
            left = self._size
            while left:
                received = len(self._socket.recv(left))
                if not received:
                    raise EOFError("the server closed the connection")
                left -= received

    def close(self) -> None:
        self._socket.close()


if __name__ == "__main__":
    main()
