"""Registered writes over the wire: begin, renew, publish, end, and what readers get."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, partition, table
from tests.wire.writing import Name, begin, change, day, publish, scanned
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    ConflictException,
    FileLayout,
    PublishMode,
    PublishPartition,
    PublishRequest,
    Rename,
    RenewWriteRequest,
    WriteLease,
)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return f"file:{tmp_path}/t"


@pytest.fixture
def written(metastore_client: Any, root: str) -> Name:
    """A table by day, in its own directory."""
    return new_table(metastore_client, [("ds", "string")], sd=descriptor(root))


def number(query_id: str) -> int:
    return int(query_id.rpartition("-")[2])


def test_a_write_is_open_from_begin_to_publish_or_end(metastore_client: Any, written: Name, root: str) -> None:
    before = scanned(metastore_client, written)
    assert (before.highestWrite, before.openWrites) == (0, [])
    first, second, third = (begin(metastore_client, written) for _ in range(3))
    plan = scanned(metastore_client, written)
    assert first == f"{plan.writeToken}-1"
    assert before.writeToken == plan.writeToken  # a reader that began before the first write hides it, too
    assert (plan.highestWrite, plan.openWrites) == (3, [1, 2, 3])
    publish(metastore_client, written, second, day(root, "1"))
    plan = scanned(metastore_client, written)
    assert ([scan_partition.values for scan_partition in plan.partitions], plan.highestWrite, plan.openWrites) == (
        [["1"]],
        3,
        [1, 3],
    )
    metastore_client.end_write(third)
    assert scanned(metastore_client, written).openWrites == [1]
    for ended in (second, third):
        with pytest.raises(NoSuchObjectException, match="no open write"):
            metastore_client.end_write(ended)
        with pytest.raises(NoSuchObjectException, match="no open write"):
            metastore_client.renew_write(RenewWriteRequest(ended))
        with pytest.raises(NoSuchObjectException, match="no open write"):
            publish(metastore_client, written, ended, day(root, "2"))
    assert metastore_client.get_partition_names(*written, -1) == ["ds=1"]


def test_writes_of_unpartitioned_tables(metastore_client: Any, root: str) -> None:
    name = new_table(metastore_client, sd=descriptor(root))
    write = begin(metastore_client, name)
    plan = scanned(metastore_client, name)
    assert (plan.highestWrite, plan.openWrites) == (1, [1])
    new = PublishPartition([], PublishMode.OVERWRITE, f"{root}/_versions/{write}", [])
    assert publish(metastore_client, name, write, new).replaced == [root]
    plan = scanned(metastore_client, name)
    assert (plan.partitions[0].location, plan.openWrites) == (new.location, [])


@pytest.mark.parametrize("mode", [PublishMode.APPEND, PublishMode.OVERWRITE])
@pytest.mark.parametrize("keys", [[("ds", "string")], []], ids=["partitioned", "not partitioned"])
def test_counts_of_spark_are_deleted_by_a_write(
    metastore_client: Any, root: str, keys: list[tuple[str, str]], mode: int
) -> None:
    name = new_table(metastore_client, keys, sd=descriptor(root))
    if keys:
        publish(metastore_client, name, "q", day(root, "1"))
        analysed = metastore_client.get_partition(*name, ["1"])
        analysed.parameters["spark.sql.statistics.numRows"] = "1"
        metastore_client.alter_partition(*name, analysed)
    counted = metastore_client.get_table(*name)
    counted.parameters |= {"spark.sql.statistics.numRows": "1", "spark.sql.sources.schema": "{}"}
    metastore_client.alter_table(*name, counted)
    location = root if mode == PublishMode.APPEND else f"{root}/_versions/q"
    entry = day(location, "1", mode) if keys else PublishPartition([], mode, location, [])
    publish(metastore_client, name, begin(metastore_client, name), entry)
    actual = [metastore_client.get_table(*name), *metastore_client.get_partitions(*name, -1)]
    assert not any(key.startswith("spark.sql.statistics") for each in actual for key in each.parameters)
    assert actual[0].parameters["spark.sql.sources.schema"] == "{}"


def test_a_refused_publication_leaves_the_write_open(metastore_client: Any, written: Name, root: str) -> None:
    write = begin(metastore_client, written)
    with pytest.raises(ConflictException):
        publish(metastore_client, written, write, day(root, "1", expectedVersion=7))
    assert scanned(metastore_client, written).openWrites == [number(write)]
    assert publish(metastore_client, written, write, day(root, "1", expectedVersion=0)).replaced == []


@pytest.mark.parametrize("mode", [PublishMode.APPEND, PublishMode.OVERWRITE])
def test_a_partition_that_came_in_the_place_of_another_is_not_taken_for_it(
    metastore_client: Any, written: Name, root: str, mode: int
) -> None:
    """Otherwise an append whose files went with the dropped table would be published without them."""
    publish(metastore_client, written, begin(metastore_client, written), day(root, "1"))
    seen = scanned(metastore_client, written).partitions[0].version
    metastore_client.drop_partition(*written, ["1"], True)
    again = publish(metastore_client, written, begin(metastore_client, written), day(root, "1"))
    with pytest.raises(ConflictException, match="another writer has changed it"):
        publish(metastore_client, written, begin(metastore_client, written), day(root, "1", mode, expectedVersion=seen))
    now = scanned(metastore_client, written).partitions[0].version
    assert again.versions == [now]
    write = begin(metastore_client, written)
    assert publish(metastore_client, written, write, day(root, "1", mode, expectedVersion=now)).versions == [now + 1]


def test_the_writes_of_one_statement_are_published_together(metastore_client: Any, written: Name, root: str) -> None:
    names = [written, (written[0], "before_it")]
    metastore_client.create_table(table(*names[1], [("ds", "string")]))
    writes = [begin(metastore_client, name) for name in names]

    def request(number: int, **fields: Any) -> PublishRequest:
        return PublishRequest(*names[number], writes[number], [day(root, str(number), **fields)])

    with pytest.raises(ConflictException, match="before_it partition ds=1 does not exist, but the writer saw"):
        metastore_client.publish_all([request(0), request(1, expectedVersion=7)])
    for name in names:
        assert (scanned(metastore_client, name).partitions, scanned(metastore_client, name).openWrites) == ([], [1])
    results = metastore_client.publish_all([request(0), request(1)])
    plans = [scanned(metastore_client, name) for name in names]
    assert [result.versions for result in results] == [[plan.partitions[0].version] for plan in plans]
    assert [plan.openWrites for plan in plans] == [[], []]
    assert metastore_client.publish_all([]) == []


@pytest.mark.parametrize("seen", [FileLayout(numBuckets=4), FileLayout(bucketCols=["a"]), FileLayout("Text")])
def test_files_of_another_layout_than_the_table_s_are_rejected(
    metastore_client: Any, written: Name, root: str, seen: FileLayout
) -> None:
    write = begin(metastore_client, written)
    with pytest.raises(ConflictException, match=r"has another (numBuckets|bucketCols|inputFormat) now: .*again"):
        publish(metastore_client, written, write, day(root, "1"), layout=seen)
    same = FileLayout(descriptor().inputFormat, 0, [])
    assert publish(metastore_client, written, write, day(root, "1"), layout=same).replaced == []


def test_a_write_is_its_tables(metastore_client: Any, written: Name, root: str) -> None:
    metastore_client.create_table(table(written[0], "other", [("ds", "string")]))
    write = begin(metastore_client, written)
    with pytest.raises(NoSuchObjectException):
        publish(metastore_client, (written[0], "other"), write, day(root, "1"))
    metastore_client.drop_table(*written, False)
    with pytest.raises(NoSuchObjectException):
        publish(metastore_client, written, write, day(root, "1"))
    metastore_client.create_table(table(*written, [("ds", "string")]))
    with pytest.raises(NoSuchObjectException, match="no open write"):
        publish(metastore_client, written, write, day(root, "1"))
    with pytest.raises(NoSuchObjectException, match="no open write"):
        metastore_client.renew_write(RenewWriteRequest(write))
    assert not write.startswith(f"{scanned(metastore_client, written).writeToken}-")


def test_a_renamed_table_keeps_its_writes(metastore_client: Any, written: Name, root: str) -> None:
    write = begin(metastore_client, written)
    renamed = metastore_client.get_table(*written)
    renamed.tableName = "renamed"
    metastore_client.alter_table(*written, renamed)
    name = (written[0], "renamed")
    assert scanned(metastore_client, name).openWrites == [1]
    metastore_client.renew_write(RenewWriteRequest(write))
    with pytest.raises(NoSuchObjectException):
        publish(metastore_client, written, write, day(root, "1"))
    assert publish(metastore_client, name, write, day(root, "1")).replaced == []


def test_writers_that_register_nothing_publish_as_before(metastore_client: Any, written: Name, root: str) -> None:
    for query_id in ("20260131_235959_00007_x7k2p", "", "query"):
        assert publish(metastore_client, written, query_id, day(root, query_id or "empty")).replaced == []


def test_locations_are_granted_once(metastore_client: Any, written: Name, root: str) -> None:
    metastore_client.add_partition(partition(*written, ["1"]))
    metastore_client.add_partition(partition(*written, ["2"], sd=descriptor(f"{root}/far/off")))
    one, other = begin(metastore_client, written), begin(metastore_client, written)

    def claim(write: str, *places: str) -> list[bool]:
        wanted = [f"{root}/{location}" for location in places]
        return list(metastore_client.renew_write(RenewWriteRequest(write, wanted)).granted)

    assert claim(one, "ds=3", "ds=1", "ds=1/below", "far", "far/off", "far/of", "ds=4") == [
        True,
        False,
        False,
        False,
        False,
        True,
        True,
    ]
    assert claim(one, "ds=3", "ds=5") == [True, True]  # repeated
    assert claim(other, "ds=3", "ds=3/", "ds=3/x", "ds=30", "ds=6") == [False, False, False, True, True]
    assert claim(one, "ds=6", "ds=30/x") == [False, False]
    assert claim(one, "") == [False]
    metastore_client.end_write(other)
    assert claim(one, "ds=6", "ds=30/x") == [True, True]
    for wrong in ("", "relative", "file:/"):
        with pytest.raises(MetaException):
            metastore_client.renew_write(RenewWriteRequest(one, [wrong]))


def test_a_write_begins_with_a_directory_of_its_own(metastore_client: Any, written: Name, root: str) -> None:
    def begun(directory: str | None, *shared: str | None, table: Name = written) -> WriteLease:
        return metastore_client.begin_write(BeginWriteRequest(*table, directory=directory, shared=list(shared)))

    def claim(write: str, location: str) -> list[bool]:
        return list(metastore_client.renew_write(RenewWriteRequest(write, [location])).granted)

    metastore_client.add_partition(partition(*written, ["1"]))
    other = begin(metastore_client, written)
    write = begun(f"{root}/_versions", f"{root}/ds=1")
    assert write.granted is True
    assert claim(write.queryId, f"{root}/_versions/{write.queryId}") == [True]
    assert claim(other, f"{root}/_versions/{write.queryId}") == [False]
    assert begun(None, f"{root}/ds=1").granted is None  # as of a server that knows no directories
    assert begun(f"{root}/ds=1").granted is False
    before = scanned(metastore_client, written)
    for wrong in (("file:/elsewhere",), ("relative",), (f"{root}/_versions", "file:/elsewhere")):
        with pytest.raises(MetaException):
            begun(*wrong)
    assert scanned(metastore_client, written) == before, "a rejected write is not registered"


def test_one_place_has_several_names(metastore_client: Any, written: Name, root: str) -> None:
    publish(metastore_client, written, "q", day(root, "1"))
    one, other = begin(metastore_client, written), begin(metastore_client, written)
    host = root.replace("file:", "file://localhost")

    def claim(write: str, *places: str) -> list[bool]:
        return list(metastore_client.renew_write(RenewWriteRequest(write, list(places))).granted)

    assert claim(one, f"{host}/ds=1", f"{host}/ds=2") == [False, True]
    assert claim(other, f"{root}/ds=2/") == [False]


def test_retired_locations_are_not_granted(metastore_client: Any, written: Name, root: str) -> None:
    publish(metastore_client, written, begin(metastore_client, written), day(root, "1"))
    write = begin(metastore_client, written)
    elsewhere = day(root, "1", PublishMode.OVERWRITE, location=f"{root}/_versions/{write}/ds=1")
    result = publish(metastore_client, written, write, elsewhere, retired=[f"{root}/old"])
    assert result.replaced == [f"{root}/ds=1", f"{root}/old"]
    asked = RenewWriteRequest(begin(metastore_client, written), [f"{root}/{text}" for text in ("ds=1", "old/x", "new")])
    assert metastore_client.renew_write(asked).granted == [False, False, True]


@pytest.mark.parametrize("is_partitioned", [True, False])
def test_an_overwrite_is_not_undone_by_a_client_that_read_before_it(
    metastore_client: Any, metastore_server: Server, root: str, is_partitioned: bool
) -> None:
    """Hive's clients send the whole table or partition, also to change a property."""
    client, other = metastore_client, f"{root}/other"
    name = new_table(client, [("ds", "string")] if is_partitioned else [], sd=descriptor(root))
    values = ["1"] if is_partitioned else []
    if is_partitioned:
        client.add_partition(partition(*name, values))

    def read() -> Any:
        return client.get_partition(*name, values) if is_partitioned else client.get_table(*name)

    def alter(struct: Any, statement: str = "", **parameters: str) -> None:
        struct.parameters |= parameters
        kind = "partition" if is_partitioned else "table"
        context = EnvironmentContext({"alterTableOpType": statement} if statement else {})
        getattr(client, f"alter_{kind}_with_environment_context")(*name, struct, context)

    before, write = read(), begin(client, name)
    location = f"{root}/_versions/{write}"
    publish(client, name, write, PublishPartition(values, PublishMode.OVERWRITE, location, []))
    with pytest.raises((MetaException, InvalidOperationException), match="read it again and repeat the change"):
        alter(before, colour="red")
    assert (read().sd.location, read().parameters.get("colour")) == (location, None)
    alter(read(), colour="red")
    assert (read().sd.location, read().parameters["colour"]) == (location, "red")
    back = read()
    for statement, colour in (("", "red"), ("ALTERLOCATION", "blue")):  # Spark changes nothing else; Hive names it
        back.sd.location = before.sd.location
        alter(back, statement, colour=colour)
        assert read().sd.location == before.sd.location
        back.sd.location = location
        alter(back)
    chosen = read()
    chosen.sd.location = other
    alter(chosen)
    assert read().sd.location == other
    # Later it is a client's choice: Trino and Flink write a partition at its default location.
    change(metastore_server.database_url, f"UPDATE file_operations SET decided_at = '2000-01-01' WHERE root = '{root}'")
    alter(before)
    assert read().sd.location == before.sd.location


def test_directories_in_use_by_others_are_not_replaced(metastore_client: Any, written: Name, root: str) -> None:
    for value in ("1", "2"):
        metastore_client.add_partition(partition(*written, [value], sd=descriptor(f"{root}/both")))
    moved = day(root, "1", PublishMode.OVERWRITE, location=f"{root}/_versions/q/ds=1")
    assert publish(metastore_client, written, "q", moved).replaced == []
    moved = day(root, "2", PublishMode.OVERWRITE, location=f"{root}/_versions/q/ds=2")
    assert publish(metastore_client, written, "q", moved).replaced == [f"{root}/both"]


def test_two_writes_do_not_rename_one_directory(metastore_client: Any, written: Name, root: str) -> None:
    one, other = begin(metastore_client, written), begin(metastore_client, written)
    away = Rename(f"{root}/ds=1", f"{root}/_versions/{one}/old")
    for _ in range(2):
        metastore_client.renew_write(RenewWriteRequest(one, renames=[away]))
    with pytest.raises(MetaException, match=f"Write {one} renames .*/ds=1; try again"):
        metastore_client.renew_write(RenewWriteRequest(other, renames=[Rename(f"{root}/ds=1/", f"{root}/{other}")]))
    metastore_client.end_write(one)
    metastore_client.renew_write(RenewWriteRequest(other, renames=[Rename(f"{root}/ds=1", f"{root}/{other}")]))
    with pytest.raises(MetaException, match="so that the rename can be undone"):
        metastore_client.renew_write(RenewWriteRequest(other, renames=[Rename(f"{root}/a", f"{root}/{other}0")]))


def test_rubbish_is_rejected(metastore_client: Any, written: Name) -> None:
    write = begin(metastore_client, written)
    for lease in (0, -1, 2**31 - 1):
        with pytest.raises(MetaException, match="leaseMillis"):
            begin(metastore_client, written, lease)
    for name in (("nope", "nope"), (None, None)):
        with pytest.raises((NoSuchObjectException, MetaException)):
            begin(metastore_client, name)  # type: ignore[arg-type]
    for unknown in ("", "x" * 10_000, "a" * 16 + "-1", f"{write}0"):
        with pytest.raises(NoSuchObjectException):
            metastore_client.end_write(unknown)
    for request in (RenewWriteRequest(), RenewWriteRequest(write, renames=[Rename()])):
        with pytest.raises(MetaException):
            metastore_client.renew_write(request)
    with pytest.raises((NoSuchObjectException, MetaException)):
        metastore_client.renew_write(RenewWriteRequest(write + "\0"))
    assert scanned(metastore_client, written).openWrites == [1]


def test_many_locations_in_one_call(metastore_client: Any, written: Name, root: str) -> None:
    one, other = begin(metastore_client, written), begin(metastore_client, written)
    many = [f"{root}/ds={number}" for number in range(5_000)]
    assert metastore_client.renew_write(RenewWriteRequest(one, many[1:])).granted == [True] * 4_999
    granted = metastore_client.renew_write(RenewWriteRequest(other, many)).granted
    assert granted == [True] + [False] * 4_999


def test_a_number_that_is_seen_has_all_smaller_ones_before_it(
    metastore_client: Any, metastore_server: Server, written: Name, root: str
) -> None:
    """Writers publish partitions named by their numbers. Each plan of a reader is consistent."""
    begin(metastore_client, written)
    start, done = threading.Barrier(5), threading.Event()
    broken: list[str] = []

    def write() -> None:
        with connected(metastore_server) as client:
            start.wait()
            for _ in range(15):
                query_id = begin(client, written)
                publish(client, written, query_id, day(root, str(number(query_id))))

    def read() -> None:
        with connected(metastore_server) as client:
            start.wait()
            while not done.is_set():
                plan = scanned(client, written)
                published = {int(scan_partition.values[0]) for scan_partition in plan.partitions}
                visible = set(range(1, plan.highestWrite + 1)) - set(plan.openWrites)
                if published != visible:
                    broken.append(f"{sorted(published)} instead of {sorted(visible)}")

    writers = [threading.Thread(target=write) for _ in range(4)]
    reader = threading.Thread(target=read)
    for writer in (*writers, reader):
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()
    assert broken == []
    assert scanned(metastore_client, written).highestWrite == 61
