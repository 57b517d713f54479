"""Files that another engine puts where the rows of a partition were, before a compaction or a change of rows.

Trino finds the directory of a partition, writes a file there, reads the partition again and alters its counts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from shutil import rmtree
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table, unique
from tests.wire.writing import begin, clean, day, local, publish, scanned, write_file
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, MetaException
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition

FILE = "20261129_000001_00001_x"


class Rows:
    """What is rewritten."""

    def location(self) -> str:
        """Returns the present directory of the rows."""
        raise NotImplementedError

    def names(self) -> list[str]:
        """Returns the names of the files there."""
        return sorted(file.name for file in local(self.location()).iterdir())


class Partitioned(Rows):
    """A partition whose rows are rewritten from `ds=1` to a directory of the write."""

    def __init__(self, client: Any) -> None:
        self.client, self.name = client, new_table(client, [("ds", "string")])
        self.root = client.get_table(*self.name).sd.location
        self.former = f"{self.root}/ds=1"
        self._publish(PublishMode.CREATE, self.former)

    def location(self) -> str:
        return str(self.client.get_partition(*self.name, ["1"]).sd.location)

    def rewrite(self, foreign_files: list[str] | None) -> str:
        """Publishes the rewrite, and returns the id of its write."""
        return self._publish(PublishMode.OVERWRITE, "", foreignFiles=foreign_files)

    def _publish(self, mode: int, location: str, **fields: Any) -> str:
        query_id = begin(self.client, self.name)
        location = location or f"{self.root}/_versions/{query_id}/ds=1"
        write_file(f"{location}/{query_id}.parquet")
        entry = day(self.root, "1", mode, location=location, parameters={"spark_query_id": query_id}, **fields)
        publish(self.client, self.name, query_id, entry)
        return query_id

    def alter(self, **context: str) -> None:
        """Reads the partition again, and changes its counts."""
        found = self.client.get_partition(*self.name, ["1"])
        found.parameters["numFiles"] = "9"
        self.client.alter_partition_with_environment_context(*self.name, found, EnvironmentContext(context))


class Whole(Rows):
    """A table without partitions, whose rows are rewritten."""

    def __init__(self, client: Any) -> None:
        self.client, self.name = client, new_table(client)
        self.former = client.get_table(*self.name).sd.location

    def location(self) -> str:
        return str(self.client.get_table(*self.name).sd.location)

    def rewrite(self, foreign_files: list[str] | None) -> str:
        """Publishes the rewrite, and returns the id of its write."""
        query_id = begin(self.client, self.name)
        location = f"{self.former}/_versions/{query_id}"
        write_file(f"{location}/{query_id}.parquet")
        parameters = {"spark_query_id": query_id}
        entry = PublishPartition(
            [], PublishMode.OVERWRITE, location, [], parameters=parameters, foreignFiles=foreign_files
        )
        publish(self.client, self.name, query_id, entry)
        return query_id

    def alter(self, **context: str) -> None:
        """Reads the table again, and changes its counts."""
        found = self.client.get_table(*self.name)
        found.parameters["numFiles"] = "9"
        self.client.alter_table_with_environment_context(*self.name, found, EnvironmentContext(context))


@pytest.fixture(params=[Partitioned, Whole])
def rows(request: pytest.FixtureRequest, metastore_client: Any) -> Any:
    return request.param(metastore_client)


def test_a_file_that_came_after_the_rewrite_moves_to_the_rows(rows: Any) -> None:
    write_file(f"{rows.former}/000000_0")
    rows.rewrite(["000000_0"])
    rows.alter()
    assert FILE not in rows.names()
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE in rows.names()
    assert "000000_0" not in rows.names()
    assert not local(f"{rows.former}/{FILE}").exists()


def test_a_file_that_came_before_the_publication_and_was_not_read_moves(rows: Any) -> None:
    write_file(f"{rows.former}/{FILE}")
    rows.rewrite([])
    rows.alter()
    assert FILE in rows.names()


def test_a_file_in_the_first_of_several_former_directories_moves(rows: Any) -> None:
    rows.rewrite([])
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE in rows.names()


@pytest.mark.parametrize("name", ["_newer_rows_are_in__versions=x", ".part.crc", "{query_id}.parquet"])
def test_hidden_files_and_those_of_registered_writes_stay(rows: Any, name: str) -> None:
    file = name.format(query_id=rows.rewrite([]))
    present = rows.names()
    write_file(f"{rows.former}/{file}")
    rows.alter()
    assert rows.names() == present
    assert local(f"{rows.former}/{file}").exists()


def test_an_overwrite_that_has_read_nothing_replaces_what_comes(rows: Any) -> None:
    rows.rewrite(None)
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE not in rows.names()


def test_a_client_that_sends_the_version_moves_no_files(rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    rows.alter(expected_version=str(scanned(rows.client, rows.name).partitions[0].version))
    assert FILE not in rows.names()


def test_no_file_is_replaced(rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}", "new")
    write_file(f"{rows.location()}/{FILE}", "old")
    with pytest.raises(MetaException, match=f"{FILE} cannot be moved: .* exists"):
        rows.alter()
    assert local(f"{rows.location()}/{FILE}").read_text() == "old"
    assert local(f"{rows.former}/{FILE}").read_text() == "new"


def test_files_of_another_format_stay(metastore_client: Any) -> None:
    rows = Partitioned(metastore_client)
    changed = metastore_client.get_table(*rows.name)
    changed.sd.inputFormat = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
    metastore_client.alter_table(*rows.name, changed)
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE not in rows.names()


def test_the_table_is_renamed_meanwhile(metastore_client: Any) -> None:
    rows = Partitioned(metastore_client)
    rows.rewrite([])
    moved = metastore_client.get_table(*rows.name)
    moved.tableName = unique("moved")
    metastore_client.alter_table(*rows.name, moved)
    former, rows.name = rows.former, (moved.dbName, moved.tableName)
    write_file(f"{former.replace(rows.root, metastore_client.get_table(*rows.name).sd.location)}/{FILE}")
    rows.alter()
    assert FILE in rows.names()


def test_a_directory_that_was_cleaned_no_longer_counts(rows: Any) -> None:
    rows.rewrite([])
    clean(rows.client, rows.name)
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE not in rows.names()


def test_the_empty_directory_of_the_rows_is_missing(rows: Any) -> None:
    rows.rewrite([])
    rmtree(local(rows.location()))
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert rows.names() == [FILE]


def test_several_clients_alter_at_once(rows: Any, metastore_server: Server) -> None:
    """Trino has put several files there, of several INSERTs."""
    files = [f"{FILE}{number}" for number in range(30)]
    query_id = rows.rewrite([])
    for name in files:
        write_file(f"{rows.former}/{name}")

    def alter(_: int) -> None:
        with connected(metastore_server) as client:
            own = copy(rows)
            own.client = client
            own.alter()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(alter, range(4)))
    assert rows.names() == sorted([*files, f"{query_id}.parquet"])


def test_a_table_whose_rows_are_in_its_directory_again_is_renamed(metastore_client: Any) -> None:
    rows = Whole(metastore_client)
    rows.rewrite([])
    root, former = rows.former, rows.location()
    query_id = begin(metastore_client, rows.name)
    write_file(f"{root}/{query_id}.parquet")
    entry = PublishPartition(
        [], PublishMode.OVERWRITE, root, [], parameters={"spark_query_id": query_id}, foreignFiles=[]
    )
    publish(metastore_client, rows.name, query_id, entry)
    renamed = metastore_client.get_table(*rows.name)
    renamed.tableName = unique("renamed")
    metastore_client.alter_table(*rows.name, renamed)
    rows.name = (renamed.dbName, renamed.tableName)
    write_file(f"{former.replace(root, rows.location())}/{FILE}")
    rows.alter()
    assert FILE in rows.names()
