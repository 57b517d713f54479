"""A backup is restored after drops: names in the trash do not recur, and nothing deletes the only copy of data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wire.restore.catalog import TRASH, RestoredCatalog

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
        assert not any(problem.mended for problem in problems.values())
    catalog.background()
    assert catalog.contents() == {"one"}
    assert not (catalog.warehouse / "db.db/one").exists()
