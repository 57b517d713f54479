"""Cleaning over the wire: replaced data, files of dead writers, unregistered files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server
from tests.wire.builders import descriptor, new_table, partition
from tests.wire.writing import (
    Name,
    begin,
    clean,
    day,
    everything_below,
    files_below,
    let_die,
    local,
    publish,
    renew,
    scanned,
    told,
    write_file,
)
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, MetaException, NoSuchObjectException
from thrift_idl.gen.metastore.ttypes import CleanRequest, PublishMode, PublishPartition, Rename

OVERWRITE = PublishMode.OVERWRITE


@pytest.fixture
def root(tmp_path: Path) -> str:
    return f"file:{tmp_path}/t"


@pytest.fixture
def written(metastore_client: Any, root: str) -> Name:
    """A table by day, with one day in its own directory."""
    name = new_table(metastore_client, [("ds", "string")], sd=descriptor(root))
    metastore_client.add_partition(partition(*name, ["1"]))
    write_file(f"{root}/ds=1/part-0", "old")
    return name


def overwrite(client: Any, name: Name, root: str, value: str = "1") -> str:
    """Overwrites a day in a new directory. Returns the directory."""
    write = begin(client, name)
    path = f"{root}/_versions/{write}/ds={value}"
    write_file(f"{path}/part-0_{write}")
    publish(client, name, write, day(root, value, OVERWRITE, location=path))
    return path


def test_replaced_files_are_removed_after_the_grace_time(metastore_client: Any, written: Name, root: str) -> None:
    first = overwrite(metastore_client, written, root)
    second = overwrite(metastore_client, written, root)
    early = clean(metastore_client, written, graceMillis=None)
    assert (early.locations, early.waiting) == ([], 2)
    before = everything_below(root)
    dry = clean(metastore_client, written, dryRun=True)
    assert everything_below(root) == before
    done = clean(metastore_client, written)
    assert done.locations == dry.locations
    assert (dry.waiting, done.waiting) == (0, 0)
    assert told(done, root) == [(first.removeprefix(f"{root}/"), "replaced", 1), ("ds=1", "replaced", 1)]
    assert [location.bytes for location in done.locations] == [1, 3]
    assert files_below(root) == {str(path.relative_to(local(root))) for path in local(second).iterdir()}
    assert clean(metastore_client, written).locations == []


def test_directories_referred_to_again_stay(metastore_client: Any, written: Name, root: str) -> None:
    overwrite(metastore_client, written, root)
    metastore_client.add_partition(partition(*written, ["2"], sd=descriptor(f"{root}/ds=1")))
    for dry_run in (True, False):
        assert clean(metastore_client, written, dryRun=dry_run).locations == []
    assert "ds=1/part-0" in files_below(root)
    metastore_client.drop_partition(*written, ["2"], False)
    assert clean(metastore_client, written).locations == []  # the server no longer removes it


def test_files_of_others_in_it_stay(metastore_client: Any, written: Name, root: str) -> None:
    metastore_client.add_partition(partition(*written, ["2"], sd=descriptor(f"{root}/ds=1/inside")))
    write_file(f"{root}/ds=1/inside/part-0")
    write_file(f"{root}/ds=1/unknown/part-0")
    overwrite(metastore_client, written, root)
    assert told(clean(metastore_client, written), root) == [("ds=1", "replaced", 1)]
    assert {"ds=1/inside/part-0", "ds=1/unknown/part-0"} < files_below(root)
    assert "ds=1/part-0" not in files_below(root)


def test_an_unpartitioned_table_leaves_its_first_directory(metastore_client: Any, root: str) -> None:
    name = new_table(metastore_client, sd=descriptor(root))
    for file in ("part-0", "HIVE_UNION_SUBDIR_1/part-0", "_other/part-0", ".hidden"):
        write_file(f"{root}/{file}")
    write = begin(metastore_client, name)
    write_file(f"{root}/_versions/{write}/part-0")
    location = PublishPartition([], OVERWRITE, f"{root}/_versions/{write}", [])
    assert publish(metastore_client, name, write, location).replaced == [root]
    dry = clean(metastore_client, name, dryRun=True)
    assert told(dry, root) == [("", "replaced", 2)]
    assert clean(metastore_client, name).locations == dry.locations
    assert files_below(root) == {"_other/part-0", ".hidden", f"_versions/{write}/part-0"}


def test_outside_the_table_only_files_of_its_writes_are_removed(
    metastore_client: Any, written: Name, root: str, tmp_path: Path
) -> None:
    far = f"file:{tmp_path}/far"
    metastore_client.add_partition(partition(*written, ["2"], sd=descriptor(far)))
    write = begin(metastore_client, written)
    for file in (f"part-0_{write}", "theirs", f"sub/part-1_{write}"):
        write_file(f"{far}/{file}")
    publish(metastore_client, written, write, day(root, "2", PublishMode.APPEND, location=far))
    overwrite(metastore_client, written, root, "2")
    (cleaned,) = clean(metastore_client, written).locations
    assert (cleaned.location, cleaned.files) == (far, 2)
    assert "1 files remain that name no write of the table" in cleaned.error
    assert files_below(far) == {"theirs"}
    assert clean(metastore_client, written).locations == []


def left_by_a_writer(client: Any, name: Name, root: str) -> str:
    """A write with files in many locations, among files of others."""
    write = begin(client, name)
    assert renew(client, write, f"{root}/ds=2/h=1", shared=[f"{root}/ds=1"]) == [True]
    for location in (f"_staging/{write}/a/", f"_versions/{write}/ds=3/", "ds=2/h=1/", "ds=1/", "ds=1/k=1/"):
        write_file(f"{root}/{location}part-0_{write}-0", "four")
    write_file(f"{root}/ds=1/part-1_{write}0")
    return write


def test_files_of_a_dead_writer_are_removed(
    metastore_client: Any, metastore_server: Server, written: Name, root: str
) -> None:
    write = left_by_a_writer(metastore_client, written, root)
    alive = begin(metastore_client, written)
    write_file(f"{root}/_staging/{alive}/part-0")
    assert clean(metastore_client, written).locations == []
    let_die(metastore_server.database_url, write)
    dry = clean(metastore_client, written, dryRun=True)
    assert scanned(metastore_client, written).openWrites == [1, 2]
    renew(metastore_client, write)  # it is not too late
    let_die(metastore_server.database_url, write)
    done = clean(metastore_client, written)
    assert told(done, root) == [
        (f"_staging/{write}", "dead writer", 1),
        (f"_versions/{write}", "dead writer", 1),
        ("ds=1", "dead writer", 2),
        ("ds=2/h=1", "dead writer", 1),
    ]
    assert done.locations == dry.locations
    assert {location.queryId for location in done.locations} == {write}
    assert files_below(root) == {"ds=1/part-0", f"ds=1/part-1_{write}0", f"_staging/{alive}/part-0"}
    assert not local(f"{root}/ds=2").exists()
    assert scanned(metastore_client, written).openWrites == [2]
    with pytest.raises(NoSuchObjectException, match="its lease expired"):
        renew(metastore_client, write)
    with pytest.raises(NoSuchObjectException, match="its lease expired"):
        publish(metastore_client, written, write, day(root, "2"))


def test_a_slow_writer_stays_hidden_for_the_grace_time(
    metastore_client: Any, metastore_server: Server, written: Name, root: str
) -> None:
    write = left_by_a_writer(metastore_client, written, root)
    let_die(metastore_server.database_url, write)
    cleaned = clean(metastore_client, written, graceMillis=None)
    assert (len(cleaned.locations), cleaned.waiting) == (4, 1)
    with pytest.raises(NoSuchObjectException):
        publish(metastore_client, written, write, day(root, "2"))
    assert renew(metastore_client, begin(metastore_client, written), f"{root}/ds=2/h=1") == [True]
    write_file(f"{root}/ds=1/late_{write}")  # the write lives, and its client knows nothing
    assert scanned(metastore_client, written).openWrites == [1, 2]
    assert clean(metastore_client, written, graceMillis=None).locations == []
    assert told(clean(metastore_client, written), root) == [("ds=1", "dead writer", 1)]
    assert scanned(metastore_client, written).openWrites == [2]


def renamed_in_place(client: Any, name: Name, root: str) -> str:
    """Runs the Doris sequence up to the moment before publication."""
    write = begin(client, name)
    away = Rename(f"{root}/ds=1", f"{root}/_versions/{write}/replaced/ds=1")
    brought = Rename(f"{root}/_staging/{write}/ds=1", f"{root}/ds=1")
    write_file(f"{brought.source}/part-0_{write}")
    renew(client, write, renames=[away, brought])
    for rename in (away, brought):
        local(rename.target).parent.mkdir(parents=True, exist_ok=True)
        local(rename.source).rename(local(rename.target))
    return write


def test_renames_of_a_dead_writer_are_undone(
    metastore_client: Any, metastore_server: Server, written: Name, root: str
) -> None:
    write = renamed_in_place(metastore_client, written, root)
    let_die(metastore_server.database_url, write)
    dry = clean(metastore_client, written, dryRun=True)
    done = clean(metastore_client, written)
    assert done.locations == dry.locations
    assert told(done, root) == [
        ("ds=1", "moved back: its writer died", 0),
        (f"_staging/{write}", "dead writer", 0),
        (f"_versions/{write}", "dead writer", 0),
        ("ds=1", "dead writer", 1),
    ]
    assert files_below(root) == {"ds=1/part-0"}
    assert local(f"{root}/ds=1/part-0").read_text() == "old"
    assert scanned(metastore_client, written).openWrites == []


def test_single_files_are_renamed_and_put_back(metastore_client: Any, metastore_server: Server, root: str) -> None:
    name = new_table(metastore_client, sd=descriptor(root))
    for published in (False, True):
        write = begin(metastore_client, name)
        write_file(f"{root}/part-0", "old")
        away = Rename(f"{root}/part-0", f"{root}/_temp_{write}/part-0")
        brought = Rename(f"{root}/_versions/{write}/part-0_{write}", f"{root}/part-0_{write}")
        write_file(brought.source)
        renew(metastore_client, write, renames=[away, brought])
        for rename in (away, brought):
            local(rename.target).parent.mkdir(parents=True, exist_ok=True)
            local(rename.source).rename(local(rename.target))
        if published:
            location = PublishPartition([], OVERWRITE, root, [])
            publish(metastore_client, name, write, location, retired=[away.target])
            expected, kept = [(f"_temp_{write}/part-0", "replaced", 1)], f"part-0_{write}"
        else:
            let_die(metastore_server.database_url, write)
            kept = "part-0"
            expected = [(kept, "moved back: its writer died", 0), (f"_versions/{write}", "dead writer", 0)]
            expected.append(("", "dead writer", 1))
        dry = clean(metastore_client, name, dryRun=True)
        assert told(dry, root) == expected
        assert clean(metastore_client, name).locations == dry.locations
        assert files_below(root) == {kept}
        assert not local(f"{root}/_temp_{write}").exists()


@pytest.mark.parametrize("steps", [0, 1])
def test_renames_that_were_only_announced(
    metastore_client: Any, metastore_server: Server, written: Name, root: str, steps: int
) -> None:
    write = begin(metastore_client, written)
    away = Rename(f"{root}/ds=1", f"{root}/_versions/{write}/replaced/ds=1")
    brought = Rename(f"{root}/_staging/{write}/ds=1", f"{root}/ds=1")
    write_file(f"{brought.source}/part-0_{write}")
    renew(metastore_client, write, renames=[away, brought])
    if steps:
        local(away.target).parent.mkdir(parents=True)
        local(away.source).rename(local(away.target))
    let_die(metastore_server.database_url, write)
    clean(metastore_client, written)
    assert files_below(root) == {"ds=1/part-0"}


def test_new_files_are_not_overwritten(
    metastore_client: Any, metastore_server: Server, written: Name, root: str
) -> None:
    write = renamed_in_place(metastore_client, written, root)
    write_file(f"{root}/ds=1/theirs")
    let_die(metastore_server.database_url, write)
    for _ in range(2):
        (failed,) = clean(metastore_client, written).locations
        assert "exists again: remove one of them" in failed.error
        assert scanned(metastore_client, written).openWrites == [1]
    kept = f"_versions/{write}/replaced/ds=1/part-0"
    assert {kept, "ds=1/theirs"} <= files_below(root)
    local(f"{root}/ds=1/theirs").unlink()
    clean(metastore_client, written)
    assert files_below(root) == {"ds=1/part-0"}


def test_files_published_by_an_in_place_write_stay(metastore_client: Any, written: Name, root: str) -> None:
    write = renamed_in_place(metastore_client, written, root)
    replaced = f"{root}/_versions/{write}/replaced/ds=1"
    publish(metastore_client, written, write, day(root, "1", OVERWRITE), retired=[replaced])
    assert told(clean(metastore_client, written), root) == [(f"_versions/{write}/replaced/ds=1", "replaced", 1)]
    assert everything_below(root) == {"_staging", f"_staging/{write}", "_versions", "ds=1", f"ds=1/part-0_{write}"}


def test_errors_are_reported_and_retried(
    metastore_client: Any, metastore_server: Server, written: Name, root: str
) -> None:
    gone = "gs://missing/t"
    publish(metastore_client, written, "q", day(root, "7", location=f"{gone}/ds=7"))
    publish(metastore_client, written, "q", retired=[f"{gone}/ds=7/old"])
    overwrite(metastore_client, written, root)
    for _ in range(2):
        failed = [location for location in clean(metastore_client, written).locations if location.error]
        assert [(location.location, location.files) for location in failed] == [(f"{gone}/ds=7/old", 0)]
    assert not local(f"{root}/ds=1").exists()


def test_unregistered_files(metastore_client: Any, metastore_server: Server, written: Name, root: str) -> None:
    old_id, used = "20260131_235959_00007_x7k2p", "20260131_235959_00008_x7k2p"
    alive = begin(metastore_client, written)
    for path in (f"_staging/{old_id}", f"_versions/{old_id}/ds=5", f"_versions/{used}/ds=6", f"_staging/{alive}"):
        write_file(f"{root}/{path}/part-0")
    write_file(f"{root}/_versions/{used}/ds=8/part-0")
    publish(metastore_client, written, used, day(root, "6", location=f"{root}/_versions/{used}/ds=6"))
    before = everything_below(root)
    assert clean(metastore_client, written).locations == []
    assert clean(metastore_client, written, unregistered=True, graceMillis=None).locations == []
    dry = clean(metastore_client, written, unregistered=True, dryRun=True)
    assert everything_below(root) == before
    done = clean(metastore_client, written, unregistered=True)
    assert done.locations == dry.locations
    reason = "registered nowhere"
    assert told(done, root) == [
        (f"_staging/{old_id}", reason, 1),
        (f"_versions/{old_id}", reason, 1),
        (f"_versions/{used}/ds=8", reason, 1),
    ]
    assert files_below(root) == {"ds=1/part-0", f"_versions/{used}/ds=6/part-0", f"_staging/{alive}/part-0"}
    write_file(f"{root}/_staging/{old_id}/part-0")
    os.utime(local(f"{root}/_staging/{old_id}/part-0"), (0, 0))
    aged = clean(metastore_client, written, unregistered=True, graceMillis=None)
    assert told(aged, root) == [(f"_staging/{old_id}", reason, 1)]


def test_a_dropped_tables_writes_end(metastore_client: Any, metastore_server: Server, root: str) -> None:
    name = new_table(metastore_client, [("ds", "string")], sd=descriptor(root))
    write = left_by_a_writer(metastore_client, name, root)
    purge = EnvironmentContext({"ifPurge": "true"})  # otherwise they stay until the retention ends
    metastore_client.drop_table_with_environment_context(*name, False, purge)
    cleaned = metastore_client.clean(CleanRequest(graceMillis=0)).locations
    assert {each.queryId for each in cleaned if each.location.startswith(root)} == {write}
    assert files_below(root) == {f"ds=1/part-1_{write}0"}


def test_a_moved_table_is_cleaned_at_its_new_location(metastore_client: Any, metastore_server: Server) -> None:
    name = new_table(metastore_client, [("ds", "string")])
    old = metastore_client.get_table(*name).sd.location
    metastore_client.add_partition(partition(*name, ["1"]))
    write_file(f"{old}/ds=1/part-0")
    write = left_by_a_writer(metastore_client, name, old)
    overwrite(metastore_client, name, old)
    renamed = metastore_client.get_table(*name)
    renamed.tableName = "moved"
    metastore_client.alter_table(*name, renamed)
    moved = (name[0], "moved")
    new = metastore_client.get_table(*moved).sd.location
    assert new != old
    write_file(f"{old}/_staging/{write}/part-1")  # the writer has not noticed
    let_die(metastore_server.database_url, write)
    places = {path for path, _, _ in told(clean(metastore_client, moved), new)}
    assert {f"_staging/{write}", f"_versions/{write}", "ds=1", "ds=2/h=1"} < places
    assert files_below(old) == set()
    assert [file for file in files_below(new) if not file.startswith("_versions/")] == []


def test_dropping_a_partition_sets_its_replaced_files_aside(metastore_client: Any, written: Name, root: str) -> None:
    """Until their retention ends, the overwrite can be undone."""
    overwrite(metastore_client, written, root)
    metastore_client.drop_partition(*written, ["1"], True)
    (aside,) = files_below(root)
    assert re.fullmatch(r"_versions/dropped_[0-9a-f]{32}/ds=1/part-0", aside)
    metastore_client.add_partition(partition(*written, ["1"]))
    assert clean(metastore_client, written, graceMillis=None).locations == []
    assert [one.location for one in clean(metastore_client, written).locations] == [
        f"{root}/{aside.removesuffix('/part-0')}"
    ]
    assert files_below(root) == set()


def test_a_drop_for_good_removes_replaced_files(metastore_client: Any, written: Name, root: str) -> None:
    overwrite(metastore_client, written, root)
    purged = EnvironmentContext({"ifPurge": "true"})
    metastore_client.drop_partition_with_environment_context(*written, ["1"], True, purged)
    assert files_below(root) == set()
    assert clean(metastore_client, written).locations == []


def test_truncating_leaves_writers_their_files(metastore_client: Any, root: str) -> None:
    name = new_table(metastore_client, sd=descriptor(root))
    write = begin(metastore_client, name)
    for file in ("part-0", "k=1/part-0", f"_versions/{write}/part-0", f"_staging/{write}/part-0", "_SUCCESS"):
        write_file(f"{root}/{file}")
    metastore_client.truncate_table(*name, None)
    assert files_below(root) == {f"_versions/{write}/part-0", f"_staging/{write}/part-0"}


def test_scopes(metastore_client: Any, written: Name, root: str, tmp_path: Path) -> None:
    other_root = f"file:{tmp_path}/other"
    other = new_table(metastore_client, [("ds", "string")], sd=descriptor(other_root))
    for name, location in ((written, root), (other, other_root)):
        overwrite(metastore_client, name, location, "9")
        overwrite(metastore_client, name, location, "9")
    assert len(metastore_client.clean(CleanRequest(written[0], graceMillis=0)).locations) == 1
    assert len(metastore_client.clean(CleanRequest(*other, graceMillis=0)).locations) == 1
    for wrong in (CleanRequest("nope"), CleanRequest(written[0], "nope")):
        with pytest.raises(NoSuchObjectException):
            metastore_client.clean(wrong)
    for wrong in (CleanRequest(None, "t"), CleanRequest(*written, graceMillis=-1)):
        with pytest.raises(MetaException):
            metastore_client.clean(wrong)
    assert clean(metastore_client, written, graceMillis=2**63 - 1).locations == []


def test_precious_directories_stay(metastore_client: Any, metastore_server: Server, written: Name) -> None:
    home = metastore_client.get_database(written[0]).locationUri
    for location in (home, metastore_server.warehouse):
        with pytest.raises(MetaException, match="is not a location of the table"):
            publish(metastore_client, written, "q", retired=[location])
    with pytest.raises(MetaException, match="root"):
        publish(metastore_client, written, "q", retired=["file:/"])
    assert clean(metastore_client, written).locations == []
    assert local(home).exists()
