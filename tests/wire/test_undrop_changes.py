"""Restored objects follow later changes of their table: other names, locations and types of keys."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidOperationError
from metastore.storage.postgres import clock
from metastore.storage.repositories.drops import Drops
from tests.wire.builders import descriptor, partition, table
from tests.wire.test_file_faults import ALL, House, Killed, published, renamed, rows
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, UndropRequest

pytestmark = pytest.mark.slow


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> Iterator[House]:
    house = House(database_url, tmp_path, 3600.0)
    yield house
    house.application.close()


def undrop(house: House, name: str, new_name: str | None = None) -> None:
    house.call("undrop", UndropRequest(*name.split("."), newName=new_name))
    assert house.call("check_files", CheckFilesRequest()).problems == []


def test_keys_have_another_type(house: House) -> None:
    """Returns the sort keys by which partitions are found."""
    house.call("drop_partition", "db", "days", ["1"], True)
    days = house.call("get_table", "db", "days")
    days.partitionKeys[0].type = "int"
    house.call("alter_table", "db", "days", days)
    house.call("add_partition", partition("db", "days", ["10"]))
    undrop(house, "db.days")
    actual = house.call("get_partitions_by_filter", "db", "days", "ds > 0 and ds < 10", -1)
    assert [each.values for each in actual] == [["1"], ["2"]]


def rename_partition(house: House) -> None:
    new = partition("db", "days", ["9"], sd=descriptor(None))
    house.call("rename_partition", "db", "days", ["1"], new)


RENAMES: dict[str, tuple[Callable[[House], object], str]] = {
    "table": (lambda house: renamed(house, "other", "weeks"), "other.weeks"),
    "partition": (rename_partition, "db.days"),
    "both": (lambda house: (rename_partition(house), renamed(house, "other", "weeks")), "other.weeks"),
}


def test_its_table_has_been_renamed(house: House) -> None:
    """The former location now belongs to another table."""
    house.call("drop_partition", "db", "days", ["1"], True)
    renamed(house, "db", "weeks")
    house.call("create_table", table("db", "days"))
    undrop(house, "db.weeks")
    assert rows(house) == ALL
    actual = [each.sd.location for each in house.call("get_partitions", "db", "weeks", -1)]
    assert actual == [f"file:{house.warehouse}/db.db/weeks/ds={day}" for day in "12"]


def test_its_place_was_anothers(house: House) -> None:
    house.call("drop_partition", "db", "days", ["1"], True)
    house.call("add_partition", partition("db", "days", ["1"]))
    rename_partition(house)
    undrop(house, "db.days")
    assert rows(house) == ALL


def test_overwritten_files_of_a_renamed_table(house: House) -> None:
    published(house)
    renamed(house, "db", "weeks")
    undrop(house, "db.weeks")
    assert rows(house) == ALL


@pytest.mark.parametrize("name", RENAMES)
def test_truncated_files_of_a_renamed_table(name: str, house: House) -> None:
    rename, now = RENAMES[name]
    house.call("truncate_table", "db", "days", None)
    rename(house)
    undrop(house, now)
    assert rows(house) == ALL


def test_data_left_in_place_is_restored_under_another_name(house: House) -> None:
    """A table that was dropped without its data has no directory to rename."""
    house.call("drop_table", "db", "plain", False)
    undrop(house, "db.plain", "again")
    assert rows(house) == ALL
    house.call("drop_table", "db", "again", False)
    house.call("create_table", table("db", "plain"))
    with pytest.raises(InvalidOperationError, match=r"db\.db/plain is used by another object of the catalog"):
        undrop(house, "db.again")


def test_another_client_has_created_the_database_meanwhile(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = Drops.restore_database

    def later(drops: Drops, drop_id: int) -> None:
        if "doomed" not in house.call("get_all_databases"):
            house.call("create_database", Database("doomed"))
        restore(drops, drop_id)

    monkeypatch.setattr(Drops, "restore_database", later)
    house.call("drop_database", "doomed", True, True)
    with pytest.raises(
        AlreadyExistsError, match="doomed: Database already exists: drop or rename the existing object first"
    ):
        undrop(house, "doomed")
    assert house.call("get_all_tables", "doomed") == []
    undrop(house, "doomed.t")
    assert rows(house) == ALL


@pytest.mark.parametrize(
    "first", [("drop_partition", "db", "days", ["1"], True), ("truncate_table", "db", "days", ["ds=1"])]
)
def test_drops_inside_a_dropped_table_expire_before_it(
    first: tuple[Any, ...], house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client that dropped or truncated a partition has died: its files do not come back with the table."""
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    house.die_at = "committed"
    with pytest.raises(Killed):
        house.call(*first)
    house.die_at = None
    house.call("drop_table", "db", "days", True)
    for _ in range(3):
        house.application.journal.recover()
    assert not (house.warehouse / "db.db/days").exists()
    undrop(house, "db.days")
    assert rows(house) == ALL - {"db.db/days/ds=1"}
    undrop(house, "db.days")
    assert rows(house) == ALL


@pytest.mark.parametrize(
    ("truncated", "drop", "place"),
    [
        (("plain", None), ("drop_table", "db", "plain", True), "db.db/plain"),
        (("plain", None), ("drop_database", "db", True, True), "db.db/plain"),
        (("days", ["ds=1"]), ("drop_partition", "db", "days", ["1"], True), "db.db/days/ds=1"),
    ],
)
def test_truncated_files_are_not_restored_with_a_later_drop(
    truncated: tuple[Any, ...], drop: tuple[Any, ...], place: str, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client that truncated has died: a later drop has the same directory."""
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    house.die_at = "committed"
    with pytest.raises(Killed):
        house.call("truncate_table", "db", *truncated)
    house.die_at = None
    house.call(*drop)
    assert not (house.warehouse / place).exists()
    undrop(house, "db" if drop[0] == "drop_database" else f"db.{truncated[0]}")
    assert rows(house) == ALL - {place}
    undrop(house, f"db.{truncated[0]}")
    assert rows(house) == ALL


def test_nothing_is_named(house: House) -> None:
    with pytest.raises(InvalidInputError, match="undrop needs a name"):
        house.call("undrop", UndropRequest(None, None))


def test_a_table_whose_files_left_the_trash_does_not_adopt_other_files(house: House) -> None:
    """As after a restore of the database to a moment before the table was undropped, dropped and created again."""
    house.call("drop_table", "db", "plain", True)
    shutil.rmtree(house.warehouse / ".metastore_trash")
    (house.warehouse / "db.db/plain").mkdir()
    (house.warehouse / "db.db/plain/rows").write_text("another table's rows")
    with pytest.raises(InvalidOperationError, match="no longer in the trash"):
        house.call("undrop", UndropRequest("db", "plain"))
    shutil.rmtree(house.warehouse / "db.db/plain")
    house.call("undrop", UndropRequest("db", "plain"))
    assert not (house.warehouse / "db.db/plain/rows").exists()
