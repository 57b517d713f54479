"""Following Hive 2.3.10 through Thrift while a writer changes it, the switch, and the way back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from metastore.domain.names import DatabaseName
from metastore.importing.follower.follower import Follower
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.takeover import switch
from metastore.importing.verifier import Difference
from metastore.importing.way_back.returner import Returner
from tests.fixtures.real_hive import JARS, RealHive, running_real_hive, why_not
from tests.fixtures.server import Server, connected, running
from tests.interop.following_writers import DATABASES, Writer
from tests.interop.maven import UnavailableError, fetched
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database

LISTENER = "org.apache.hive.hcatalog:hive-hcatalog-server-extensions:2.3.10"
pytestmark = pytest.mark.timeout(1800)
SECONDS = 30.0
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
