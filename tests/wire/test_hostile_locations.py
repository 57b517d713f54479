"""Malicious locations, call by call, in a process that watches itself: it records the paths that it opens, lists,
creates, moves, deletes or connects to, also for reading only.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.app.worker import Application
from metastore.errors import MetastoreError
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.wire.builders import descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import Catalog, CreateCatalogRequest, Database, Partition, StorageDescriptor
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CheckFilesRequest,
    CleanRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    Rename,
    RenewWriteRequest,
    SkewedLocation,
    UndropRequest,
)

KEYS = [("ds", "string")]
PURGED = {"EXTERNAL": "TRUE", "external.table.purge": "true"}
_CONNECTING = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.system")
_WATCHED = ("open", "os.", "shutil.", "glob.", "pathlib.")
_OUR_OWN = (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), str(Path(__file__).parents[2]))


class Tripwire:
    """Records accesses outside of a folder (Python's audit events) by this thread and those that it starts."""

    def __init__(self) -> None:
        self._inside: str | None = None
        self._others: set[int | None] = set()
        self.crossed: list[str] = []
        sys.addaudithook(self._told)  # permanently: an audit hook cannot be removed

    @contextmanager
    def around(self, folder: Path) -> Iterator[None]:
        """Fails if something outside of the folder is accessed in this block."""
        self.crossed.clear()
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
        self._inside = str(folder)
        try:
            yield
        finally:
            self._inside = None

    def _told(self, event: str, given: tuple[Any, ...]) -> None:
        if self._inside is None or threading.get_ident() in self._others:
            return
        if event in _CONNECTING:
            self.crossed.append(f"{event} {given[1:]}")
        elif event.startswith(_WATCHED):
            paths = (os.fsdecode(each) for each in given[:2] if isinstance(each, str | bytes))
            self.crossed += [
                f"{event} {path}" for path in paths if path.startswith(("/", "~", ".")) and not self._is_own(path)
            ]

    def _is_own(self, path: str) -> bool:
        return any(path == folder or path.startswith(f"{folder}/") for folder in (self._inside, *_OUR_OWN))


TRIPWIRE = Tripwire()


class Installation:
    """A metastore whose only root is its warehouse, and a folder outside that must stay untouched."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.warehouse, self.outside = folder / "warehouse", folder / "outside"
        for location in ("t/ds=1", "more", "gone", "plain"):
            (self.outside / location).mkdir(parents=True)
            (self.outside / location / "rows").write_text("12345")
        settings = Settings(
            warehouse=str(self.warehouse), allowed_locations="", database_url=database_url, drop_retention=3600
        )
        self.on_step: Callable[[str], object] = lambda _: None
        self.application = Application(settings, database_url, lambda step: self.on_step(step))
        self.application.services.databases.bootstrap()
        self.fill()

    def fill(self) -> None:
        """Creates tables with rows, and links."""
        for each in ("db", "gone"):
            self("create_database", Database(each))
        for name in ("plain", "p", "source"):
            self("create_table", table("db", name, KEYS if name != "plain" else ()))
        self("add_partition", partition("db", "p", ["0"]))
        for location in ("db.db/plain", "db.db/p/ds=0"):
            (self.warehouse / location / "rows").write_text("rows")
        for link, target in {"link": self.outside, "loop": "loop", "broken": "nowhere", "db.db/p/link": "/etc"}.items():
            (self.warehouse / link).symlink_to(target)
        self.query_id = self("begin_write", BeginWriteRequest("db", "p", None, 1)).queryId

    def clear(self) -> None:
        """Drops everything."""
        for each in self("get_all_databases"):
            if each != "default":
                self("drop_database", each, True, True)
        shutil.rmtree(self.warehouse)
        self.warehouse.mkdir()

    def __call__(self, name: str, *arguments: Any) -> Any:
        return called(self.application, name, *arguments)


@pytest.fixture
def installation(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setenv("HOME", str(tmp_path / "outside"))
    installation = Installation(database_url, tmp_path)
    monkeypatch.chdir(tmp_path / "outside")
    yield installation
    installation.application.close()


SPELLINGS = (
    # dots and slashes that a client may decode, fold or strip
    "<deep>/%2e%2e/%2e%2e/%2e%2e/outside/t",
    "<deep>/..%2f..%2f..%2foutside/t",
    "<deep>/%c0%ae%c0%ae/%c0%ae%c0%ae/outside",
    "<deep>/..\\..\\..\\outside\\t",
    "<deep>/\u2024\u2024/\u2024\u2024/\u2024\u2024/outside",
    "<deep>/..\u2044..\u2044..\u2044outside",
    "<deep>/.. /.. /.. /outside",
    "<deep>/..\x00/..\x00/outside",
    "<deep>/\x00/../../../../outside/t",
    "<deep>\x00<outside>",
    "<deep>/ds=1\n<outside>/t",
    "<deep>/ds=1\r\nHost: x\r\n",
    "<deep>/\u202e/../../../../outside/t",
    # normal forms that end outside
    "<deep>/../../../outside/t",
    "<warehouse>/<up>/t",
    "<warehouse>//..//outside//t//",
    "<warehouse>/../warehouse2/t",
    "<warehouse>x/t",
    "/../../..<outside>/t",
    "file:/..<outside>/t",
    "file:////<outside>/t",
    "file://///..//<outside>/t",
    "FILE:<outside>/t",
    "local:<outside>/../outside/t",
    "file:<warehouse>/../outside/t?a=b",
    # other hosts
    "file://user:password@localhost<outside>/t",
    "file://localhost@evil<outside>/t",
    "file://[::1]:80<outside>/t",
    "file://0x7f.1<outside>/t",
    "file://localhost.<outside>/t",
    "file:@<outside>/t",
    "file::<outside>/t",
    "file:file:<outside>/t",
    " file:<outside>/t",
    "\ufefffile:<outside>/t",
    "\uff46ile:<outside>/t",
    "http://127.0.0.1:1/t?location=file:/x",
    "https://user:password@127.0.0.1:1/t",
    "hdfs://127.0.0.1:1/../t",
    "hdfs://[::1]:1/t",
    "har:///x.har/t",
    "s3a://bucket/../../other/t",
    "s3a://key:secret@bucket/t",
    "s3a://bucket/t\nx",
    "s3a://127.0.0.1:1/t",
    "abfss://container@account.dfs.core.windows.net@127.0.0.1:1/t",
    "oss://bucket/t",
    "jdbc:postgresql://127.0.0.1:1/t",
    "data:text/plain,x",
    # too long, too short
    "<deep>/" + "../" * 500 + "<outside>/t",
    "<warehouse>/" + "a" * 256,
    "$HOME/t",
    "<warehouse>/broken/t",
)
"""Ways to leave the warehouse, or to seem to leave it."""


def spellings(warehouse: Path, outside: Path) -> list[str]:
    known = {"deep": f"{warehouse}/db.db/p", "up": os.path.relpath(outside, warehouse)}
    known |= {"warehouse": str(warehouse), "outside": str(outside)}
    return [re.sub("<(deep|up|warehouse|outside)>", lambda actual: known[actual[1]], text) for text in SPELLINGS]


def taking(installation: Installation, location: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Passes a location to all calls that take one."""

    def sd(places: str | None = location, value: str | None = None) -> StorageDescriptor:
        maps = skewed(["a"], [["1"]])
        if value is not None:
            maps.skewedColValueLocationMaps = {("1",): value}
        return descriptor(places, skewedInfo=maps, storedAsSubDirectories=True)

    def part(name: str, value: str, own: StorageDescriptor) -> Partition:
        return partition("db", name, [value], sd=own)

    yield "create_catalog", (CreateCatalogRequest(Catalog("c", None, location)),)
    yield "create_database", (Database("d", None, location),)
    yield "alter_database", ("gone", Database("gone", None, location))
    yield "create_table", (table("db", "t", sd=sd()),)
    yield "create_table", (table("db", "skew", sd=sd(None, location)),)
    yield "create_table", (table("db", "e", KEYS, parameters=dict(PURGED), sd=sd()),)
    yield "create_table", (table("db", "flat", parameters=dict(PURGED), sd=sd(location, f"{location}/a=1")),)
    yield "add_partition", (part("p", "1", sd()),)
    yield "add_partitions", ([part("p", "2", sd(None, location)), part("p", "3", sd(None, f"{location}/x"))],)
    yield "add_partition", (part("e", "1", sd()),)
    yield "alter_table", ("db", "plain", table("db", "plain", sd=sd()))
    yield "alter_table", ("db", "plain", table("db", "plain", sd=sd(f"{installation.warehouse}/db.db/plain", location)))
    yield "alter_partition", ("db", "p", part("p", "0", sd()))
    yield "alter_partition", ("db", "p", part("p", "0", sd(f"{installation.warehouse}/db.db/p/ds=0", location)))
    mine = f"{installation.warehouse}/db.db/p/_versions/q"
    renames = [Rename(location, mine), Rename(mine, location)]
    yield "renew_write", (RenewWriteRequest(installation.query_id, [location]),)
    yield "renew_write", (RenewWriteRequest(installation.query_id, None, [location]),)
    yield "renew_write", (RenewWriteRequest(installation.query_id, None, None, renames),)
    for mode in (PublishMode.CREATE, PublishMode.OVERWRITE, PublishMode.APPEND):
        for entry in (
            PublishPartition(["0"], mode, location, []),
            PublishPartition(["4"], mode, mine, [SkewedLocation(["1"], location)], None, None, ["a"], [["1"]]),
        ):
            yield "publish", (PublishRequest("db", "p", installation.query_id, [entry]),)
    yield "publish", (PublishRequest("db", "p", installation.query_id, [], None, [location]),)
    yield "undrop", (UndropRequest("db", "plain", None, None, location),)
    yield "undrop", (UndropRequest("db", "p", None, location),)
    yield "undrop", (UndropRequest(location),)


ACTING: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("exchange_partition", ({"ds": "1"}, "db", "p", "db", "source")),
    ("exchange_partition", ({"ds": "1"}, "db", "source", "db", "p")),
    ("drop_partition", ("db", "p", ["0"], True)),
    *(
        call
        for name in ("plain", "p", "t", "skew", "e", "flat")
        for call in (
            ("truncate_table", ("db", name, None)),
            ("drop_table", ("db", name, True)),
            ("undrop", (UndropRequest("db", name, None, None, f"{name}2"),)),
            ("drop_table", ("db", f"{name}2", True)),
        )
    ),
    ("clean", (CleanRequest(graceMillis=0, unregistered=True),)),
    ("check_files", (CheckFilesRequest(repair=True),)),
    ("drop_database", ("d", True, True)),
)
"""What acts on what was taken."""


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.long)])
def test_no_location_is_resolved_outside_the_roots(installation: Installation, half: int) -> None:
    before = outside(installation)
    with TRIPWIRE.around(installation.warehouse):
        list(installation.outside.iterdir())
    assert len(TRIPWIRE.crossed) == 1, "it tells what is only listed"
    for location in spellings(installation.warehouse, installation.outside)[half::2]:
        taken = False
        with TRIPWIRE.around(installation.warehouse):
            for name, arguments in taking(installation, location):
                with suppress(TException, TExceptionBase, MetastoreError):
                    installation(name, *arguments)
                    taken = True
            for name, arguments in ACTING if taken else ():
                with suppress(TException, TExceptionBase, MetastoreError):
                    installation(name, *arguments)
        assert TRIPWIRE.crossed == [], location
        assert outside(installation) == before, location
        if taken:
            installation.clear()
            installation.fill()


def outside(installation: Installation) -> list[str]:
    return sorted(f"{path} {path.lstat().st_size}" for path in installation.outside.rglob("*"))


SWAPPED: dict[str, tuple[Callable[[Installation, str], object], tuple[str, ...]]] = {
    "create_table": (lambda installation, db: installation("create_table", table(db, "new")), ("intended", "made")),
    "add_partition": (
        lambda installation, db: installation("add_partition", partition(db, "t", ["2"])),
        ("intended", "made"),
    ),
    "truncate": (
        lambda installation, db: installation("truncate_table", db, "t", None),
        ("committed", "claimed", "put away"),
    ),
    "drop_partition": (
        lambda installation, db: installation("drop_partition", db, "t", ["1"], True),
        ("committed", "claimed", "put away"),
    ),
    "drop_table": (
        lambda installation, db: installation("drop_table", db, "t", True),
        ("committed", "claimed", "put away"),
    ),
    "drop_database": (lambda installation, db: installation("drop_database", db, True, True), ("committed", "claimed")),
    "rename": (
        lambda installation, db: installation(
            "rename_partition", db, "t", ["1"], partition(db, "t", ["9"], sd=descriptor(None))
        ),
        ("committed", "claimed"),
    ),
    "exchange": (
        lambda installation, db: installation("exchange_partition", {"ds": "1"}, db, "t", db, "more"),
        ("committed", "claimed"),
    ),
    "undrop": (lambda installation, db: installation("undrop", UndropRequest(db, "gone")), ("committed", "claimed")),
}


def test_a_link_that_appears_between_two_steps_is_not_followed(installation: Installation) -> None:
    """A directory that was checked becomes a link to the outside before the operation."""
    before = outside(installation)
    cases = [(name, step) for name, (_, steps) in SWAPPED.items() for step in steps]
    for number, (name, step) in enumerate(cases):
        db, swapped = f"s{number}", []
        installation("create_database", Database(db))
        for each in ("t", "more", "gone"):
            installation("create_table", table(db, each, KEYS))
            (installation.warehouse / f"{db}.db" / each / "rows").write_text("rows")
        installation("add_partition", partition(db, "t", ["1"]))
        installation("drop_table", db, "gone", True)

        def swap(told: str, db: str = db, step: str = step, swapped: list[str] = swapped) -> None:
            if told == step and not swapped:
                swapped.append(told)
                (installation.warehouse / f"{db}.db").rename(installation.warehouse.parent / f"was {db}")
                (installation.warehouse / f"{db}.db").symlink_to(installation.outside)

        installation.on_step = swap
        with suppress(TException, TExceptionBase, MetastoreError):
            SWAPPED[name][0](installation, db)
        installation.application.journal.recover()
        assert swapped, (name, step)
        assert outside(installation) == before, (name, step)
