"""`metastore db restored` with the warehouse of another catalog, with other settings than the servers, and with an
allowed location that several catalogs have.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from metastore.services.files.move_log import MOVES
from tests.wire.builders import table
from tests.wire.restore.catalog import RestoredCatalog
from tests.wire.restore.test_restored_command import Capture, reconcile
from thrift_idl.gen.hive_metastore.ttypes import Database

pytestmark = pytest.mark.slow


def test_a_warehouse_of_a_lost_catalog_is_taken_over(
    catalog: RestoredCatalog, capsys: Capture, database_url: str
) -> None:
    catalog.create("one")
    catalog.application.journal.lineage.note()
    catalog.close()
    catalog.url = database_url
    catalog.open()
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 1
    assert "--take-over" in capsys.readouterr().err
    reconcile(catalog, capsys, "--take-over")
    catalog.close()
    catalog.open()
    assert catalog.application.journal.lineage.problem() is None
    assert catalog.contents() == {"one"}


def test_settings_that_are_not_those_of_the_servers_are_rejected(
    make_database: Callable[..., str], tmp_path: Path, capsys: Capture
) -> None:
    """Otherwise the run would end the search for the files in places that it does not know."""
    outside = tmp_path / "outside"
    catalog = RestoredCatalog(make_database, tmp_path, allowed_locations=str(outside))
    catalog.call("create_database", Database("else", None, f"file:{outside}", {}))
    catalog.call("create_table", table("else", "one"))
    (outside / "one/part-0").write_text("one")
    catalog.application.journal.lineage.note()
    file = catalog.back_up()
    catalog.call("drop_table", "else", "one", True)
    catalog.application.journal.lineage.note()
    catalog.restore(file)
    places = ("--warehouse", str(catalog.warehouse)), ("--allowed-locations", str(outside))
    assert catalog.command("restored", *places[0]) == 1
    assert f"Servers use file:{outside}, too. Set METASTORE_ALLOWED_LOCATIONS as they do" in capsys.readouterr().err
    assert catalog.command("restored", "--warehouse", str(tmp_path / "typo"), *places[1]) == 1
    assert "is this its warehouse? Set METASTORE_WAREHOUSE" in capsys.readouterr().err
    assert catalog.command("restored", *places[0], *places[1]) == 0
    assert (outside / "one/part-0").read_text() == "one"
    catalog.close()


def test_moves_of_another_catalog_at_the_same_locations_are_left_alone(
    make_database: Callable[..., str], tmp_path: Path, capsys: Capture
) -> None:
    shared = str(tmp_path / "shared")
    one, other = (
        RestoredCatalog(make_database, tmp_path / name, allowed_locations=shared) for name in ("one", "other")
    )
    one.application.journal.lineage.note()
    file = one.back_up()
    other.call("create_database", Database("else", None, f"file:{shared}/else", {}))
    for name in ("moved", "made"):
        other.call("create_table", table("else", name))
        (tmp_path / "shared/else" / name / "part-0").write_text(name)
    renamed = other.call("get_table", "else", "moved").decode()
    renamed.tableName = "later"
    other.call("alter_table", "else", "moved", renamed)
    one.restore(file)
    told = reconcile(one, capsys, "--allowed-locations", shared)
    assert "0 locations" in told
    assert sorted(each.parent.name for each in Path(shared).rglob("part-0")) == ["later", "made"]
    one.application.journal.forget_moves(timedelta(0))
    assert list(Path(shared, MOVES).iterdir()), "the log of another catalog stays"
    for catalog in (one, other):
        catalog.close()
