"""Profile of the processor time of the most frequent calls, inside the server: python -m tests.bench.profile.

Run it from the root of a checkout to profile that version.
"""

from __future__ import annotations

import cProfile
import logging
import os
import pstats
import tempfile
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import click
from thrift.transport.TTransport import TMemoryBuffer

from metastore.app import make_application
from metastore.protocol.dispatch import CallSession
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.transport.wire_format import BinaryProtocol
from migrations import runner
from tests.bench.workload import Workload

REPEATED = 300


@click.command()
@click.option("--partitions", default=5_000, show_default=True, help="Of the table.")
@click.option("--lines", default=12, show_default=True, help="Functions shown of each call.")
def main(partitions: int, lines: int) -> None:
    """Profiles get_table, one day by filter, and adding 1,000 partitions in one call."""
    logging.basicConfig(level=logging.INFO, filename=os.devnull)  # as in the server, calls are logged
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(Path(folder) / "postgres") as postgres:
            runner.upgrade(postgres.url)
            application = make_application(Settings(warehouse=f"{folder}/warehouse"), postgres.url)
            session = application.open_session("profile:1")
            workload = Workload(f"file:{folder}/warehouse/wide", partitions, 40, 1_000)
            for request in workload.create():
                answered(session, request)
            profiled("add_partitions, 1,000 a call", session, list(workload.add()), lines)
            for name, (request, connections) in workload.reads().items():
                if connections == 1 and name.startswith(("get_table", "get_partitions_by_filter")):
                    answered(session, request)
                    profiled(name, session, [request] * REPEATED, lines)
            application.close()


def answered(session: CallSession, request: bytes) -> None:
    """Makes one call, without a socket."""
    session.handle(BinaryProtocol(_Request(request)), BinaryProtocol(_Reply()))


def profiled(name: str, session: CallSession, requests: Sequence[bytes], lines: int) -> None:
    """Prints the functions in which the calls spend most processor time, in microseconds of one call."""
    profile, start = cProfile.Profile(time.process_time), time.process_time()
    for request in requests:
        profile.runcall(answered, session, request)
    used = 1e3 * (time.process_time() - start) / len(requests)
    stats = pstats.Stats(profile, stream=StringIO()).stats  # type: ignore[attr-defined] # it has no types
    click.echo(f"\n{name}: {used:,.2f} ms of processor time a call, while profiled")
    click.echo(f"{'us':>10} {'calls':>8}  function")
    hottest = sorted(stats.items(), key=lambda each: -each[1][2])[:lines]
    for (file, line, function), (_, calls, own, *_) in hottest:
        location = f"{'/'.join(Path(file).parts[-2:])}:{line} " if line else ""
        click.echo(f"{1e6 * own / len(requests):>10,.1f} {calls / len(requests):>8,.0f}  {location}{function}")


class _Reply(TMemoryBuffer):  # type: ignore[misc] # it has no types
    """A reply in memory. `written`: its bytes so far."""

    @property
    def written(self) -> int:
        return int(self._buffer.tell())


class _Request(TMemoryBuffer):  # type: ignore[misc] # it has no types
    """A message in memory, which can be read again as on a socket. `consumed`: the bytes that have been read."""

    @property
    def consumed(self) -> int:
        return int(self._buffer.tell())

    def mark(self) -> None:
        self._at = self._buffer.tell()

    def rewind(self) -> None:
        self._buffer.seek(self._at)


if __name__ == "__main__":
    main()
