"""Backups, drops, restores, undrops and repairs in random orders: no file is lost, and no table gets another's rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metastore.errors import MetastoreError
from tests.wire.restore.catalog import RestoredCatalog

pytestmark = pytest.mark.slow
NAMES = ("one", "two")
STEPS = st.one_of(
    st.tuples(st.sampled_from(["create", "drop", "undrop"]), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(["back up", "restore", "repair", "background", "note"]), st.just("")),
)

CARE: dict[str, Callable[[RestoredCatalog], object]] = {
    "repair": lambda catalog: catalog.check(repair=True),
    "background": lambda catalog: catalog.background(),
    "note": lambda catalog: catalog.application.journal.lineage.note(),
}


@given(st.lists(STEPS, min_size=4, max_size=14))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_rows_are_lost_or_mixed(make_database: Callable[..., str], steps: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        catalog = RestoredCatalog(make_database, Path(folder))
        try:
            run(catalog, steps)
        finally:
            catalog.close()


def run(catalog: RestoredCatalog, steps: list[tuple[str, str]]) -> None:
    written: set[str] = set()
    backups: list[Path] = []
    for step, name in steps:
        tables = catalog.call("get_all_tables", "db")
        if step == "create" and name not in tables and not catalog.rows(name):
            rows = f"{name} {len(written)}"
            catalog.create(name, rows)
            written.add(rows)
        elif step == "drop" and name in tables:
            catalog.drop(name)
        elif step == "undrop" and name not in tables:
            with suppress(MetastoreError):  # nothing to undrop, or its files are elsewhere
                catalog.undrop(name)
        elif step == "back up":
            backups.append(catalog.back_up())
        elif step == "restore" and backups:
            restore(catalog, backups[-1])
        elif step in CARE:
            CARE[step](catalog)
        assert catalog.contents() == written
        for table in catalog.call("get_all_tables", "db"):
            texts = catalog.rows(table)
            assert len(texts) <= 1, "rows of two tables"
            assert all(text.startswith(table) for text in texts)


def restore(catalog: RestoredCatalog, file: Path) -> None:
    """Restores a backup, runs harmless maintenance meanwhile, and reconciles."""
    catalog.restore(file)
    catalog.check(repair=True)
    catalog.background()
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
    catalog.close()
    catalog.open()
