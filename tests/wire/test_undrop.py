"""Dropped, truncated and overwritten data of any client can be restored until its retention ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metastore.errors import AlreadyExistsError, InvalidOperationError, NotFoundError
from tests.wire.builders import descriptor, partition, table
from tests.wire.undrop_house import ANYTHING, KEYS, PURGE, House, overwrite
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    DropDatabaseRequest,
    EnvironmentContext,
    ForeignKeysRequest,
    PrimaryKeysRequest,
    PrincipalType,
    Table,
)
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    RenewWriteRequest,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> Iterator[House]:
    house = House(database_url, tmp_path)
    yield house
    house.application.close()


DROPS: dict[str, tuple[Callable[[House], object], tuple[Any, ...]]] = {
    "table": (lambda house: house.call("drop_table", "db", "plain", True), ("db.plain",)),
    "table without its data": (lambda house: house.call("drop_table", "db", "plain", False), ("db.plain",)),
    "table with its dependents": (
        lambda house: house.call(
            "drop_table_with_environment_context", "db", "days", True, EnvironmentContext({"CASCADE": "true"})
        ),
        ("db.days",),
    ),
    "dependent": (lambda house: house.call("drop_table", "db", "signal", True), ("db.signal",)),
    "partition": (lambda house: house.call("drop_partition", "db", "days", ["1", "1"], True), ("db.days", "ds=1/hr=1")),
    "partition without its data": (
        lambda house: house.call("drop_partition", "db", "days", ["1", "1"], False),
        ("db.days",),
    ),
    "partition of a dependent": (
        lambda house: house.call("drop_partition", "db", "signal", ["1"], True),
        ("db.signal", "ds=1"),
    ),
    "database": (lambda house: house.call("drop_database", "db", True, True), ("db",)),
    "truncated table": (lambda house: house.call("truncate_table", "db", "plain", None), ("db.plain",)),
    "truncated partitions": (lambda house: house.call("truncate_table", "db", "days", None), ("db.days",)),
    "truncated partition": (
        lambda house: house.call("truncate_table", "db", "days", ["ds=1/hr=1"]),
        ("db.days", "ds=1/hr=1"),
    ),
    "overwritten table": (lambda house: overwrite(house, "plain", []), ("db.plain",)),
    "overwritten partition": (lambda house: overwrite(house, "days", ["1", "1"]), ("db.days", "ds=1")),
}


def comparable(state: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without the time of its last change and without files that have replaced it since."""
    for row in state.values():
        for one in row if isinstance(row, list) else [row]:
            getattr(one, "parameters", None) and one.parameters.pop("transient_lastDdlTime", None)
    state["disk"] = {location: text for location, text in state["disk"].items() if "_versions" not in location}
    return state


@pytest.mark.parametrize("name", DROPS)
def test_everything_is_restored(name: str, house: House) -> None:
    drop, wanted = DROPS[name]
    before = comparable(house.state())
    drop(house)
    if "without its data" not in name:  # its files stay where they were, as the caller requests
        house.agrees()
    (listed,) = house.dropped()
    assert listed.keptUntil - listed.droppedAt == 86_400
    assert listed.kind == (
        "partitions" if name.startswith("partition") else name.split(" ")[0].replace("dependent", "table")
    )
    assert (listed.bytes > 0) == (bool(house.trash()) or "overwritten" in name)
    back = house.undrop(*wanted)
    assert (back.kind, back.dbName) == (listed.kind, "db")
    after = comparable(house.state())
    assert after.keys() == before.keys()
    if listed.kind in ("truncated", "overwritten"):  # its dependents cannot know that nothing has changed
        del before["dependencies"]
    for key, was in before.items():
        assert after[key] == was, key
    assert house.trash() == []
    assert house.left() == {}
    house.agrees()
    house.call("clean", CleanRequest(graceMillis=0))
    assert [location for location in house.disk() if "_versions" in location] == [], "what had replaced it goes"
    with pytest.raises(NotFoundError, match=r"can be undropped: it was not dropped within METASTORE_DROP_RETENTION"):
        house.undrop(*wanted)


@pytest.mark.parametrize("name", DROPS)
def test_an_expired_drop_cannot_be_undone(name: str, house: House) -> None:
    drop, wanted = DROPS[name]
    drop(house)
    house.expire()
    assert house.dropped() == []
    assert house.trash() == []
    assert house.left() == {}
    if "without its data" not in name:
        house.agrees()
    with pytest.raises(NotFoundError):
        house.undrop(*wanted)


def test_its_name_is_free(house: House) -> None:
    """A hidden table is not visible on the wire; it is restored under another name, with its files there."""
    days = house.call("get_partitions", "db", "days", -1).decode()
    house.call("drop_table", "db", "signal", True)
    house.call("drop_table", "db", "days", True)
    house.call("create_table", table("db", "days", KEYS))
    assert house.call("get_partitions", "db", "days", -1).decode() == []
    assert house.call("get_primary_keys", PrimaryKeysRequest("db", "days")).primaryKeys.decode() == []
    assert house.call("get_foreign_keys", ForeignKeysRequest(None, None, "db", "plain")).foreignKeys.decode() == []
    assert house.call("list_privileges", "ann", PrincipalType.USER, ANYTHING) == []
    with pytest.raises(AlreadyExistsError, match=r"db\.days exists already: .* --as NAME"):
        house.undrop("db.days")
    assert house.undrop("db.days", new_name="old").tableName == "old"
    old: Table = house.call("get_table", "db", "old").decode()
    assert old.sd.location == f"file:{house.warehouse}/db.db/old"
    actual = house.call("get_partitions", "db", "old", -1).decode()
    assert [each.sd.location for each in actual] == [day.sd.location.replace("/days", "/old") for day in days]
    heavy = [each.sd.skewedInfo.skewedColValueLocationMaps[("heavy",)] for each in actual]
    assert heavy == [f"{each.sd.location}/x=heavy" for each in actual]
    assert sum(path.startswith("db.db/old/") for path in house.disk()) == 8
    assert house.undrop("db.signal").tableName == "signal"
    house.agrees()


def test_partitions_one_by_one(house: House) -> None:
    before = house.call("get_partitions", "db", "days", -1).decode()
    for names in (["1", "1"], ["1", "2"], ["2", "1"]):
        house.call("drop_partition", "db", "days", names, True)
    house.call("add_partition", partition("db", "days", ["1", "2"]))
    with pytest.raises(AlreadyExistsError, match=r"db\.days@ds=1/hr=2 exists already: drop or rename it first"):
        house.undrop("db.days", "ds=1/hr=2")
    house.call("drop_partition_with_environment_context", "db", "days", ["1", "2"], True, PURGE)
    assert [house.undrop("db.days", text).partitions for text in ("ds=1", "ds=1", "ds=2/hr=1")] == [1, 1, 1]
    assert house.call("get_partitions", "db", "days", -1).decode() == before
    house.agrees()


def test_a_partition_needs_its_table(house: House) -> None:
    house.call("drop_partition", "db", "days", ["1", "1"], True)
    house.call("drop_table", "db", "signal", True)
    house.call("drop_table", "db", "days", True)
    with pytest.raises(NotFoundError, match=r"db\.days is dropped: undrop the table first"):
        house.undrop("db.days", "ds=1/hr=1")
    with pytest.raises(InvalidOperationError, match="it depends on days, which is dropped: undrop that first"):
        house.undrop("db.signal")
    house.undrop("db.days")
    house.undrop("db.days", "ds=1")
    house.undrop("db.signal")
    assert len(house.call("get_partitions", "db", "days", -1).decode()) == 4
    house.agrees()


def test_tables_of_a_database(house: House) -> None:
    before = house.state()
    house.call("drop_database", "db", True, True)
    with pytest.raises(NotFoundError, match="database db was dropped: undrop it first"):
        house.undrop("db.plain")
    house.call("create_database", Database("db"))
    with pytest.raises(AlreadyExistsError, match="database db exists already: undrop its tables one by one"):
        house.undrop("db")
    for name in ("plain", "days", "signal"):
        house.undrop(f"db.{name}")
    after = house.state()
    for key in ("plain", "days", "days partitions", "signal", "dependencies", "grants", "foreign keys", "disk"):
        assert after[key] == before[key], key
    house.agrees()


@pytest.mark.parametrize("how", ["context", "property", "setting"])
def test_purged(how: str, database_url: str, tmp_path: Path) -> None:
    house = House(database_url, tmp_path, **({"drop_retention": 0.0} if how == "setting" else {}))
    if how == "property":
        for name in ("plain", "days"):
            changed = house.call("get_table", "db", name).decode()
            changed.parameters["auto.purge"] = "true"
            house.call("alter_table", "db", name, changed)
    context = PURGE if how == "context" else None
    house.call("drop_partition_with_environment_context", "db", "days", ["1", "1"], True, context)
    if how != "context":
        house.call("truncate_table", "db", "days", ["ds=1/hr=2"])
        overwrite(house, "plain", [])
        house.call("clean", CleanRequest(graceMillis=0))
    house.call("drop_table_with_environment_context", "db", "plain", True, context)
    assert house.dropped() == []
    assert house.trash() == []
    assert not (house.warehouse / "db.db/plain").exists()
    assert house.left() == {}
    if how == "property":
        house.call("drop_database_req", DropDatabaseRequest("db", deleteData=True, cascade=True))
        house.undrop("db")
        assert house.call("get_all_tables", "db") == ["signal"] or "days" not in house.call("get_all_tables", "db")
    house.agrees()
    house.application.close()


def test_its_place_is_taken(house: House) -> None:
    house.call("drop_table", "db", "plain", True)
    house.call("create_table", table("db", "other", sd=descriptor(f"{house.warehouse}/db.db/plain")))
    with pytest.raises(InvalidOperationError, match=r"db\.db/plain is used by another object of the catalog"):
        house.undrop("db.plain")
    house.undrop("db.plain", new_name="again")
    assert house.disk()["db.db/again/rows"] == "plain"
    house.call("drop_table", "db", "again", True)
    (house.warehouse / "db.db/again").mkdir()
    with pytest.raises(InvalidOperationError, match="that location exists already"):
        house.undrop("db.again")
    house.undrop("db.again", new_name="third")
    assert house.disk()["db.db/third/rows"] == "plain"


def test_files_written_after_a_truncation_stay(house: House) -> None:
    house.call("truncate_table", "db", "plain", None)
    (house.warehouse / "db.db/plain/later").write_text("later")
    changed = house.call("get_table", "db", "plain").decode()
    house.call("alter_table", "db", "plain", changed)
    house.undrop("db.plain")
    assert {text for location, text in house.disk().items() if location.startswith("db.db/plain/")} == {
        "plain",
        "later",
    }
    house.call("truncate_table", "db", "plain", None)
    (house.warehouse / "db.db/plain/rows").write_text("other rows")
    with pytest.raises(InvalidOperationError, match="that location exists already"):
        house.undrop("db.plain")


@pytest.mark.parametrize(("name", "values", "rows"), [("plain", [], "rows"), ("days", ["1", "1"], "ds=1/hr=1/rows")])
def test_overwritten_files_that_were_cleaned_are_gone(name: str, values: list[str], rows: str, house: House) -> None:
    before = house.disk()[f"db.db/{name}/{rows}"]
    overwrite(house, name, values)
    house.application.cleaning.run()
    assert house.disk()[f"db.db/{name}/{rows}"] == before
    house.call("clean", CleanRequest("db", name, graceMillis=0))
    with pytest.raises(InvalidOperationError, match="was cleaned"):
        house.undrop(f"db.{name}")


def test_the_newest_is_meant_or_the_number(house: House) -> None:
    for text_ in ("first", "second"):
        house.call("drop_table", "db", "plain", True)
        house.call("create_table", table("db", "plain"))
        (house.warehouse / "db.db/plain/rows").write_text(text_)
    second, first = house.dropped("db")
    assert (first.files, first.bytes, second.bytes) == (1, len("plain"), len("first"))
    assert house.dropped("default") == []
    house.undrop("db.plain", new_name="old", id=first.id)
    assert house.disk()["db.db/old/rows"] == "plain"
    house.undrop("db.plain", new_name="newer")
    assert house.disk()["db.db/newer/rows"] == "first"


def test_writes_under_way_do_not_come_back(house: House) -> None:
    """Files of a write to a dropped table stay hidden, and are removed when the table is restored."""
    query_id = house.call("begin_write", BeginWriteRequest("db", "plain")).queryId
    location = f"{house.warehouse}/db.db/plain"
    house.call("renew_write", RenewWriteRequest(query_id, [], [location]))
    (Path(location) / f"part-0-{query_id}.parquet").write_text("half")
    house.call("drop_table", "db", "plain", True)
    house.application.cleaning.run()
    house.undrop("db.plain")
    with pytest.raises(NotFoundError):
        house.call("renew_write", RenewWriteRequest(query_id))
    house.application.cleaning.run()
    assert {location for location in house.disk() if "plain" in location} == {"db.db/plain/rows"}


def test_a_rename_takes_the_place_of_a_table(house: House) -> None:
    """In one call: the old table with the name can be undropped, and the files of the new one stay where they are."""
    house.call("create_table", table("db", "draft"))
    new: Table = house.call("get_table", "db", "draft").decode()
    directory = Path(new.sd.location.removeprefix("file:"))
    (directory / "rows").write_text("new")
    replacing = EnvironmentContext({"metastore.replaces": "true"})
    for name in ("days", "plain"):  # a table depends on the first one
        new.tableName = name
        arguments = ("alter_table_with_environment_context", "db", "draft", new, replacing)
        if name == "days":
            with pytest.raises(InvalidOperationError, match="depends on it"):
                house.call(*arguments)
        else:
            house.call(*arguments)
    assert house.call("get_table", "db", "plain").decode().sd.location == new.sd.location
    assert (directory / "rows").read_text() == "new"
    assert not (house.warehouse / "db.db/plain").exists()
    assert house.undrop("db.plain", new_name="old").tableName == "old"
    assert (house.warehouse / "db.db/old/rows").read_text() == "plain"
    house.agrees()
