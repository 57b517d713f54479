"""What files in the directories of a new table say about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.errors import InvalidObjectError
from metastore.services.rules.existing_files import check_newest, find_skewed_directories
from metastore.warehouse.filesystem import Warehouse
from tests.wire.builders import descriptor, skewed, table


def test_an_external_table_does_not_show_replaced_rows(tmp_path: Path) -> None:
    old, fresh = tmp_path / "old", tmp_path / "fresh"
    for folder in (old, fresh):
        folder.mkdir()
    (old / f"{NEWER_ROWS_MARKER}x").touch()
    warehouse = Warehouse(str(tmp_path))
    with pytest.raises(InvalidObjectError, match="holds rows that were replaced"):
        check_newest([table("db", "t", sd=descriptor(str(old)), parameters={"EXTERNAL": "TRUE"})], warehouse)
    check_newest([table("db", "t", sd=descriptor(str(fresh)), parameters={"EXTERNAL": "TRUE"})], warehouse)
    # A managed table's own writes have left the marker; its catalog entry names the newer directory.
    check_newest([table("db", "t", sd=descriptor(str(old)))], warehouse)


def test_directories_of_skewed_values_are_found_if_the_client_names_none(tmp_path: Path) -> None:
    (tmp_path / "x=a").mkdir()
    found, sent = skewed(["x"], [["a"]]), skewed(["x"], [["a"]])
    sent.skewedColValueLocationMaps = {("a",): "/mnt/elsewhere"}
    owners = [
        table("db", "t", sd=descriptor(str(tmp_path), skewedInfo=skew, storedAsSubDirectories=True))
        for skew in (found, sent)
    ]
    find_skewed_directories(owners, Warehouse(str(tmp_path)))
    assert found.skewedColValueLocationMaps == {("a",): f"file:{tmp_path}/x=a"}
    assert sent.skewedColValueLocationMaps == {("a",): "/mnt/elsewhere"}
