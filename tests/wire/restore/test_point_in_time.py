"""PostgreSQL's own point-in-time recovery, without a command of ours: nothing is lost, and no rows are mixed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from migrations import runner
from tests.fixtures.database import reachable_folder
from tests.fixtures.point_in_time import ArchivedPostgres, archived_postgres
from tests.wire.restore.catalog import RestoredCatalog


@pytest.fixture
def postgres() -> Iterator[ArchivedPostgres]:
    with reachable_folder() as folder, archived_postgres(folder) as server:
        runner.upgrade(server.url)
        yield server


def test_a_recovery_to_an_earlier_moment(
    postgres: ArchivedPostgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = RestoredCatalog(lambda **_: postgres.url, tmp_path)
    try:
        for name in ("one", "two", "three"):
            catalog.create(name)
        catalog.drop("three")
        postgres.mark()
        catalog.drop("one")
        catalog.create("late")
        catalog.drop("two")
        catalog.create("two", "another two")
        before = catalog.contents()
        with postgres.recovered() as url:
            catalog.close()
            catalog.url = url
            catalog.open()
            assert last_event(url) < last_event(postgres.url)
            catalog.background()  # the first server after the recovery
            catalog.check(repair=True)
            assert catalog.contents() == before
            assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
            assert last_event(url) > last_event(postgres.url)
            catalog.background()
            report = capsys.readouterr().out
            assert catalog.rows("one") == ["one"], report
            catalog.undrop("three")
            assert catalog.rows("three") == ["three"]
            catalog.drop("one")
            catalog.undrop("one")
            assert catalog.rows("one") == ["one"]
            assert {"one", "two", "three", "another two", "late"} <= catalog.contents(), report
            assert not (catalog.warehouse / "db.db/late").exists()  # its files are in the trash
    finally:
        catalog.close()


def last_event(url: str) -> int:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return int(connection.scalar(text("SELECT last_event_id FROM notification_sequence")) or 0)
