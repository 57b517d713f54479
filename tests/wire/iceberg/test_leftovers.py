"""Metadata files that belong to no state of a table: of killed writers, and of the time after a restored moment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from metastore.app.iceberg import WarehouseFiles
from metastore.cli.commands import run
from metastore.iceberg.commits import Committer
from metastore.iceberg.reading import Reader
from metastore.iceberg.texts import MetadataTexts
from metastore.iceberg.writing import Writer
from tests.wire.console.conftest import Console
from tests.wire.iceberg.test_writing import SCHEMA_JSON, post, setting
from tests.wire.restore.catalog import RestoredCatalog

OUTSIDE, NEWER = "metadata file outside of the table's history", "metadata file newer than the table"
TWO_HOURS_AGO = (0, 1_600_000_000)


def test_files_of_killed_writers_are_listed(
    console: Console, iceberg: tuple[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    database, _ = iceberg
    path = f"namespaces/{database}/tables/t"
    present = Path(urlsplit(post(console, path, setting(a="1")).data["metadata-location"]).path)
    assert present.name.startswith("00003-")
    for path_in_log in present.parent.glob("*.metadata.json"):
        os.utime(path_in_log, TWO_HOURS_AGO)
    names = "00003-a", "00004-b", "00004-c"
    killed, newer, written_now = (present.with_name(f"{name}.metadata.json") for name in names)
    for copy in (killed, newer, written_now):
        shutil.copyfile(present, copy)
    os.utime(killed, TWO_HOURS_AGO)
    os.utime(newer, TWO_HOURS_AGO)
    assert run(["check", f"{database}.t", "--uri", console.server.uri, "--repair"]) == 1
    listed = [line.split("\t")[:4] for line in capsys.readouterr().out.splitlines()]
    assert listed == [
        [f"file:{killed}", OUTSIDE, f"{database}.t", "1"],
        [f"file:{newer}", NEWER, f"{database}.t", "1"],
    ]
    assert post(console, path, setting(a="2")).status == 200
    assert all(copy.exists() for copy in (killed, newer, written_now))


@pytest.fixture
def catalog(make_database: Callable[..., str], tmp_path: Path) -> Iterator[RestoredCatalog]:
    actual = RestoredCatalog(make_database, tmp_path)
    yield actual
    actual.close()


def writer_of(catalog: RestoredCatalog) -> Writer:
    """Returns what answers commits by REST on the present database."""
    application = catalog.application
    ask = application.dispatcher.call
    reader = Reader(ask, MetadataTexts(application), lambda _: None)
    return Writer(ask, reader, Committer(ask, WarehouseFiles(application), lambda *_: None, lambda: None))


def test_later_metadata_is_neither_used_nor_deleted_after_a_restore(catalog: RestoredCatalog) -> None:
    writer = writer_of(catalog)
    writer.create_table("hive", ["db"], {"name": "t", "schema": SCHEMA_JSON})

    def commit(value: str) -> Path:
        """Returns the new metadata file."""
        body = writer.commit_table("hive", ["db"], "t", setting(a=value)).body
        assert body
        assert f'"a":"{value}"'.encode() in body
        return Path(urlsplit(body.split(b'"')[3].decode()).path)

    commit("1")
    backup = catalog.back_up()
    later = [commit("2"), commit("3")]
    catalog.restore(backup)
    writer = writer_of(catalog)
    now = commit("4")
    assert now.name[:5] == later[0].name[:5]
    for file in later:
        os.utime(file, TWO_HOURS_AGO)
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
    problems = {Path(name).name: problem.problem for name, problem in catalog.check(repair=True).items()}
    assert problems == {later[0].name: OUTSIDE, later[1].name: NEWER}
    assert all(file.exists() for file in (*later, now))
