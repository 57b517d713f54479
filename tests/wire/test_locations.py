"""Malicious locations: nothing outside of the roots is contacted, created, counted, moved or deleted."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.app.worker import Application
from metastore.errors import InvalidOperationError
from tests.fixtures.application import called
from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, partition, skewed, table, unique
from tests.wire.odd_locations import elsewhere, odd
from thrift_idl.gen.hive_metastore.ttypes import Catalog, CreateCatalogRequest, Database, MetaException
from thrift_idl.gen.metastore.ttypes import (
    CheckFilesRequest,
    CleanRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
)

KEYS = [("ds", "string")]
PURGED = {"EXTERNAL": "TRUE", "external.table.purge": "true"}


class Listener:
    """Waits for requests, and counts them."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.requests = 0
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            first = connection.recv(100)
            connection.close()
            if first == b"end":
                return
            self.requests += 1

    def close(self) -> int:
        """Stops. Returns the number of requests."""
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.send(b"end")
        self._thread.join()
        self._socket.close()
        return self.requests


@pytest.fixture
def listener() -> Iterator[Listener]:
    waiting = Listener()
    yield waiting
    assert waiting.close() == 0


@pytest.fixture
def confined(
    database_url: str, start_metastore: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Server:
    """A server whose only root is its warehouse, and whose home and working folder are watched."""
    (tmp_path / "outside" / "home").mkdir(parents=True)
    (tmp_path / "outside" / "precious").write_text("12345")
    monkeypatch.setenv("HOME", str(tmp_path / "outside" / "home"))
    monkeypatch.chdir(tmp_path / "outside")
    return start_metastore(database_url, "--allowed-locations", "")


@pytest.fixture
def client(confined: Server) -> Iterator[Any]:
    with connected(confined) as client:
        client.create_database(Database("db"))
        client.create_table(table("db", "p", KEYS))
        client.add_partition(partition("db", "p", ["0"]))
        client.create_table(table("db", "plain"))
        yield client


def below(folder: Path | str) -> list[str]:
    """Returns the files below a folder with their sizes, except the server's own (`.metastore_…`)."""
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    own = [path for path in files if not any(name.startswith(".metastore_") for name in path.parts)]
    return sorted(f"{path} {path.lstat().st_size}" for path in own)


def hostile(warehouse: str, outside: Path, port: int) -> list[str]:
    path = warehouse.removeprefix("file:")
    at, up = f"127.0.0.1:{port}", os.path.relpath(outside, path)
    return [
        *(f"{scheme}://{at}/x/y" for scheme in ("http", "https", "ftp", "webhdfs", "sftp", "smb", "git", "dask")),
        *(f"{scheme}://x/y" for scheme in ("memory", "github", "zip", "tar", "reference", "data", "jar", "nowhere")),
        f"simplecache::http://{at}/x",
        f"filecache::file:{outside}/a",
        f"{outside}/a",
        f"file:{outside}/a",
        f"local:{outside}/a",
        f"local://{outside}/a",
        f"LOCAL://localhost{outside}/a",
        f"file:{path}/../../../{outside}/a",
        f"{path}/{up}/a",
        f"file:///{path}//{up}//a",
        "file://~/a",
        "file://../a",
        "file://./a",
        "file://home/a",
        f"file://{at}/a",
        f"{path}/link/a",
        f"{path}/link",
        "/etc/metastore_hostile",
        "s3://../a",
        "s3a://bucket@/a b",
        "file:relative",
        "~/a",
        "no uri at all",
        "file:/",
        "s3a://",
        ":",
        "%2fetc",
    ]


def test_no_managed_location_is_outside_the_roots(
    confined: Server, client: Any, tmp_path: Path, listener: Listener
) -> None:
    path, outside = Path(confined.warehouse.removeprefix("file:")), tmp_path / "outside"
    (path / "link").symlink_to(outside)
    before, made = (
        below(outside),
        sorted(each.name for each in path.iterdir() if not each.name.startswith(".metastore_")),
    )
    plain, part = client.get_table("db", "plain"), client.get_partition("db", "p", ["0"])
    for location in hostile(confined.warehouse, outside, listener.port):
        moved, elsewhere = (
            table("db", "plain", sd=descriptor(location)),
            partition("db", "p", ["0"], sd=descriptor(location)),
        )
        entry = PublishPartition(["0"], PublishMode.OVERWRITE, location, [])
        for call, arguments in {
            client.create_table: (table("db", "t", sd=descriptor(location)),),
            client.create_database: (Database("d", None, location),),
            client.create_catalog: (CreateCatalogRequest(Catalog("c", None, location)),),
            client.alter_database: ("db", Database("db", None, location)),
            client.add_partition: (partition("db", "p", ["1"], sd=descriptor(location)),),
            client.add_partitions: ([partition("db", "p", ["1"], sd=descriptor(location))],),
            client.alter_table: ("db", "plain", moved),
            client.alter_partition: ("db", "p", elsewhere),
            client.publish: (PublishRequest("db", "p", "q", [entry]),),
        }.items():
            if location == "no uri at all" and call == client.alter_partition:
                continue  # a name below the table's directory, as in Hive
            with pytest.raises(Exception, match=r"locat|authority|scheme") as raised:
                call(*arguments)
            assert "\n" not in str(raised.value.message), (location, call)
    assert below(outside) == before
    names = sorted(each.name for each in path.iterdir() if not each.name.startswith(".metastore_"))
    assert names == made
    assert not Path("/etc/metastore_hostile").exists()
    assert client.get_all_tables("db") == ["p", "plain"]
    assert client.get_table("db", "plain") == plain
    assert client.get_partition("db", "p", ["0"]) == part


def test_accepted_locations_are_inside_the_roots(
    confined: Server, client: Any, tmp_path: Path, listener: Listener
) -> None:
    """Creates, alters, adds, exchanges, truncates and drops: no host is contacted, and nothing outside changes."""
    path, outside = Path(confined.warehouse.removeprefix("file:")), tmp_path / "outside"
    client.create_table(table("db", "other", KEYS))
    (path / "db.db" / "other" / "rows").write_text("rows")
    before = below(outside), below(path), sorted(str(each) for each in outside.rglob("*"))
    told: list[str] = []
    for location in [*odd(confined.warehouse, outside), *elsewhere(confined.warehouse, outside, listener.port)]:
        purged = table("db", "e", KEYS, parameters=dict(PURGED), sd=descriptor(location))
        added = partition("db", "p", ["1"], sd=descriptor(location))
        for call, arguments in (
            (client.create_table, (table("db", "t", sd=descriptor(location)),)),
            (client.create_table, (purged,)),
            (client.create_database, (Database("d", None, location),)),
            (client.add_partition, (added,)),
            (client.add_partition, (partition("db", "e", ["1"], sd=descriptor(location)),)),
            (client.alter_partition, ("db", "p", added)),
            (client.alter_table, ("db", "t", table("db", "t", sd=descriptor(location)))),
            (client.exchange_partition, ({"ds": "1"}, "db", "p", "db", "other")),
            (client.exchange_partition, ({"ds": "1"}, "db", "other", "db", "p")),
            (client.truncate_table, ("db", "t", None)),
            (client.truncate_table, ("db", "e", None)),
            (client.drop_partition, ("db", "p", ["1"], True)),
            (client.drop_table, ("db", "t", True)),
            (client.drop_table, ("db", "e", True)),
            (client.drop_database, ("d", True, True)),
        ):
            try:
                call(*arguments)
            except (TException, TExceptionBase) as error:
                told.append(str(getattr(error, "message", error)))
    assert (below(outside), below(path), sorted(str(each) for each in outside.rglob("*"))) == before
    assert client.get_all_tables("db") == ["other", "p", "plain"]
    assert [text for text in told if "\n" in text] == []


@pytest.mark.parametrize("undrop", ["0", "86400"])
def test_a_link_that_appears_later_is_not_followed(
    undrop: str, database_url: str, start_metastore: Callable[..., Server], tmp_path: Path
) -> None:
    """A directory that was registered, or one above it, has become a link."""
    server = start_metastore(database_url, "--allowed-locations", "", "--drop-retention", undrop)
    path, outside = Path(server.warehouse.removeprefix("file:")), tmp_path / "outside"
    (outside / "t" / "ds=1").mkdir(parents=True)
    (outside / "t" / "ds=1" / "rows").write_text("rows")
    before = sorted(str(each) for each in outside.rglob("*"))
    with connected(server) as client:
        for name, target in (("d", outside), ("x", outside / "t"), ("y", outside / "t")):
            client.create_database(Database(name))
            client.create_table(table(name, "t", KEYS))
            client.add_partition(partition(name, "t", ["1"]))
            changed = path / f"{name}.db" if name == "d" else path / f"{name}.db" / "t"
            changed.rename(tmp_path / f"was {name}")
            changed.symlink_to(target)
            for call, arguments in (
                (client.truncate_table, (name, "t", None)),
                (client.add_partition, (partition(name, "t", ["2"]),)),
                (client.drop_partition, (name, "t", ["1"], True)),
                (client.drop_table, (name, "t", True)),
                (client.drop_database, (name, True, True)),
                (client.clean, (CleanRequest(graceMillis=0, unregistered=True),)),
                (client.check_files, (CheckFilesRequest(repair=True),)),
            ):
                with suppress(TException, TExceptionBase):
                    call(*arguments)
    assert sorted(str(each) for each in outside.rglob("*")) == before


def test_a_refusal_names_the_location_the_rule_and_the_setting(client: Any) -> None:
    with pytest.raises(
        MetaException, match=r"location file:/etc/x is outside file:/.*/warehouse.*METASTORE_ALLOWED_LOCATIONS"
    ):
        client.create_table(table("db", "t", sd=descriptor("/etc/x")))
    with pytest.raises(MetaException, match=r"location ftp://h/x has the scheme ftp.*METASTORE_ALLOWED_LOCATIONS"):
        client.create_table(table("db", "t", sd=descriptor("ftp://h/x")))


@pytest.mark.parametrize("scheme", ["wasbs", "viewfs", "oss", "abfss", "gs", "cosn", "obs", "alluxio"])
def test_an_external_table_may_have_any_scheme(client: Any, scheme: str) -> None:
    """The server registers it and touches no file, so it needs no library for the scheme."""
    location = f"{scheme}://store/data/{scheme}"
    client.create_table(table("db", scheme, KEYS, parameters={"EXTERNAL": "TRUE"}, sd=descriptor(location)))
    client.add_partition(partition("db", scheme, ["1"]))
    assert client.get_table("db", scheme).sd.location == location
    assert client.get_partition("db", scheme, ["1"]).sd.location == f"{location}/ds=1"
    client.drop_table("db", scheme, True)


def test_a_root_with_an_unknown_scheme_does_not_stop_the_server(
    database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url, "--allowed-locations", "viewfs://cluster/data wasbs://store/x")
    with connected(server) as client:
        assert client.get_all_databases() == ["default"]


@pytest.mark.parametrize("parameters", [PURGED, {"EXTERNAL": "TRUE"}])
def test_external_tables_outside_the_roots_are_never_touched(
    client: Any, tmp_path: Path, parameters: dict[str, str]
) -> None:
    outside = tmp_path / "outside"
    directory = outside / "data" / "ds=1"
    directory.mkdir(parents=True)
    (directory / "rows").write_text("rows")
    before = below(outside)
    sd = descriptor(f"file:{directory.parent}", skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
    client.create_table(table("db", "e", KEYS, parameters=dict(parameters), sd=sd))
    client.create_table(table("db", "flat", parameters=dict(parameters), sd=descriptor(f"file:{directory}")))
    client.create_table(table("db", "new", parameters=dict(parameters), sd=descriptor(f"file:{outside}/new")))
    client.create_table(table("db", "s3", parameters=dict(parameters), sd=descriptor("s3a://elsewhere/x")))
    client.add_partitions([partition("db", "e", [text]) for text in ("1", "2")])
    actual = [client.get_table("db", "flat"), client.get_partition("db", "e", ["1"])]
    assert not any("numFiles" in each.parameters for each in actual)
    for name in ("flat", "e"):
        with pytest.raises(MetaException):
            client.truncate_table("db", name, None)
    client.drop_partition("db", "e", ["1"], True)
    for name in ("e", "flat", "new", "s3"):
        client.drop_table("db", name, True)
    assert below(outside) == before
    assert not (outside / "new").exists()


def test_the_warehouse_survives(confined: Server, client: Any) -> None:
    warehouse = Path(confined.warehouse.removeprefix("file:"))
    (warehouse / "self").symlink_to(warehouse)
    (warehouse / "db.db" / "plain" / "rows").write_text("rows")
    before = below(warehouse)
    for spelling in ("local:{}", "local://{}", "{}", "file://localhost{}", "{}/x/..", "{}/self"):
        name = unique()
        client.create_table(table("db", name, sd=descriptor(spelling.format(warehouse))))
        with pytest.raises(MetaException, match="the warehouse"):
            client.truncate_table("db", name, None)
        client.drop_table("db", name, True)
        assert below(warehouse) == before, spelling


def test_directories_that_contain_other_tables_are_not_deleted(confined: Server, client: Any) -> None:
    """The folder of a database, and that of another table; external data in a database's folder."""
    warehouse = Path(confined.warehouse.removeprefix("file:"))
    client.create_database(Database("other"))
    client.create_table(table("other", "t", KEYS))
    (warehouse / "other.db" / "t" / "rows").write_text("rows")
    for spelling in ("local:{}", "{}//", "file:{}", "{}/../other.db"):
        above = spelling.format(warehouse / "other.db")
        client.create_table(table("db", "above", sd=descriptor(above)))
        client.create_table(table("db", "same", sd=descriptor(above.rstrip("/") + "/t")))
        before = below(warehouse)
        for name in ("above", "same"):
            with pytest.raises(MetaException, match="other objects use"):
                client.truncate_table("db", name, None)
            client.drop_table("db", name, True)
        assert below(warehouse) == before, spelling
    client.create_table(table("other", "e", parameters={"EXTERNAL": "TRUE"}))
    (warehouse / "other.db" / "e" / "rows").write_text("rows")
    client.drop_database("other", True, True)
    assert below(warehouse / "other.db") == [f"{warehouse}/other.db/e/rows 4"]


def test_places_of_databases_are_roots_where_none_are_named(
    database_url: str, start_metastore: Callable[..., Server], tmp_path: Path
) -> None:
    directory = tmp_path / "place"
    with connected(start_metastore(database_url, "--allowed-locations", str(directory))) as client:
        client.create_database(Database("d", None, str(directory)))
    warehouse = tmp_path / "warehouse"
    options = ("--allowed-locations", "", "--warehouse", str(warehouse))
    with connected(start_metastore(database_url, *options)) as client:
        client.create_table(table("d", "t"))
        assert (directory / "t").is_dir()
        client.drop_table("d", "t", True)
        assert not (directory / "t").exists()
        client.create_database(Database("inside"))
    with connected(start_metastore(database_url, *options)) as client:  # which knows both locations
        for name in ("d", "inside"):
            client.create_table(table(name, "t"))
            client.drop_database(name, True, True)
        assert directory.is_dir()
        assert not (directory / "t").exists()
        assert not (warehouse / "inside.db").exists()
        client.create_database(Database("inside"))
        client.create_database(Database("d", None, str(directory)))
    elsewhere = start_metastore(database_url, "--allowed-locations", str(tmp_path / "other"))
    with connected(elsewhere) as client, pytest.raises(MetaException, match="METASTORE_ALLOWED_LOCATIONS"):
        client.create_table(table("d", "t"))


def test_nothing_moves_to_another_file_system(application: Application) -> None:
    call = partial(called, application)
    call("create_database", Database(name="here"))
    call("create_database", Database(name="there", locationUri=f"memory://test/{unique()}"))
    call("create_table", table("here", "t", sd=descriptor(None)))
    stored = call("get_table", "here", "t").decode()
    location, stored.dbName = stored.sd.location, "there"
    with pytest.raises(InvalidOperationError, match=r"cannot be moved to memory://test/.*another file system"):
        call("alter_table", "here", "t", stored)
    assert call("get_table", "here", "t").decode().sd.location == location
    assert Path(location.removeprefix("file:")).is_dir()
