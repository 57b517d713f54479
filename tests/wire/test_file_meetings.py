"""Two calls about one location: the second decides while an operation of the first is unfinished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from metastore.services.files import journal
from metastore.storage.postgres import clock
from metastore.storage.repositories.file_operations import FileOperation, FileOperations
from tests.wire.builders import descriptor, partition, table
from tests.wire.test_file_faults import KEYS, House, Killed

pytestmark = pytest.mark.slow


@pytest.fixture
def house(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    house = House(database_url, tmp_path)
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    yield house
    house.application.close()


def test_a_directory_dropped_during_moves_into_it_is_removed_after_them(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "LEASE", timedelta(minutes=1))
    monkeypatch.setattr(journal, "_WAIT_LIMIT", 3.0)

    def meanwhile(_: str) -> None:
        monkeypatch.setattr(house.application.journal, "_step", house.step)
        house.call("drop_table", "db", "more", True)

    monkeypatch.setattr(house.application.journal, "_step", meanwhile)
    house.call("exchange_partition", {"ds": "1"}, "db", "days", "db", "more")
    house.call("create_table", table("db", "more", KEYS))
    assert list((house.warehouse / "db.db/more").iterdir()) == []
    house.agrees()


def test_a_directory_of_two_is_dropped_by_the_second_while_the_first_leaves_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in ("3", "4"):
        house.call("add_partition", partition("db", "days", [day], sd=descriptor(f"{house.uri}/db.db/both")))
    leave = FileOperations.delete_unchanged

    def later(operations: FileOperations, claimed: Sequence[FileOperation]) -> None:
        monkeypatch.setattr(FileOperations, "delete_unchanged", leave)
        house.die_at = "committed"
        with pytest.raises(Killed):
            house.call("drop_partition", "db", "days", ["4"], True)
        leave(operations, claimed)

    monkeypatch.setattr(FileOperations, "delete_unchanged", later)
    house.call("drop_partition", "db", "days", ["3"], True)
    house.recover()
    assert not (house.warehouse / "db.db/both").exists()
    house.agrees()
