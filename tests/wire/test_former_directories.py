"""Files that another engine puts where the rows of a partition were, before a compaction or a change of rows.

Trino finds the directory of a partition, writes a file there, reads the partition again and alters its counts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from os import fsdecode, fsencode
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table, unique
from tests.wire.rewritten_rows import Partitioned, Whole
from tests.wire.writing import begin, change, clean, local, publish, scanned, write_file
from thrift_idl.gen.hive_metastore.ttypes import MetaException
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition

FILE = "20261129_000001_00001_x"


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


def test_files_of_an_insert_that_is_rejected_stay_when_it_is_repeated(rows: Any) -> None:
    """Hive alters the partition that it has read before. If it fails, its user repeats the INSERT."""
    before = rows.read()
    rows.rewrite([])
    write_file(f"{rows.former}/000000_0")
    before.parameters["numFiles"] = "9"
    with pytest.raises(MetaException, match="Another client has overwritten"):
        rows.send(before)
    assert "000000_0" not in rows.names()
    write_file(f"{rows.location()}/000000_0_copy_1")
    rows.alter()
    assert "000000_0" not in rows.names()
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE in rows.names()


def test_a_client_that_read_long_before_does_not_bring_the_former_rows_back(
    rows: Any, metastore_server: Server
) -> None:
    """An INSERT of Hive may take longer than a minute between reading the partition and altering it."""
    before = rows.read()
    rows.rewrite([])
    place = rows.location()
    age(metastore_server)
    before.parameters["numFiles"] = "9"
    with pytest.raises(MetaException, match="Another client has overwritten"):
        rows.send(before)
    before.parameters.pop("spark_query_id", None)  # it was read before the first write of our client
    with pytest.raises(MetaException, match="Another client has overwritten"):
        rows.send(before)
    assert rows.location() == place


def test_a_client_that_has_read_the_present_rows_may_choose_the_former_directory(
    rows: Any, metastore_server: Server
) -> None:
    rows.rewrite([])
    age(metastore_server)
    changed = rows.read()
    changed.sd.location, changed.parameters["colour"] = rows.former, "red"
    rows.send(changed)
    assert rows.location() == rows.former


def test_trino_overwrites_a_partition_at_its_default_location(metastore_client: Any, metastore_server: Server) -> None:
    """It builds the partition without reading it: without the time of creation, and without our parameters."""
    rows = Partitioned(metastore_client)
    rows.rewrite([])
    built = partition(*rows.name, ["1"])
    built.sd.location, built.createTime = rows.former, None
    built.parameters = {"presto_query_id": "20261129_000001_00001_k3vd7", "numFiles": "1"}
    with pytest.raises(MetaException, match=r"has overwritten \S+ partition ds=1, which is no longer at"):
        rows.send(built)
    age(metastore_server)
    rows.send(built)
    assert rows.location() == rows.former


def test_files_of_writes_stay_when_a_client_changes_their_id(rows: Any) -> None:
    rows.rewrite([])
    rows.rewrite([])
    present = rows.names()
    changed = rows.read()
    changed.parameters["spark_query_id"] = "mine"
    rows.send(changed)
    rows.alter()
    assert rows.names() == present


def age(server: Server) -> None:
    """Makes replaced locations old."""
    change(server.database_url, "UPDATE file_operations SET decided_at = '2000-01-01' WHERE reason = 'replaced'")


def test_files_stay_if_the_call_is_rejected(metastore_client: Any) -> None:
    rows = Partitioned(metastore_client)
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    changed = rows.read()
    changed.sd.location = "nonsense:relative"
    with pytest.raises(MetaException, match="is not absolute"):
        rows.send(changed)
    assert FILE not in rows.names()


def test_files_of_another_partition_at_the_former_directory_stay(metastore_client: Any) -> None:
    rows = Partitioned(metastore_client)
    rows.rewrite([])
    other = partition(*rows.name, ["2"])
    other.sd.location = rows.former
    metastore_client.add_partition(other)
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE not in rows.names()


def test_files_of_another_table_at_the_former_directory_stay(rows: Any) -> None:
    rows.rewrite([])
    other = table(rows.name[0], unique("other"))
    other.tableType, other.parameters, other.sd.location = "EXTERNAL_TABLE", {"EXTERNAL": "TRUE"}, rows.former
    rows.client.create_table(other)
    write_file(f"{rows.former}/{FILE}")
    rows.alter()
    assert FILE not in rows.names()


@pytest.mark.parametrize("counts", [{}, {"numFiles": "7", "totalSize": "7"}])
def test_a_client_returns_to_the_former_directory(rows: Any, counts: dict[str, str]) -> None:
    """The files are where the client wants them. The server counts them."""
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    changed = rows.read()
    changed.sd.location, changed.parameters = rows.former, changed.parameters | counts
    rows.send(changed, alterTableOpType="ALTERLOCATION")
    assert FILE in rows.names()


def test_files_that_moved_are_counted(rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    changed = rows.read()
    changed.parameters = {"spark_query_id": changed.parameters["spark_query_id"]}
    rows.send(changed)
    assert rows.read().parameters["numFiles"] == str(len(rows.names()))


def test_files_of_another_serde_or_other_buckets_stay(metastore_client: Any) -> None:
    for field, value in (("serializationLib", "org.apache.hive.hcatalog.data.JsonSerDe"), ("numBuckets", 8)):
        rows = Partitioned(metastore_client)
        changed = metastore_client.get_table(*rows.name)
        setattr(changed.sd if field == "numBuckets" else changed.sd.serdeInfo, field, value)
        changed.sd.bucketCols = [changed.sd.cols[0].name] if field == "numBuckets" else []
        metastore_client.alter_table(*rows.name, changed)
        rows.rewrite([])
        write_file(f"{rows.former}/{FILE}")
        rows.alter()
        assert FILE not in rows.names(), field


def test_a_name_that_is_not_utf_8_stops_no_call(rows: Any) -> None:
    rows.rewrite([])
    Path(fsdecode(fsencode(local(rows.former)) + b"/bad\xff")).touch()
    rows.alter()
    assert len(rows.names()) == 2
