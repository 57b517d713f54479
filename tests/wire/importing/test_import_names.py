"""An import has a name: clients see it, and a source keeps it at another address. Only one import runs at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.cli.commands import run
from metastore.errors import ConflictError
from metastore.importing.copier import Copier, Request, find_import
from metastore.importing.sources.opening import open_source
from metastore.storage.importing.imports import ImportState
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import connected, running
from tests.wire.builders import table
from tests.wire.importing.moving import copy, opened
from thrift_idl.gen.hive_metastore.ttypes import InvalidOperationException, MetaException


def moved(url: str) -> str:
    """Returns another address of the same database."""
    return f"{url}{'&' if '?' in url else '?'}application_name=moved"


def test_clients_see_the_name_only(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    options = ["--database-url", database_url]
    assert run(["import", "run", hive.url, "--name", "old-hive", *options]) == 0
    kinds = (InvalidOperationException, MetaException)
    with running(database_url, tmp_path) as server, connected(server) as client, pytest.raises(kinds) as rejected:
        client.create_table(table("sales", "mine"))
    assert "it was imported from the metastore old-hive, and belongs to it" in str(rejected.value)
    assert "postgresql" not in str(rejected.value)


def test_a_source_with_another_address(
    hive: HiveDatabase, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--database-url", database_url]
    first = copy(hive.url, database_url)
    other = moved(hive.url)
    assert run(["import", "run", other, *options]) == 1
    said = capsys.readouterr().err
    assert f"is the same metastore at another address, add --name {first.name}. Otherwise choose another name" in said
    assert said.count("\n") == 1
    assert run(["import", "run", other, "--name", first.name, *options]) == 0
    with opened(database_url) as store, store.read() as work:
        (state,) = work.imports.all()
        assert find_import(work, first.name).id == first.id
    assert (state.id, state.name) == (first.id, first.name)
    assert state.source != first.source
    options += ["--allowed-locations", "/"]
    assert run(["import", "switch", hive.url, *options]) == 1
    assert run(["import", "switch", other, *options]) == 0


def test_a_name_belongs_to_one_import(
    hive: HiveDatabase, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--database-url", database_url]
    assert run(["import", "run", hive.url, "--name", "one", "--databases", "sales", *options]) == 0
    assert run(["import", "run", moved(hive.url), "--name", "two", "--databases", "default", *options]) == 0
    capsys.readouterr()
    assert run(["import", "run", hive.url, "--name", "two", *options]) == 1
    assert "The import two is from " in capsys.readouterr().err
    assert run(["import", "run", hive.url, "--name", "a b", *options]) == 1
    assert "'a b' is not a name of an import" in capsys.readouterr().err
    assert run(["import", "run", hive.url, "--name", "renamed", "--databases", "sales", *options]) == 0
    assert run(["import", "forget", "renamed", "--drop-databases", *options]) == 0


def test_a_second_run_is_rejected_until_the_first_has_applied_the_changes(
    hive: HiveDatabase, database_url: str
) -> None:
    copy(hive.url, database_url)
    rejected: list[ImportState] = []

    def catch_up(state: ImportState) -> None:
        with pytest.raises(ConflictError, match="Another metastore import runs"):
            copy(hive.url, database_url)
        rejected.append(state)

    source = open_source(hive.url)
    with opened(database_url) as store:
        Copier(source, store, Request()).run(catch_up)
    source.close()
    assert len(rejected) == 1
