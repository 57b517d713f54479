"""Following Hive 2.3.10 and 3.1.3 through Thrift and from their databases, while writers change them.

Also the switch from Hive 2.3.10, and the way back.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest
from sqlalchemy.engine import URL

from metastore.domain.names import DatabaseName
from metastore.importing.following.follower import Follower
from metastore.importing.following.running import follow
from metastore.importing.returning.returner import Returner
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.switching import switch
from metastore.importing.verifying import Difference
from tests.bench.following.writers import DATABASES, Writer
from tests.fixtures.real_hive import JARS, RealHive, running_real_hive, why_not
from tests.fixtures.server import Server, connected, running
from tests.interop.hive_schema import servers
from tests.interop.maven import UnavailableError, fetched
from tests.interop.report import Report
from tests.interop.sources import RealSource, on_postgresql, postgresql
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database

LISTENER = "org.apache.hive.hcatalog:hive-hcatalog-server-extensions:2.3.10"
pytestmark = pytest.mark.timeout(1800)
SECONDS = 30.0
WRITERS = 8
SECONDS_OF_WRITERS = float(os.environ.get("METASTORE_SECONDS_OF_WRITERS", "60"))
FORMATS = {"3.1": "json-0.2"}
"""The formats of messages in the logs that the versions write."""
KINDS = ("create_table", "rename_table", "add_partitions", "drop_partition", "database")
NAMES = [DatabaseName("hive", f"db{number}") for number in range(DATABASES)]
OURS = ("createTime", "parameters.transient_lastDdlTime")
"""What Hive sets itself when objects go back."""


@pytest.fixture
def hive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealHive]:
    """Hive 2.3.10 with its notification log, on Derby."""
    if reason := why_not():
        pytest.skip(reason)
    try:
        monkeypatch.setenv(JARS, str(fetched(LISTENER, ".jar").parent))
    except UnavailableError as error:
        pytest.skip(str(error))
    (folder := tmp_path / "hive").mkdir()
    with running_real_hive(folder, options=("-Xmx512m",)) as hive:
        assert hive.notifies
        yield hive


def written(side: RealHive | Server, seed: int, during: Callable[[], object]) -> int:
    """Changes one side and calls `during` meanwhile. One writer: Derby locks whole tables. Returns the changes."""
    stopped = Event()
    location = SimpleNamespace(host=side.host, port=side.port)
    writer = Writer(location, seed, stopped)
    writer.start()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        during()
    stopped.set()
    writer.join()
    return writer.counts.total()


def returned(hive: RealHive, uri: str) -> list[Difference]:
    differences = compare(hive.uri, uri, Selection(frozenset(NAMES)))
    kinds = ("database", "table", "partition")
    return [one for one in differences if one.kind in kinds and one.field not in OURS]


def test_hive_is_followed_switched_and_kept_up_to_date(hive: RealHive, database_url: str, tmp_path: Path) -> None:
    with connected(hive, ThriftHiveMetastore) as client:
        for name in NAMES:
            client.create_database(Database(name.name))
    copy(hive.uri, database_url)
    (folder := tmp_path / "ours").mkdir()
    with (
        running(database_url, folder) as server,
        closing(open_source(hive.uri)) as source,
        closing(open_source(server.uri)) as ours,
        closing(ThriftCalls(hive.uri)) as calls,
        opened(database_url) as store,
    ):
        follower = Follower(source, store)
        with follower.lock() as is_held:
            assert is_held
            assert written(hive, 1, follower.step) > 0
            follower.catch_up()
        assert compare(hive.uri, server.uri) == []
        assert list(switch(store, hive.uri, NAMES, force=True).databases) == NAMES
        returner = Returner(store, hive.uri, ours, source, calls)
        with returner.lock():
            assert written(server, 5, returner.step) > 0
            returner.catch_up()
        assert returned(hive, server.uri) == []


@pytest.fixture(scope="module")
def postgres() -> Iterator[URL]:
    if reason := why_not():
        pytest.skip(reason)
    with postgresql() as url:
        yield url


@pytest.mark.parametrize("version", servers.LISTENERS)
def test_eight_writers_of_a_real_server_are_followed(
    version: str,
    postgres: URL,
    make_database: Callable[[], str],
    new_report: Callable[[str], Report],
    tmp_path: Path,
) -> None:
    """Two followers apply the same changes: one reads them through Thrift, the other from the database."""
    report = new_report(f"Hive {version} with {WRITERS} writers for {SECONDS_OF_WRITERS:.0f} s")
    with on_postgresql(version, postgres, tmp_path, notifies=True) as source, ExitStack() as stack:
        with connected(source.hive, ThriftHiveMetastore) as client:
            for name in NAMES:
                client.create_database(Database(name.name))
        targets = {address: make_database() for address in (source.hive.uri, source.database)}
        for address, url in targets.items():
            copy(address, url)
        lines: list[str] = []
        stopped = Event()
        followers = [
            Thread(target=follow, args=(stack.enter_context(opened(url)), address, stopped, lines.append))
            for address, url in targets.items()
        ]
        for thread in followers:
            thread.start()
        changes = changed_by_writers(source)
        stopped.set()
        for thread in followers:
            thread.join()
        report.add("changes", f"{changes.total()}: {dict(changes)}")
        assert formats_of(source) == {FORMATS[version]}
        for number, (address, url) in enumerate(targets.items()):
            catch_up(address, url, lines.append)
            (folder := tmp_path / f"ours{number}").mkdir()
            with running(url, folder) as server:
                for side in targets:
                    assert compare(side, server.uri) == []
            report.add("followed", address.partition(":")[0])
        assert [line for line in lines if "comparing everything" in line] == []


def changed_by_writers(source: RealSource) -> Counter[str]:
    """Changes a source until it has accepted some changes of each kind, and returns them."""
    stopped = Event()
    location = SimpleNamespace(host=source.hive.host, port=source.hive.port)
    writers = [Writer(location, seed, stopped) for seed in range(WRITERS)]
    for writer in writers:
        writer.start()
    until = time.monotonic() + SECONDS_OF_WRITERS
    while time.monotonic() < until or not {*KINDS} <= {kind for writer in writers for kind in list(writer.counts)}:
        time.sleep(1)
    stopped.set()
    for writer in writers:
        writer.join()
    return sum((writer.counts for writer in writers), Counter[str]())


def catch_up(address: str, url: str, say: Callable[[str], object]) -> None:
    """Applies the changes that a follower has not applied yet."""
    with closing(open_source(address)) as source, opened(url) as store:
        follower = Follower(source, store, say)
        with follower.lock() as is_held:
            assert is_held
            follower.catch_up()


def formats_of(source: RealSource) -> set[str]:
    """Returns the formats of the messages in the notification log."""
    with closing(open_source(source.database)) as reader:
        return {str(event.messageFormat) for event in reader.events(0, 1_000)}
