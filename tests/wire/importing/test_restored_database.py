"""The database is restored to a moment before a switch, and this server has dropped tables since then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metastore.domain.names import DatabaseName
from tests.fixtures.hive_schema import HiveDatabase
from tests.wire.importing.moving import copy, opened
from tests.wire.restore.catalog import TRASH, RestoredCatalog


def test_dropped_files_return_to_the_source(
    hive: HiveDatabase, make_database: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "theirs"
    sales = root / "sales.db"
    catalog = RestoredCatalog(make_database, tmp_path, allowed_locations=str(root))
    copy(hive.url, catalog.url)
    files = [sales / name for name in ("plain/data", "spark/data", "logs/ds=1/hr=1/data", "logs/ds=1/hr=2/data")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(str(file))
    backup = catalog.back_up()
    with opened(catalog.url) as store, store.transaction() as work:
        work.imports.switch(work.imports.all()[0].id, [DatabaseName("hive", name) for name in ("sales", "default")])
    catalog.call("drop_partition", "sales", "logs", ["1", "1"], True)
    for name in ("plain", "spark", "logs"):
        catalog.call("drop_table", "sales", name, True)
    assert not [file for file in files if file.exists()]
    catalog.restore(backup)
    (sales / "spark").mkdir()
    (sales / "spark/new").write_text("of the source")
    for expected in ("put back from the trash", "kept in the trash: unknown to the catalog"):
        options = ["--warehouse", str(catalog.warehouse), "--allowed-locations", str(root)]
        assert catalog.command("restored", *options) == 0
        assert expected in capsys.readouterr().out
        assert [file.exists() for file in files] == [True, False, True, True]
    assert (sales / "spark/new").read_text() == "of the source"
    assert len(list((root / TRASH).glob("*/data"))) == 1
    catalog.close()
