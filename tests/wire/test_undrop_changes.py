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
from tests.wire.test_file_faults import ALL, Installation, Killed, published, renamed, rows
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CleanRequest, UndropRequest

pytestmark = pytest.mark.slow


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(database_url, tmp_path, 3600.0)
    yield installation
    installation.application.close()


def undrop(installation: Installation, name: str, new_name: str | None = None) -> None:
    installation.call("undrop", UndropRequest(*name.split("."), newName=new_name))
    assert installation.call("check_files", CheckFilesRequest()).problems == []


def test_keys_have_another_type(installation: Installation) -> None:
    """Returns the sort keys by which partitions are found."""
    installation.call("drop_partition", "db", "days", ["1"], True)
    days = installation.call("get_table", "db", "days")
    days.partitionKeys[0].type = "int"
    installation.call("alter_table", "db", "days", days)
    installation.call("add_partition", partition("db", "days", ["10"]))
    undrop(installation, "db.days")
    actual = installation.call("get_partitions_by_filter", "db", "days", "ds > 0 and ds < 10", -1)
    assert [each.values for each in actual] == [["1"], ["2"]]


def rename_partition(installation: Installation) -> None:
    new = partition("db", "days", ["9"], sd=descriptor(None))
    installation.call("rename_partition", "db", "days", ["1"], new)


RENAMES: dict[str, tuple[Callable[[Installation], object], str]] = {
    "table": (lambda installation: renamed(installation, "other", "weeks"), "other.weeks"),
    "partition": (rename_partition, "db.days"),
    "both": (
        lambda installation: (rename_partition(installation), renamed(installation, "other", "weeks")),
        "other.weeks",
    ),
}


def test_its_table_has_been_renamed(installation: Installation) -> None:
    """The former location now belongs to another table."""
    installation.call("drop_partition", "db", "days", ["1"], True)
    renamed(installation, "db", "weeks")
    installation.call("create_table", table("db", "days"))
    undrop(installation, "db.weeks")
    assert rows(installation) == ALL
    actual = [each.sd.location for each in installation.call("get_partitions", "db", "weeks", -1)]
    assert actual == [f"file:{installation.warehouse}/db.db/weeks/ds={day}" for day in "12"]


def test_its_place_was_anothers(installation: Installation) -> None:
    installation.call("drop_partition", "db", "days", ["1"], True)
    installation.call("add_partition", partition("db", "days", ["1"]))
    rename_partition(installation)
    undrop(installation, "db.days")
    assert rows(installation) == ALL


def test_overwritten_files_of_a_renamed_table(installation: Installation) -> None:
    published(installation)
    renamed(installation, "db", "weeks")
    undrop(installation, "db.weeks")
    assert rows(installation) == ALL


def test_overwritten_files_of_a_dropped_partition(installation: Installation) -> None:
    """Both the drop and the overwrite can be undone."""
    published(installation)
    installation.call("drop_partition", "db", "days", ["1"], True)
    installation.call("clean", CleanRequest(graceMillis=None))
    undrop(installation, "db.days")
    assert rows(installation) == ALL - {"db.db/days/ds=1"} | {"new"}
    undrop(installation, "db.days")
    assert rows(installation) == ALL
    installation.call("clean", CleanRequest(graceMillis=0))
    assert rows(installation) == ALL


def test_the_next_partition_does_not_show_overwritten_files(installation: Installation) -> None:
    published(installation)
    installation.call("drop_partition", "db", "days", ["1"], True)
    installation.call("add_partition", partition("db", "days", ["1"]))
    assert installation.call("get_partition", "db", "days", ["1"]).sd.location.endswith("/ds=1")
    assert [*(installation.warehouse / "db.db/days/ds=1").iterdir()] == []
    installation.call("clean", CleanRequest(graceMillis=0))
    assert not [*(installation.warehouse / "db.db/days/_versions").rglob("part*")]
    assert installation.call("check_files", CheckFilesRequest()).problems == []


@pytest.mark.parametrize("name", [None, "weeks"])
def test_overwritten_files_of_a_restored_table(installation: Installation, name: str | None) -> None:
    published(installation)
    installation.call("drop_table", "db", "days", True)
    undrop(installation, "db.days", name)
    undrop(installation, f"db.{name or 'days'}")
    assert rows(installation) == ALL


def test_overwritten_files_of_a_renamed_partition(installation: Installation) -> None:
    """The next partition of the former name has none of them."""
    published(installation)
    rename_partition(installation)
    installation.call("add_partition", partition("db", "days", ["1"]))
    assert rows(installation) == ALL - {"db.db/days/ds=1"} | {"new"}
    assert installation.call("check_files", CheckFilesRequest()).problems == []
    undrop(installation, "db.days")
    assert rows(installation) == ALL


@pytest.mark.parametrize("name", RENAMES)
def test_truncated_files_of_a_renamed_table(name: str, installation: Installation) -> None:
    rename, now = RENAMES[name]
    installation.call("truncate_table", "db", "days", None)
    rename(installation)
    undrop(installation, now)
    assert rows(installation) == ALL


def test_data_left_in_place_is_restored_under_another_name(installation: Installation) -> None:
    """A table that was dropped without its data has no directory to rename."""
    installation.call("drop_table", "db", "plain", False)
    undrop(installation, "db.plain", "again")
    assert rows(installation) == ALL
    installation.call("drop_table", "db", "again", False)
    installation.call("create_table", table("db", "plain"))
    with pytest.raises(InvalidOperationError, match=r"db\.db/plain is used by another object of the catalog"):
        undrop(installation, "db.again")


def test_another_client_has_created_the_database_meanwhile(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore = Drops.undrop_database

    def later(drops: Drops, drop_id: int) -> None:
        if "doomed" not in installation.call("get_all_databases"):
            installation.call("create_database", Database("doomed"))
        restore(drops, drop_id)

    monkeypatch.setattr(Drops, "undrop_database", later)
    installation.call("drop_database", "doomed", True, True)
    with pytest.raises(
        AlreadyExistsError, match="doomed: Database already exists: drop or rename the existing object first"
    ):
        undrop(installation, "doomed")
    assert installation.call("get_all_tables", "doomed") == []
    undrop(installation, "doomed.t")
    assert rows(installation) == ALL


@pytest.mark.parametrize(
    "first", [("drop_partition", "db", "days", ["1"], True), ("truncate_table", "db", "days", ["ds=1"])]
)
def test_drops_inside_a_dropped_table_expire_before_it(
    first: tuple[Any, ...], installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client that dropped or truncated a partition has died: its files do not come back with the table."""
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    installation.die_at = "committed"
    with pytest.raises(Killed):
        installation.call(*first)
    installation.die_at = None
    installation.call("drop_table", "db", "days", True)
    for _ in range(3):
        installation.application.journal.recover()
    assert not (installation.warehouse / "db.db/days").exists()
    undrop(installation, "db.days")
    assert rows(installation) == ALL - {"db.db/days/ds=1"}
    undrop(installation, "db.days")
    assert rows(installation) == ALL


@pytest.mark.parametrize(
    ("truncated", "drop", "place"),
    [
        (("plain", None), ("drop_table", "db", "plain", True), "db.db/plain"),
        (("plain", None), ("drop_database", "db", True, True), "db.db/plain"),
        (("days", ["ds=1"]), ("drop_partition", "db", "days", ["1"], True), "db.db/days/ds=1"),
    ],
)
def test_truncated_files_are_not_restored_with_a_later_drop(
    truncated: tuple[Any, ...],
    drop: tuple[Any, ...],
    place: str,
    installation: Installation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client that truncated has died: a later drop has the same directory."""
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    installation.die_at = "committed"
    with pytest.raises(Killed):
        installation.call("truncate_table", "db", *truncated)
    installation.die_at = None
    installation.call(*drop)
    assert not (installation.warehouse / place).exists()
    undrop(installation, "db" if drop[0] == "drop_database" else f"db.{truncated[0]}")
    assert rows(installation) == ALL - {place}
    undrop(installation, f"db.{truncated[0]}")
    assert rows(installation) == ALL


def test_nothing_is_named(installation: Installation) -> None:
    with pytest.raises(InvalidInputError, match="undrop needs a name"):
        installation.call("undrop", UndropRequest(None, None))


def test_a_table_whose_files_left_the_trash_does_not_adopt_other_files(installation: Installation) -> None:
    """As after a restore of the database to a moment before the table was undropped, dropped and created again."""
    installation.call("drop_table", "db", "plain", True)
    shutil.rmtree(installation.warehouse / ".metastore_trash")
    (installation.warehouse / "db.db/plain").mkdir()
    (installation.warehouse / "db.db/plain/rows").write_text("another table's rows")
    with pytest.raises(InvalidOperationError, match="no longer in the trash"):
        installation.call("undrop", UndropRequest("db", "plain"))
    shutil.rmtree(installation.warehouse / "db.db/plain")
    installation.call("undrop", UndropRequest("db", "plain"))
    assert not (installation.warehouse / "db.db/plain/rows").exists()
