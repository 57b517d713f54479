"""Followers of one source, through Thrift and from its database, and writers that change it meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

from metastore.importing.follower.follower import Follower
from metastore.importing.follower.loop import follow
from metastore.importing.sources.opening import open_source
from metastore.importing.verifier import Difference
from tests.fixtures.server import connected, running
from tests.interop.following_writers import DATABASES, Writer
from tests.interop.sources import RealSource
from tests.wire.builders import table
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database, NotificationEvent

WRITERS = 8
KINDS = {"create_table", "rename_table", "add_partitions", "drop_partition", "database"}
_LONGEST = 600.0  # seconds in which writers make changes of all kinds


def copied(source: RealSource, make_database: Callable[[], str]) -> dict[str, str]:
    """Creates the writers' databases, and copies the source twice. Returns the copies by the address that was read.

    One table is in a database that no writer changes, so that a comparison always has something to compare.
    """
    with connected(source.hive, ThriftHiveMetastore) as client:
        client.create_database(Database("untouched"))
        client.create_table(table("untouched", "t", [("ds", "string")]))
        for number in range(DATABASES):
            client.create_database(Database(f"db{number}"))
    targets = {address: make_database() for address in (source.hive.uri, source.database)}
    for address, url in targets.items():
        copy(address, url)
    return targets


@contextmanager
def followed(targets: Mapping[str, str], say: Callable[[str], object]) -> Iterator[None]:
    """Runs a follower for each copy."""
    stopped = Event()
    with ExitStack() as stack:
        followers = [
            Thread(target=follow, args=(stack.enter_context(opened(url)), address, stopped, say))
            for address, url in targets.items()
        ]
        for thread in followers:
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            for thread in followers:
                thread.join()


def changed_by_writers(source: RealSource, seconds: float, steps: Iterable[None] = ()) -> Counter[str]:
    """Changes a source for some time, and until it has accepted some changes of each kind, and returns them.

    `steps`: made meanwhile, evenly over the time.
    """
    stopped = Event()
    location = SimpleNamespace(host=source.hive.host, port=source.hive.port)
    writers = [Writer(location, seed, stopped) for seed in range(WRITERS)]
    for writer in writers:
        writer.start()
    begun, left = time.monotonic(), iter(steps)
    while time.monotonic() - begun < _LONGEST:
        time.sleep(seconds / 8)
        is_last = next(left, "last") == "last"
        complete = {kind for writer in writers for kind in list(writer.counts)} >= KINDS
        if is_last and complete and time.monotonic() - begun > seconds:
            break
    stopped.set()
    for writer in writers:
        writer.join()
    return sum((writer.counts for writer in writers), Counter[str]())


def still_different(targets: Mapping[str, str], folder: Path, say: Callable[[str], object]) -> list[Difference]:
    """Applies the last changes to each copy, and compares it with the source through Thrift and from the database."""
    differences: list[Difference] = []
    for number, (address, url) in enumerate(targets.items()):
        with closing(open_source(address)) as source, opened(url) as store:
            follower = Follower(source, store, say)
            with follower.lock() as is_held:
                assert is_held
                follower.catch_up()
        (ours := folder / f"ours{number}").mkdir()
        with running(url, ours) as server:
            for side in targets:
                differences += compare(side, server.uri)
    return differences


def events_of(source: RealSource) -> list[NotificationEvent]:
    """Returns the notification log."""
    with closing(open_source(source.database)) as reader:
        return reader.events(0, 1_000_000)
