"""Migration: partitions a second of `metastore import run` and `verify`, processor time of each part, and memory.

    python -m tests.bench.moving --partitions 1000000

The source is a database, or with `--thrift` a second server of ours that was filled from it. Source and target have a
PostgreSQL of their own, so that the processor time of each is known. On a quiet machine with two processors, an import
takes at least half of the sum, and at least the time of the busiest process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import click
import psutil
from rich.console import Console
from rich.table import Table

from migrations import runner
from tests.bench.moving_source import generate
from tests.bench.servers import Postgres, postgres
from tests.fixtures.server import running

_PAUSE = 0.05  # seconds between two readings of a process


@dataclass
class Usage:
    """Processor time in seconds by part, and memory in bytes, while a command ran."""

    seconds: float = 0.0
    processor: dict[str, float] = field(default_factory=dict)
    memory: int = 0


def measured(command: list[str], parts: dict[str, Callable[[], Iterable[psutil.Process]]]) -> Usage:
    """Runs a command of the project. `parts`: processes of servers, by name."""
    before = {name: _processor(processes()) for name, processes in parts.items()}
    usage, begun = Usage(), time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "metastore.cli", *command], stdout=subprocess.DEVNULL)
    ended = Event()
    own: dict[str, float] = {}
    watcher = Thread(target=_watch, args=(psutil.Process(process.pid), ended, usage, own))
    watcher.start()
    status = process.wait()
    usage.seconds = time.perf_counter() - begun
    ended.set()
    watcher.join()
    if status:
        raise click.ClickException(f"{' '.join(command)} failed with status {status}")
    usage.processor = own | {name: _processor(processes()) - before[name] for name, processes in parts.items()}
    return usage


def _watch(process: psutil.Process, ended: Event, usage: Usage, own: dict[str, float]) -> None:
    """Records processor time and memory of the command: its process, and the processes it starts."""
    while not ended.wait(_PAUSE):
        memory = 0
        try:
            for position, each in enumerate([process, *process.children()]):
                memory += each.memory_full_info().pss
                times = each.cpu_times()
                own[f"command, process {position + 1}"] = times.user + times.system
        except psutil.Error:  # it has ended
            continue
        usage.memory = max(usage.memory, memory)


def _processor(processes: Iterable[psutil.Process]) -> float:
    """Returns the seconds of processor time of processes, with those of their children that have ended."""
    total = 0.0
    for each in processes:
        times = each.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
    return total


def processes_of(database: Postgres) -> Callable[[], Iterable[psutil.Process]]:
    """Returns the function that lists the processes of a PostgreSQL."""
    pid = int(str(database.scalar("SELECT pg_read_file('postmaster.pid')")).split()[0])
    leader = psutil.Process(pid)
    return lambda: [leader, *leader.children()]


@click.command()
@click.option("--partitions", default=1_000_000, show_default=True)
@click.option("--thrift", is_flag=True, help="Read the source through Thrift.")
@click.option("--no-verify", is_flag=True, help="Only copy.")
def main(partitions: int, thrift: bool, no_verify: bool) -> None:
    """Measures one import, and the comparison after it."""
    console = Console(width=140)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        sides = [stack.enter_context(postgres(folder / name)) for name in ("theirs", "ours")]
        begun = time.perf_counter()
        source = generate(lambda **_: sides[0].create("hive"), partitions).url
        console.print(f"{partitions:,} partitions generated in {time.perf_counter() - begun:.0f} s")
        parts = {"PostgreSQL of the source": processes_of(sides[0]), "PostgreSQL of the target": processes_of(sides[1])}
        if thrift:
            middle = sides[0].create("middle")
            runner.upgrade(middle)
            measured(["import", "run", source, "--database-url", middle], parts)
            served = stack.enter_context(running(middle, _made(folder / "middle"), "--workers", "2"))
            source = served.uri
            leader = psutil.Process(served.process.pid)
            parts["server of the source"] = lambda: [leader, *leader.children()]
        target = sides[1].create("ours")
        runner.upgrade(target)
        start = measured(["import", "status", "--database-url", target], {})
        usage = measured(["import", "run", source, "--database-url", target], parts)
        show(console, "import run", partitions, usage, start)
        if not no_verify:
            server = stack.enter_context(running(target, _made(folder / "server"), "--workers", "2"))
            process = psutil.Process(server.process.pid)
            parts["server"] = lambda: [process, *process.children()]
            usage = measured(["import", "verify", source, "--uri", server.uri], parts)
            show(console, "import verify", partitions, usage, start)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def show(console: Console, title: str, partitions: int, usage: Usage, start: Usage) -> None:
    """Prints the figures of one command, without the time that `start` took: a command that does nothing."""
    usage.processor = {name: seconds - start.processor.get(name, 0) for name, seconds in usage.processor.items()}
    usage.seconds -= start.seconds
    table = Table("part", "processor time, µs a partition", title=title)
    for name, seconds in usage.processor.items():
        table.add_row(name, f"{1e6 * seconds / partitions:.1f}")
    console.print(table)
    total, busiest = sum(usage.processor.values()), max(usage.processor.values())
    quiet = partitions / max(busiest, total / 2)
    console.print(
        f"{title}: {usage.seconds:.1f} s, {partitions / usage.seconds:,.0f} partitions/s measured; "
        f"{1e6 * total / partitions:.1f} µs of processor time a partition in all, so at most {quiet:,.0f}/s on two "
        f"quiet processors; memory of the command {usage.memory / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
