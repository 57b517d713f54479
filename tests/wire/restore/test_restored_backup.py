"""A backup is restored after drops: names in the trash do not recur, and nothing deletes the only copy of data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from metastore.errors import InvalidOperationError
from metastore.storage.repositories.file_operations import NewOperation
from tests.wire.restore.catalog import TRASH, RestoredCatalog
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest, CleanRequest

pytestmark = pytest.mark.slow


@pytest.fixture
def catalog(make_database: Callable[..., str], tmp_path: Path) -> Iterator[RestoredCatalog]:
    catalog = RestoredCatalog(make_database, tmp_path)
    yield catalog
    catalog.close()


def test_undrop_after_a_restore_returns_the_rows_of_its_own_table(catalog: RestoredCatalog) -> None:
    catalog.create("one")
    catalog.create("two")
    file = catalog.back_up()
    catalog.drop("one")
    catalog.restore(file)
    catalog.drop("two")
    assert len({path.parent for path in (catalog.warehouse / TRASH).rglob("part-*")}) == 2
    catalog.undrop("two")
    assert catalog.rows("two") == ["two"]
    assert catalog.contents() == {"one", "two"}


def test_check_after_a_restore_deletes_nothing(catalog: RestoredCatalog) -> None:
    catalog.create("one")
    file = catalog.back_up()
    catalog.drop("one")
    catalog.restore(file)
    for repair in (False, True):
        problems = catalog.check(repair=repair)
        assert problems["db.db/one"].problem.startswith("missing directory")
        assert any(problem.problem.startswith("remains of a drop") for problem in problems.values())
        assert not any(problem.repaired for problem in problems.values())
    catalog.background()
    assert catalog.contents() == {"one"}
    assert not (catalog.warehouse / "db.db/one").exists()


def lose_commits(catalog: RestoredCatalog, file: Path) -> None:
    """Restores as PostgreSQL's point-in-time recovery does: the database contains no mark of it."""
    catalog.restore(file)
    with catalog.application._store.transaction() as work:
        work.connection.execute(text("DELETE FROM metastore_properties WHERE name = 'lineage.restored'"))
    catalog.close()
    catalog.open()


@pytest.mark.parametrize("by", [RestoredCatalog.restore, lose_commits])
def test_nothing_is_cleaned_before_the_restore_is_reconciled(
    by: Callable[[RestoredCatalog, Path], None], catalog: RestoredCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    catalog.create("one")
    catalog.create("two")
    catalog.application.journal.lineage.note()
    file = catalog.back_up()
    catalog.create("three")
    catalog.drop("one")
    catalog.application.journal.lineage.note()
    by(catalog, file)
    with catalog.application._store.transaction() as work:  # a removal that the lost history has carried out
        work.file_operations.schedule([NewOperation("remove", f"file:{catalog.warehouse}/db.db/three", "dropped")])
        work.connection.execute(text("UPDATE file_operations SET lease_ends_at = NULL"))
    caplog.clear()
    for _ in range(2):
        catalog.application.journal.lineage.note()
        catalog.background()
        problems = catalog.check(repair=True)
        assert any("metastore db restored" in problem.problem for problem in problems.values())
    assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 1
    assert "metastore db restored" in caplog.text
    with pytest.raises(InvalidOperationError, match="metastore db restored"):
        catalog.call("clean", CleanRequest())
    catalog.call("drop_table_with_environment_context", "db", "two", True, EnvironmentContext({"ifPurge": "TRUE"}))
    catalog.create("two", "again")
    assert catalog.rows("two") == ["again"]
    assert catalog.contents() == {"one", "two", "three", "again"}


def test_a_continued_catalog_is_cleaned(catalog: RestoredCatalog) -> None:
    catalog.create("one")
    for _ in range(2):
        catalog.application.journal.lineage.note()
        catalog.close()
        catalog.open()
        catalog.create("two")
        catalog.call("drop_table_with_environment_context", "db", "two", True, EnvironmentContext({"ifPurge": "TRUE"}))
        assert catalog.contents() == {"one"}
        assert catalog.application.journal.lineage.problem() is None


def test_two_catalogs_on_one_warehouse(catalog: RestoredCatalog, database_url: str) -> None:
    catalog.create("one")
    catalog.application.journal.lineage.note()
    catalog.close()
    catalog.url = database_url
    catalog.open()
    catalog.application.journal.lineage.note()
    assert "uses the warehouse of catalog" in str(catalog.application.journal.lineage.problem())


def test_numbers_of_writes_do_not_recur(catalog: RestoredCatalog) -> None:
    catalog.create("one")
    file = catalog.back_up()
    before = catalog.call("begin_write", BeginWriteRequest("db", "one")).queryId
    catalog.restore(file)
    after = catalog.call("begin_write", BeginWriteRequest("db", "one")).queryId
    catalog.restore(file)
    assert len({before, after, catalog.call("begin_write", BeginWriteRequest("db", "one")).queryId}) == 3
