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
from tests.wire.test_file_faults import KEYS, Installation, Killed

pytestmark = pytest.mark.slow


@pytest.fixture
def installation(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    installation = Installation(database_url, tmp_path)
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    yield installation
    installation.application.close()


def test_a_directory_dropped_during_moves_into_it_is_removed_after_them(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "LEASE", timedelta(minutes=1))
    monkeypatch.setattr(journal, "_WAIT_LIMIT", 3.0)

    def meanwhile(_: str) -> None:
        monkeypatch.setattr(installation.application.journal, "_step", installation.step)
        installation.call("drop_table", "db", "more", True)

    monkeypatch.setattr(installation.application.journal, "_step", meanwhile)
    installation.call("exchange_partition", {"ds": "1"}, "db", "days", "db", "more")
    installation.call("create_table", table("db", "more", KEYS))
    assert list((installation.warehouse / "db.db/more").iterdir()) == []
    installation.agrees()


def test_a_shared_directory_is_dropped_by_its_second_owner_while_the_first_moves_out(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in ("3", "4"):
        installation.call(
            "add_partition", partition("db", "days", [day], sd=descriptor(f"{installation.uri}/db.db/both"))
        )
    leave = FileOperations.delete_unchanged

    def later(operations: FileOperations, claimed: Sequence[FileOperation]) -> None:
        monkeypatch.setattr(FileOperations, "delete_unchanged", leave)
        installation.die_at = "committed"
        with pytest.raises(Killed):
            installation.call("drop_partition", "db", "days", ["4"], True)
        leave(operations, claimed)

    monkeypatch.setattr(FileOperations, "delete_unchanged", later)
    installation.call("drop_partition", "db", "days", ["3"], True)
    installation.recover()
    assert not (installation.warehouse / "db.db/both").exists()
    installation.agrees()
