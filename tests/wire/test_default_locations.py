"""A new table or partition gets its default location only if no other one has it: both would show the same files."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from metastore.app.worker import Application
from metastore.encoding.binary import EncodedStruct
from metastore.errors import AlreadyExistsError, InvalidOperationError
from metastore.storage.unit_of_work import UnitOfWork
from tests.fixtures.application import called
from tests.wire.builders import partition, table
from tests.wire.test_cleaning_races import wait_for_a_lock
from thrift_idl.gen.hive_metastore.ttypes import Catalog, CreateCatalogRequest, Database, Table
from thrift_idl.gen.metastore.ttypes import UndropRequest

EXTERNAL = {"EXTERNAL": "TRUE"}
KEYS = [("ds", "string")]
TAKEN = "is used by another"


@pytest.fixture
def call(application: Application) -> Any:
    def call(name: str, *arguments: Any) -> Any:
        answer = called(application, name, *arguments)
        return answer.decode() if isinstance(answer, EncodedStruct) else answer

    for name in ("a", "b"):
        call("create_database", Database(name))
    return call


def external(database: str, name: str, location: str | None = None, keys: Any = ()) -> Table:
    new = table(database, name, keys, parameters=dict(EXTERNAL))
    new.tableType = "EXTERNAL_TABLE"
    new.sd.location = location
    return new


def managed(database: str, name: str, location: str | None = None) -> Table:
    new = table(database, name)
    new.sd.location = location
    return new


def rename(call: Any, old: str, database: str, name: str) -> str:
    """Renames a table of the database `a`. Returns its location."""
    stored = call("get_table", "a", old)
    renamed = copy.deepcopy(stored)
    renamed.dbName, renamed.tableName = database, name
    call("alter_table", "a", old, renamed)
    return str(stored.sd.location)


@pytest.mark.parametrize("target", [("a", "e2"), ("b", "e")])
def test_a_renamed_external_table_keeps_its_directory_for_itself(call: Any, target: tuple[str, str]) -> None:
    call("create_table", external("a", "e"))
    location = rename(call, "e", *target)
    assert call("get_table", *target).sd.location == location
    Path(location.removeprefix("file:"), "part-0").write_text("row")
    for new in (managed("a", "e"), managed("a", "e", location), external("a", "e")):
        with pytest.raises(InvalidOperationError, match=TAKEN):
            call("create_table", new)
    assert call("get_all_tables", "a") == [name for database, name in [target] if database == "a"]
    assert Path(location.removeprefix("file:"), "part-0").read_text() == "row"
    call("create_table", external("a", "e", location))  # the client has chosen it: Hive permits that
    call("create_table", managed("a", "other"))


def test_the_directory_of_an_overwritten_table_is_its_own(call: Any) -> None:
    call("create_table", external("a", "e"))
    home = call("get_table", "a", "e").sd.location
    changed = call("get_table", "a", "e")
    changed.sd.location = f"{home}/_versions/1"
    call("alter_table", "a", "e", changed)
    rename(call, "e", "a", "e2")
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("create_table", managed("a", "e"))


def test_a_name_that_is_taken_is_reported_first(call: Any) -> None:
    call("create_table", managed("a", "t"))
    with pytest.raises(AlreadyExistsError):
        call("create_table", managed("a", "t"))


def test_databases_at_one_location_do_not_share_tables(call: Any) -> None:
    location = call("get_database", "a").locationUri
    call("create_table", managed("a", "t"))
    call("create_database", Database("c", locationUri=location))
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("create_table", managed("c", "t"))


def test_a_table_that_is_undropped_does_not_share_the_directory_of_a_later_one(call: Any) -> None:
    call("create_table", external("a", "e"))
    call("drop_table", "a", "e", True)
    call("create_table", managed("a", "e"))
    with pytest.raises(InvalidOperationError, match="used by another"):
        call("undrop", UndropRequest("a", "e", newName="e2"))
    call("drop_table", "a", "e", True)
    call("create_table", external("a", "e"))
    call("undrop", UndropRequest("a", "e", newName="e2"))


@pytest.mark.parametrize("spelling", ["file:{}/x/", "file:{}//x", "file://{}/x", "{}/x", "file:{}/y/../x"])
def test_a_default_location_is_taken_in_every_spelling(call: Any, spelling: str) -> None:
    home = call("get_database", "a").locationUri.removeprefix("file:")
    call("create_table", external("a", "e", spelling.format(home)))
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("create_table", managed("a", "x"))


def test_a_partition_of_another_table_has_the_default_location(call: Any) -> None:
    home = call("get_database", "a").locationUri
    call("create_table", external("a", "e", keys=KEYS))
    new = partition("a", "e", ["1"])
    new.sd.location = f"{home}/x"
    call("add_partition", new)
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("create_table", managed("a", "x"))


def test_no_table_is_renamed_or_undropped_into_the_directory_of_another(call: Any) -> None:
    home = call("get_database", "a").locationUri
    for name in ("m", "dropped"):
        call("create_table", managed("a", name))
    call("drop_table", "a", "dropped", True)
    call("create_table", external("a", "e", f"{home}/x"))
    Path(f"{home}/x".removeprefix("file:")).rmdir()
    for action in (
        lambda: rename(call, "m", "a", "x"),
        lambda: call("undrop", UndropRequest("a", "dropped", newName="x")),
    ):
        with pytest.raises(InvalidOperationError, match="used by another"):
            action()
    assert call("get_table", "a", "m").sd.location == f"{home}/m"


def test_two_external_tables_over_the_same_files_are_undropped(call: Any, tmp_path: Path) -> None:
    call("create_table", external("a", "e", f"file:{tmp_path}"))
    call("create_table", external("a", "f", f"file:{tmp_path}"))
    call("drop_table", "a", "e", True)
    call("undrop", UndropRequest("a", "e"))


@pytest.mark.parametrize("sends_location", [False, True], ids=["Hive", "Spark"])
def test_a_renamed_partition_keeps_its_directory_for_itself(call: Any, sends_location: bool) -> None:
    call("create_table", external("a", "e", keys=KEYS))
    call("add_partition", partition("a", "e", ["1"]))
    first = call("get_partition", "a", "e", ["1"])
    location = first.sd.location
    renamed = copy.deepcopy(first)
    renamed.values = ["2"]
    call("rename_partition", "a", "e", ["1"], renamed)
    assert call("get_partition", "a", "e", ["2"]).sd.location == location
    new = partition("a", "e", ["1"])
    new.sd.location = location if sends_location else None
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("add_partition", new)
    with pytest.raises(AlreadyExistsError):
        call("add_partition", partition("a", "e", ["2"]))
    elsewhere = partition("a", "e", ["3"])
    elsewhere.sd.location = location  # the client has chosen it
    call("add_partition", elsewhere)


def test_a_partition_that_is_undropped_does_not_share_the_directory_of_another(call: Any) -> None:
    call("create_table", external("a", "e", keys=KEYS))
    call("add_partition", partition("a", "e", ["1"]))
    call("drop_partition", "a", "e", ["1"], True)
    call("add_partition", partition("a", "e", ["1"]))
    renamed = call("get_partition", "a", "e", ["1"])
    renamed.values = ["2"]
    call("rename_partition", "a", "e", ["1"], renamed)
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("undrop", UndropRequest("a", "e", partition="ds=1"))


def test_a_partition_of_another_table_does_not_take_a_default_location(call: Any) -> None:
    """A table owns what is in its directory, whoever points at it."""
    call("create_table", table("a", "t", KEYS))
    call("create_table", external("a", "signal", keys=KEYS))
    signal = partition("a", "signal", ["1"])
    signal.sd.location = call("get_table", "a", "t").sd.location + "/ds=1"
    call("add_partition", signal)
    call("add_partition", partition("a", "t", ["1"]))
    assert call("get_partition", "a", "t", ["1"]).sd.location == signal.sd.location


def test_catalogs_at_one_location_do_not_share_tables(call: Any) -> None:
    home = call("get_database", "a").locationUri
    catalog = Catalog("lake", locationUri=home.removesuffix("/a.db"))
    call("create_catalog", CreateCatalogRequest(catalog))
    call("create_database", Database("a", catalogName="lake"))
    assert call("get_database", "@lake#a").locationUri == home
    call("create_table", managed("a", "t"))
    new = managed("a", "t")
    new.catName = "lake"
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("create_table", new)


def test_a_database_that_moves_leaves_its_tables_where_they_are(call: Any, tmp_path: Path) -> None:
    call("create_table", managed("a", "t"))
    moved = call("get_database", "a")
    home, moved.locationUri = moved.locationUri, f"file:{tmp_path}/elsewhere"
    call("alter_database", "a", moved)
    call("create_database", Database("c", locationUri=home))
    with pytest.raises(InvalidOperationError, match=TAKEN):
        call("create_table", managed("c", "t"))
    call("create_table", managed("a", "u"))
    assert call("get_table", "a", "u").sd.location == f"file:{tmp_path}/elsewhere/u"


@pytest.mark.parametrize("first", ["create", "undrop"])
def test_two_calls_at_once_do_not_share_a_directory(
    call: Any, database_url: str, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """The second call waits for the first one, which has looked and not committed yet."""
    call("create_database", Database("c", locationUri=call("get_database", "a").locationUri))
    call("create_table", external("a", "e"))
    call("drop_table", "a", "e", True)
    looked, go_on = threading.Event(), threading.Event()
    commit = UnitOfWork.commit

    def pausing(work: UnitOfWork) -> None:
        if threading.current_thread().name.startswith("first"):
            looked.set()
            assert go_on.wait(60)
        commit(work)

    monkeypatch.setattr(UnitOfWork, "commit", pausing)
    calls = {
        "create": lambda: call("create_table", managed("c", "e")),
        "undrop": lambda: call("undrop", UndropRequest("a", "e", newName="e2")),
    }
    with ThreadPoolExecutor(1, "first") as one, ThreadPoolExecutor(1, "second") as other:
        running = one.submit(calls[first])
        assert looked.wait(60)
        waiting = other.submit(call, "create_table", managed("a", "e"))
        wait_for_a_lock(database_url, until=waiting.done)
        go_on.set()
        errors = [future.exception(60) for future in (running, waiting)]
    # An undrop may be overtaken before it has looked.
    assert [type(error) for error in errors if error] == [InvalidOperationError], errors
