"""Dropped, truncated and overwritten data of any client can be restored until its retention ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from metastore.errors import AlreadyExistsError, InvalidOperationError, NotFoundError
from tests.wire.builders import descriptor, partition, table
from tests.wire.undrop_installation import ANYTHING, KEYS, PURGE, Installation, overwrite
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    DropDatabaseRequest,
    DropPartitionsRequest,
    EnvironmentContext,
    ForeignKeysRequest,
    PrimaryKeysRequest,
    PrincipalType,
    RequestPartsSpec,
    SerDeInfo,
    Table,
)
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    RenewWriteRequest,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(database_url, tmp_path)
    yield installation
    installation.application.close()


DROPS: dict[str, tuple[Callable[[Installation], object], tuple[Any, ...]]] = {
    "table": (lambda installation: installation.call("drop_table", "db", "plain", True), ("db.plain",)),
    "table without its data": (
        lambda installation: installation.call("drop_table", "db", "plain", False),
        ("db.plain",),
    ),
    "table with its dependents": (
        lambda installation: installation.call(
            "drop_table_with_environment_context", "db", "days", True, EnvironmentContext({"CASCADE": "true"})
        ),
        ("db.days",),
    ),
    "dependent": (lambda installation: installation.call("drop_table", "db", "signal", True), ("db.signal",)),
    "partition": (
        lambda installation: installation.call("drop_partition", "db", "days", ["1", "1"], True),
        ("db.days", "ds=1/hr=1"),
    ),
    "partition without its data": (
        lambda installation: installation.call("drop_partition", "db", "days", ["1", "1"], False),
        ("db.days",),
    ),
    "partition of a dependent": (
        lambda installation: installation.call("drop_partition", "db", "signal", ["1"], True),
        ("db.signal", "ds=1"),
    ),
    "database": (lambda installation: installation.call("drop_database", "db", True, True), ("db",)),
    "truncated table": (lambda installation: installation.call("truncate_table", "db", "plain", None), ("db.plain",)),
    "truncated partitions": (
        lambda installation: installation.call("truncate_table", "db", "days", None),
        ("db.days",),
    ),
    "truncated partition": (
        lambda installation: installation.call("truncate_table", "db", "days", ["ds=1/hr=1"]),
        ("db.days", "ds=1/hr=1"),
    ),
    "overwritten table": (lambda installation: overwrite(installation, "plain", []), ("db.plain",)),
    "overwritten partition": (lambda installation: overwrite(installation, "days", ["1", "1"]), ("db.days", "ds=1")),
}


def comparable(state: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without the time of its last change and without files that have replaced it since."""
    for row in state.values():
        for one in row if isinstance(row, list) else [row]:
            getattr(one, "parameters", None) and one.parameters.pop("transient_lastDdlTime", None)
    state["disk"] = {location: text for location, text in state["disk"].items() if "_versions" not in location}
    return state


@pytest.mark.parametrize("name", DROPS)
def test_everything_is_restored(name: str, installation: Installation) -> None:
    drop, wanted = DROPS[name]
    before = comparable(installation.state())
    drop(installation)
    if "without its data" not in name:  # its files stay where they were, as the caller requests
        installation.agrees()
    (listed,) = installation.dropped()
    assert listed.keptUntil - listed.droppedAt == 86_400
    assert listed.kind == (
        "partitions" if name.startswith("partition") else name.split(" ")[0].replace("dependent", "table")
    )
    assert (listed.bytes > 0) == (bool(installation.trash()) or "overwritten" in name)
    back = installation.undrop(*wanted)
    assert (back.kind, back.dbName) == (listed.kind, "db")
    after = comparable(installation.state())
    assert after.keys() == before.keys()
    if listed.kind in ("truncated", "overwritten"):  # its dependents cannot know that nothing has changed
        del before["dependencies"]
    for key, was in before.items():
        assert after[key] == was, key
    assert installation.trash() == []
    assert installation.left() == {}
    installation.agrees()
    installation.call("clean", CleanRequest(graceMillis=0))
    assert [location for location in installation.disk() if "_versions" in location] == [], (
        "the files of the overwrite are removed"
    )
    with pytest.raises(NotFoundError, match=r"can be undropped: it was not dropped within METASTORE_DROP_RETENTION"):
        installation.undrop(*wanted)


NOTHING: dict[str, tuple[str, *tuple[Any, ...]]] = {
    "no names, no partition columns": ("truncate_table", "db", "plain", []),
    "names, no partition columns": ("truncate_table", "db", "plain", ["ds=1"]),
    "no names": ("truncate_table", "db", "days", []),
    "unknown names": ("truncate_table", "db", "days", ["ds=9/hr=9", "nonsense"]),
    "unknown partition": (
        "drop_partitions_req",
        DropPartitionsRequest("db", "days", RequestPartsSpec(names=["ds=9/hr=9"]), True, ifExists=True),
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_call_that_removes_nothing_leaves_nothing_to_undo(name: str, installation: Installation) -> None:
    before = installation.state()
    installation.call(*NOTHING[name])
    assert installation.dropped() == []
    with pytest.raises(NotFoundError, match="can be undropped"):
        installation.undrop("db.plain" if "columns" in name else "db.days")
    assert installation.state() == before


def test_a_recorded_truncation_that_emptied_nothing_cannot_be_undone(installation: Installation) -> None:
    """Earlier versions recorded them."""
    installation.call("truncate_table", "db", "plain", None)
    with installation.application._store.transaction() as work:
        work.connection.execute(sql("DELETE FROM dropped_rows"))
    with pytest.raises(NotFoundError, match="nothing to undrop"):
        installation.undrop("db.plain")


@pytest.mark.parametrize("name", DROPS)
def test_an_expired_drop_cannot_be_undone(name: str, installation: Installation) -> None:
    drop, wanted = DROPS[name]
    drop(installation)
    installation.expire()
    assert installation.dropped() == []
    assert installation.trash() == []
    assert installation.left() == {}
    if "without its data" not in name:
        installation.agrees()
    with pytest.raises(NotFoundError):
        installation.undrop(*wanted)


def test_its_name_is_free(installation: Installation) -> None:
    """A hidden table is not visible on the wire; it is restored under another name, with its files there."""
    days = installation.call("get_partitions", "db", "days", -1).decode()
    installation.call("drop_table", "db", "signal", True)
    installation.call("drop_table", "db", "days", True)
    installation.call("create_table", table("db", "days", KEYS))
    assert installation.call("get_partitions", "db", "days", -1).decode() == []
    assert installation.call("get_primary_keys", PrimaryKeysRequest("db", "days")).primaryKeys.decode() == []
    assert (
        installation.call("get_foreign_keys", ForeignKeysRequest(None, None, "db", "plain")).foreignKeys.decode() == []
    )
    assert installation.call("list_privileges", "ann", PrincipalType.USER, ANYTHING) == []
    with pytest.raises(AlreadyExistsError, match=r"db\.days exists already: .* --as NAME"):
        installation.undrop("db.days")
    assert installation.undrop("db.days", new_name="old").tableName == "old"
    old: Table = installation.call("get_table", "db", "old").decode()
    assert old.sd.location == f"file:{installation.warehouse}/db.db/old"
    actual = installation.call("get_partitions", "db", "old", -1).decode()
    assert [each.sd.location for each in actual] == [day.sd.location.replace("/days", "/old") for day in days]
    heavy = [each.sd.skewedInfo.skewedColValueLocationMaps[("heavy",)] for each in actual]
    assert heavy == [f"{each.sd.location}/x=heavy" for each in actual]
    assert sum(path.startswith("db.db/old/") for path in installation.disk()) == 8
    assert installation.undrop("db.signal").tableName == "signal"
    installation.agrees()


def test_partitions_one_by_one(installation: Installation) -> None:
    before = installation.call("get_partitions", "db", "days", -1).decode()
    for names in (["1", "1"], ["1", "2"], ["2", "1"]):
        installation.call("drop_partition", "db", "days", names, True)
    installation.call("add_partition", partition("db", "days", ["1", "2"]))
    with pytest.raises(AlreadyExistsError, match=r"db\.days@ds=1/hr=2 exists already: drop or rename it first"):
        installation.undrop("db.days", "ds=1/hr=2")
    installation.call("drop_partition_with_environment_context", "db", "days", ["1", "2"], True, PURGE)
    assert [installation.undrop("db.days", text).partitions for text in ("ds=1", "ds=1", "ds=2/hr=1")] == [1, 1, 1]
    assert installation.call("get_partitions", "db", "days", -1).decode() == before
    installation.agrees()


def test_partitions_are_counted_that_return_with_their_table_or_database(installation: Installation) -> None:
    number = len(installation.call("get_partitions", "db", "days", -1).decode())
    assert number > 1
    installation.call("drop_table", "db", "signal", True)
    installation.call("drop_table", "db", "days", True)
    back = installation.undrop("db.days")
    assert (back.kind, back.partitions) == ("table", number)
    installation.call("drop_database", "db", True, True)
    assert installation.undrop("db").partitions >= number


def test_a_partition_needs_its_table(installation: Installation) -> None:
    installation.call("drop_partition", "db", "days", ["1", "1"], True)
    installation.call("drop_table", "db", "signal", True)
    installation.call("drop_table", "db", "days", True)
    with pytest.raises(NotFoundError, match=r"db\.days is dropped: undrop the table first"):
        installation.undrop("db.days", "ds=1/hr=1")
    with pytest.raises(InvalidOperationError, match="it depends on days: undrop the dropped base first"):
        installation.undrop("db.signal")
    installation.undrop("db.days")
    installation.undrop("db.days", "ds=1")
    installation.undrop("db.signal")
    assert len(installation.call("get_partitions", "db", "days", -1).decode()) == 4
    installation.agrees()


def test_tables_of_a_database(installation: Installation) -> None:
    before = installation.state()
    installation.call("drop_database", "db", True, True)
    with pytest.raises(NotFoundError, match="database db was dropped: undrop it first"):
        installation.undrop("db.plain")
    installation.call("create_database", Database("db"))
    with pytest.raises(AlreadyExistsError, match="database db exists already: undrop its tables one by one"):
        installation.undrop("db")
    for name in ("plain", "days", "signal"):
        installation.undrop(f"db.{name}")
    after = installation.state()
    for key in ("plain", "days", "days partitions", "signal", "dependencies", "grants", "foreign keys", "disk"):
        assert after[key] == before[key], key
    installation.agrees()


@pytest.mark.parametrize("how", ["context", "property", "setting"])
def test_purged(how: str, database_url: str, tmp_path: Path) -> None:
    installation = Installation(database_url, tmp_path, **({"drop_retention": 0.0} if how == "setting" else {}))
    if how == "property":
        for name in ("plain", "days"):
            changed = installation.call("get_table", "db", name).decode()
            changed.parameters["auto.purge"] = "true"
            installation.call("alter_table", "db", name, changed)
    context = PURGE if how == "context" else None
    installation.call("drop_partition_with_environment_context", "db", "days", ["1", "1"], True, context)
    if how != "context":
        installation.call("truncate_table", "db", "days", ["ds=1/hr=2"])
        overwrite(installation, "plain", [])
        installation.call("clean", CleanRequest(graceMillis=0))
    installation.call("drop_table_with_environment_context", "db", "plain", True, context)
    assert installation.dropped() == []
    assert installation.trash() == []
    assert not (installation.warehouse / "db.db/plain").exists()
    assert installation.left() == {}
    if how == "property":
        installation.call("drop_database_req", DropDatabaseRequest("db", deleteData=True, cascade=True))
        installation.undrop("db")
        assert installation.call("get_all_tables", "db") == ["signal"] or "days" not in installation.call(
            "get_all_tables", "db"
        )
    installation.agrees()
    installation.application.close()


def test_its_place_is_taken(installation: Installation) -> None:
    installation.call("drop_table", "db", "plain", True)
    installation.call("create_table", table("db", "other", sd=descriptor(f"{installation.warehouse}/db.db/plain")))
    with pytest.raises(InvalidOperationError, match=r"db\.db/plain is used by another object of the catalog"):
        installation.undrop("db.plain")
    installation.undrop("db.plain", new_name="again")
    assert installation.disk()["db.db/again/rows"] == "plain"
    installation.call("drop_table", "db", "again", True)
    other = installation.warehouse / "db.db/again/other"
    other.parent.mkdir()
    other.touch()
    with pytest.raises(InvalidOperationError, match=r"that location exists already: .* \(--as NAME\)"):
        installation.undrop("db.again")
    other.unlink()
    installation.undrop("db.again")
    assert installation.disk()["db.db/again/rows"] == "plain"


def test_properties_follow_the_files(installation: Installation) -> None:
    """Spark reads a data source table from `path`: the old one may be that of another table by now."""
    home = f"file:{installation.warehouse}/db.db"
    for _ in range(2):
        sd = descriptor(serdeInfo=SerDeInfo(None, "x.Serde", {"path": f"{home}/csv", "n": f"{home}/csv"}))
        parameters = {"avro.schema.url": f"{home}/csv/schema", "write.data.path": f"{home}/csvs"}
        installation.call("create_table", table("db", "csv", sd=sd, parameters=parameters))
        installation.call("drop_table", "db", "csv", True)
    installation.undrop("db.csv")
    installation.undrop("db.csv", new_name="old")
    renamed: Table = installation.call("get_table", "db", "csv").decode()
    renamed.tableName = "new"
    installation.call("alter_table", "db", "csv", renamed)
    for name in ("old", "new"):
        actual: Table = installation.call("get_table", "db", name).decode()
        assert actual.sd.location == f"{home}/{name}"
        assert actual.sd.serdeInfo.parameters == {"path": f"{home}/{name}", "n": f"{home}/csv"}
        assert actual.parameters["avro.schema.url"] == f"{home}/{name}/schema"
        assert actual.parameters["write.data.path"] == f"{home}/csvs"


def test_files_of_iceberg_stay_where_they_were(installation: Installation) -> None:
    place = installation.warehouse / "db.db/ice"
    parameters = {"EXTERNAL": "TRUE", "external.table.purge": "TRUE", "metadata_location": f"file:{place}/1.json"}
    parameters["table_type"] = "ICEBERG"
    made = table("db", "ice", sd=descriptor(f"file:{place}"), parameters=parameters, tableType="EXTERNAL_TABLE")
    installation.call("create_table", made)
    (place / "1.json").write_text("metadata")
    installation.call("drop_table", "db", "ice", True)
    installation.undrop("db.ice", new_name="again")
    actual: Table = installation.call("get_table", "db", "again").decode()
    assert (actual.sd.location, actual.parameters["metadata_location"]) == (f"file:{place}", f"file:{place}/1.json")
    assert (place / "1.json").read_text() == "metadata"
    installation.call("drop_table", "db", "again", True)
    installation.call("create_table", table("db", "other", sd=descriptor(f"file:{place}")))
    with pytest.raises(InvalidOperationError, match="is used by another object of the catalog"):
        installation.undrop("db.again", new_name="ice")


def test_files_written_after_a_truncation_stay(installation: Installation) -> None:
    installation.call("truncate_table", "db", "plain", None)
    (installation.warehouse / "db.db/plain/later").write_text("later")
    changed = installation.call("get_table", "db", "plain").decode()
    installation.call("alter_table", "db", "plain", changed)
    installation.undrop("db.plain")
    assert {text for location, text in installation.disk().items() if location.startswith("db.db/plain/")} == {
        "plain",
        "later",
    }
    installation.call("truncate_table", "db", "plain", None)
    (installation.warehouse / "db.db/plain/rows").write_text("other rows")
    with pytest.raises(InvalidOperationError, match="that location exists already"):
        installation.undrop("db.plain")


@pytest.mark.parametrize(("name", "values", "rows"), [("plain", [], "rows"), ("days", ["1", "1"], "ds=1/hr=1/rows")])
def test_overwritten_files_that_were_cleaned_are_gone(
    name: str, values: list[str], rows: str, installation: Installation
) -> None:
    before = installation.disk()[f"db.db/{name}/{rows}"]
    overwrite(installation, name, values)
    installation.application.services.cleaning.run()
    assert installation.disk()[f"db.db/{name}/{rows}"] == before
    installation.call("clean", CleanRequest("db", name, graceMillis=0))
    with pytest.raises(InvalidOperationError, match="was cleaned"):
        installation.undrop(f"db.{name}")


def test_the_newest_is_meant_or_the_number(installation: Installation) -> None:
    for text_ in ("first", "second"):
        installation.call("drop_table", "db", "plain", True)
        installation.call("create_table", table("db", "plain"))
        (installation.warehouse / "db.db/plain/rows").write_text(text_)
    second, first = installation.dropped("db")
    assert (first.files, first.bytes, second.bytes) == (1, len("plain"), len("first"))
    assert installation.dropped("default") == []
    installation.undrop("db.plain", new_name="old", id=first.id)
    assert installation.disk()["db.db/old/rows"] == "plain"
    installation.undrop("db.plain", new_name="newer")
    assert installation.disk()["db.db/newer/rows"] == "first"


def test_unfinished_writes_are_not_restored(installation: Installation) -> None:
    """Files of a write to a dropped table stay hidden, and are removed when the table is restored."""
    query_id = installation.call("begin_write", BeginWriteRequest("db", "plain")).queryId
    location = f"{installation.warehouse}/db.db/plain"
    installation.call("renew_write", RenewWriteRequest(query_id, [], [location]))
    (Path(location) / f"part-0-{query_id}.parquet").write_text("half")
    installation.call("drop_table", "db", "plain", True)
    installation.application.services.cleaning.run()
    installation.undrop("db.plain")
    with pytest.raises(NotFoundError):
        installation.call("renew_write", RenewWriteRequest(query_id))
    installation.application.services.cleaning.run()
    assert {location for location in installation.disk() if "plain" in location} == {"db.db/plain/rows"}


def test_a_rename_takes_the_place_of_a_table(installation: Installation) -> None:
    """In one call: the old table with the name can be undropped, and the files of the new one stay where they are."""
    installation.call("create_table", table("db", "draft"))
    new: Table = installation.call("get_table", "db", "draft").decode()
    directory = Path(new.sd.location.removeprefix("file:"))
    (directory / "rows").write_text("new")
    replacing = EnvironmentContext({"metastore.replaces": "true"})
    for name in ("days", "plain"):  # a table depends on the first one
        new.tableName = name
        arguments = ("alter_table_with_environment_context", "db", "draft", new, replacing)
        if name == "days":
            with pytest.raises(InvalidOperationError, match="depends on it"):
                installation.call(*arguments)
        else:
            installation.call(*arguments)
    assert installation.call("get_table", "db", "plain").decode().sd.location == new.sd.location
    assert (directory / "rows").read_text() == "new"
    assert not (installation.warehouse / "db.db/plain").exists()
    assert installation.undrop("db.plain", new_name="old").tableName == "old"
    assert (installation.warehouse / "db.db/old/rows").read_text() == "plain"
    installation.agrees()
