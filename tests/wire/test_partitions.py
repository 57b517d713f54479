"""Partitions, as clients of every version see them."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_table, partition, skewed
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    AlreadyExistsException,
    DropPartitionsRequest,
    EnvironmentContext,
    GetPartitionsByNamesRequest,
    GetPartitionsPsWithAuthRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    Partition,
    PartitionsRequest,
    RequestPartsSpec,
)

KEYS = [("ds", "string"), ("n", "int")]
MISSING = (MetaException, InvalidObjectException)


@pytest.fixture
def filled(hive_client: Any) -> tuple[str, str]:
    """Two days of three numbers."""
    database, name = new_table(hive_client, KEYS)
    new = [partition(database, name, [day, str(n)]) for day in ("a", "b") for n in (1, 2, 10)]
    assert hive_client.add_partitions(new) == 6
    return database, name


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def test_objects_are_returned_as_they_were_stored(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    sd = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True, cols=columns(("a", "int")))
    sd.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x/a=1"}
    added = hive_client.add_partition(partition(database, name, ["A b/é=%", "7"], sd=sd, parameters={"k": "v"}))
    stored_partition = hive_client.get_partition(database, name, ["A b/é=%", "7"])
    assert stored_partition == added
    table = hive_client.get_table(database, name)
    assert stored_partition.sd.location == f"{table.sd.location}/ds=A b%2Fé%3D%25/n=7"
    assert folder(stored_partition.sd.location).is_dir()
    assert stored_partition.sd.skewedInfo.skewedColValueLocationMaps == {("1",): "file:/x/a=1"}
    assert (stored_partition.dbName, stored_partition.tableName, stored_partition.catName) == (database, name, "hive")
    assert stored_partition.parameters["k"] == "v"
    assert int(stored_partition.parameters["transient_lastDdlTime"]) >= stored_partition.createTime > 0
    assert hive_client.get_partition_names(database, name, -1) == ["ds=A b%2Fé%3D%25/n=7"]
    assert hive_client.get_partition_by_name(database, name, "n=7/ds=A b%2Fé%3D%25/x=1") == stored_partition
    assert hive_client.get_partition_with_auth(database, name, ["A b/é=%", "7"], "u", []) == stored_partition


def test_a_partition_inherits_unset_fields_from_its_table(hive_client: Any) -> None:
    sd = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
    database, name = new_table(hive_client, KEYS, sd=sd)
    actual = hive_client.append_partition(database, name, ["x", "1"])
    assert actual.sd.inputFormat == sd.inputFormat
    assert actual.sd.skewedInfo.skewedColValues == [["1"]]
    assert actual.sd.storedAsSubDirectories
    assert hive_client.append_partition_by_name(database, name, "ds=y/n=1").values == ["y", "1"]
    with pytest.raises(InvalidObjectException, match="incomplete partition name - missing n"):
        hive_client.append_partition_by_name(database, name, "ds=y")


def test_limits(hive_client: Any, filled: tuple[str, str]) -> None:
    """Trap 5."""
    for maximum, count in ((-1, 6), (0, 0), (1, 1), (32767, 6), (-32768, 6)):
        assert len(hive_client.get_partitions(*filled, maximum)) == count
        assert len(hive_client.get_partition_names(*filled, maximum)) == count
        assert len(hive_client.get_partitions_ps(*filled, ["", ""], maximum)) == count
        assert len(hive_client.get_partitions_by_filter(*filled, "", maximum)) == count
    names = hive_client.get_partition_names(*filled, -1)
    assert names == sorted(names)
    assert [each.values for each in hive_client.get_partitions(*filled, 2)] == [["a", "1"], ["a", "10"]]
    assert len(hive_client.get_partitions_req(PartitionsRequest(None, *filled)).partitions) == 6


def test_by_names_and_by_values(hive_client: Any, filled: tuple[str, str]) -> None:
    """Trap 12."""
    assert len(hive_client.get_partitions_by_names(*filled, ["ds=a/n=1", "ds=b/n=10", "nope", "ds=a/n=1"])) == 2
    request = GetPartitionsByNamesRequest(*filled, ["ds=a/n=1"])
    assert [each.values for each in hive_client.get_partitions_by_names_req(request).partitions] == [["a", "1"]]
    assert hive_client.get_partition_names_ps(*filled, ["b"], -1) == ["ds=b/n=1", "ds=b/n=10", "ds=b/n=2"]
    assert hive_client.get_partition_names_ps(*filled, ["", "10"], -1) == ["ds=a/n=10", "ds=b/n=10"]
    assert hive_client.get_partition_names_ps(*filled, ["", "01"], -1) == []
    assert hive_client.get_partition_names_ps(*filled, ["_", ""], -1) == []  # not wildcards of LIKE
    with_auth = GetPartitionsPsWithAuthRequest(None, *filled, ["a", "2"])
    assert [each.values for each in hive_client.get_partitions_ps_with_auth_req(with_auth).partitions] == [["a", "2"]]
    with pytest.raises(MetaException, match="Incorrect number of partition values"):
        hive_client.get_partitions_ps(*filled, ["a", "1", "x"], -1)


def test_unknown_tables(hive_client: Any, filled: tuple[str, str]) -> None:
    """Trap 20."""
    database, _ = filled
    assert hive_client.get_partition_names(database, "nope", -1) == []
    for call in (
        lambda: hive_client.get_partitions(database, "nope", -1),
        lambda: hive_client.get_partition(database, "nope", ["1"]),
        lambda: hive_client.get_partitions_by_names(database, "nope", ["a=1"]),
        lambda: hive_client.get_partitions_by_filter("nowhere", "t", "a=1", -1),
    ):
        with pytest.raises(NoSuchObjectException):
            call()
    with pytest.raises(InvalidObjectException, match="table or database do not exist"):
        hive_client.add_partition(partition(database, "nope", ["1"]))


def test_adding_is_all_or_nothing(hive_client: Any, filled: tuple[str, str]) -> None:
    new = [partition(*filled, [day, "1"]) for day in ("c", "a")]
    with pytest.raises(AlreadyExistsException, match="ds=c/n=1"):
        hive_client.add_partitions(new)
    assert len(hive_client.get_partition_names(*filled, -1)) == 6
    assert not folder(f"{hive_client.get_table(*filled).sd.location}/ds=c").exists()
    result = hive_client.add_partitions_req(AddPartitionsRequest(*filled, new, ifNotExists=True))
    assert [each.values for each in result.partitions] == [["c", "1"]]
    quiet = AddPartitionsRequest(*filled, new, ifNotExists=True, needResult=False)
    assert hive_client.add_partitions_req(quiet).partitions is None


@pytest.mark.parametrize("values", [[], ["a"], ["a", "1", "2"], ["a\0", "1"], ["x" * 10_000, "1"], ["é" * 1_500, "1"]])
def test_bad_values_are_rejected(hive_client: Any, filled: tuple[str, str], values: list[str]) -> None:
    for call in (
        lambda: hive_client.add_partition(partition(*filled, values)),
        lambda: hive_client.append_partition(*filled, values),
        lambda: hive_client.add_partitions([partition(*filled, values)]),
    ):
        with pytest.raises(MISSING):
            call()
    assert len(hive_client.get_partition_names(*filled, -1)) == 6


def test_bad_lists_are_rejected(hive_client: Any, filled: tuple[str, str]) -> None:
    database, _ = filled
    new = partition(*filled, ["z", "1"])
    with pytest.raises(MetaException, match="Duplicate partitions in the list"):
        hive_client.add_partitions_req(AddPartitionsRequest(*filled, [new, new], ifNotExists=True))
    with pytest.raises(MetaException, match="does not belong to target table"):
        hive_client.add_partitions([new, partition(database, "other", ["y", "1"])])
    with pytest.raises(MetaException, match="database and table name must be set"):
        hive_client.add_partitions([new, Partition(values=["y", "1"])])
    with pytest.raises(MetaException, match="root"):
        hive_client.add_partition(partition(*filled, ["z", "1"], sd=descriptor("file:/")))
    assert hive_client.add_partitions([]) == 0
    assert len(hive_client.get_partition_names(*filled, -1)) == 6


def test_empty_and_default_values(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partition(partition(database, name, ["", "1"]))
    hive_client.add_partition(partition(database, name, ["a", "__HIVE_DEFAULT_PARTITION__"]))
    assert hive_client.get_partition_names(database, name, -1) == [
        "ds=__HIVE_DEFAULT_PARTITION__/n=1",
        "ds=a/n=__HIVE_DEFAULT_PARTITION__",
    ]
    assert hive_client.get_partition(database, name, ["", "1"]).values == ["", "1"]
    partitions = hive_client.get_partitions_by_filter(database, name, "n > 0", -1)
    assert [each.values for each in partitions] == [["", "1"]]


def test_drop(hive_client: Any, filled: tuple[str, str]) -> None:
    location = folder(hive_client.get_table(*filled).sd.location)
    assert hive_client.drop_partition(*filled, ["a", "1"], True)
    assert not (location / "ds=a" / "n=1").exists()
    assert (location / "ds=a" / "n=2").exists()
    assert hive_client.drop_partition_by_name(*filled, "n=2/ds=a", False)
    assert (location / "ds=a" / "n=2").exists()
    for call in (
        lambda: hive_client.drop_partition(*filled, ["a", "1"], True),
        lambda: hive_client.drop_partition_by_name(*filled, "ds=a", True),
        lambda: hive_client.drop_partition_with_environment_context(*filled, ["zz", "1"], True, EnvironmentContext()),
    ):
        with pytest.raises(NoSuchObjectException):
            call()
    names = RequestPartsSpec(names=["ds=b/n=1", "ds=b/n=2", "nope"])
    with pytest.raises(NoSuchObjectException, match="Some partitions to drop are missing"):
        hive_client.drop_partitions_req(DropPartitionsRequest(*filled, names, deleteData=True, ifExists=False))
    dropped = hive_client.drop_partitions_req(DropPartitionsRequest(*filled, names, deleteData=True))
    assert [each.values for each in dropped.partitions] == [["b", "1"], ["b", "2"]]
    hive_client.drop_partition(*filled, ["b", "10"], True)
    assert not (location / "ds=b").exists()  # its last partition took it along
    assert hive_client.get_partition_names(*filled, -1) == ["ds=a/n=10"]


def test_alter(hive_client: Any, filled: tuple[str, str], tmp_path: Path) -> None:
    changed = hive_client.get_partition(*filled, ["a", "1"])
    changed.parameters = {"k": "v", "transient_lastDdlTime": "0"}
    changed.sd.location = f"{tmp_path}/new"
    changed.createTime = 1
    hive_client.alter_partition(*filled, changed)
    stored_partition = hive_client.get_partition(*filled, ["a", "1"])
    assert stored_partition.sd.location == f"file:{tmp_path}/new"
    assert stored_partition.createTime == 1  # as Hive
    assert int(stored_partition.parameters["transient_lastDdlTime"]) > 0
    several = hive_client.get_partitions_ps(*filled, ["b"], -1)
    for each in several:
        each.parameters["all"] = "yes"
    hive_client.alter_partitions_with_environment_context(*filled, several, EnvironmentContext())
    assert all("all" in each.parameters for each in hive_client.get_partitions_ps(*filled, ["b"], -1))
    several[0].values = ["nope", "1"]
    several[1].parameters["all"] = "no"
    with pytest.raises(InvalidOperationException, match="ds=nope/n=1"):
        hive_client.alter_partitions(*filled, several)
    assert {each.parameters["all"] for each in hive_client.get_partitions_ps(*filled, ["b"], -1)} == {"yes"}
    without = Partition(values=["b", "1"], sd=None, parameters={})
    with pytest.raises(MetaException, match="without sd"):
        hive_client.alter_partition(*filled, without)
    stored_partition.sd.location = "somewhere"
    hive_client.alter_partition(*filled, stored_partition)
    home = hive_client.get_table(*filled).sd.location
    assert hive_client.get_partition(*filled, ["a", "1"]).sd.location == f"{home}/somewhere"


def test_rename(hive_client: Any, filled: tuple[str, str]) -> None:
    old = hive_client.get_partition(*filled, ["a", "1"])
    (folder(old.sd.location) / "data").write_text("x")
    old.values = ["z", "26"]
    hive_client.rename_partition(*filled, ["a", "1"], old)
    new = hive_client.get_partition(*filled, ["z", "26"])
    assert new.sd.location.endswith("/ds=z/n=26")
    assert (folder(new.sd.location) / "data").exists()
    with pytest.raises(NoSuchObjectException):
        hive_client.get_partition(*filled, ["a", "1"])
    with pytest.raises(InvalidOperationException, match="already exists"):
        hive_client.rename_partition(*filled, ["z", "26"], partition(*filled, ["a", "2"]))
    with pytest.raises(InvalidOperationException, match="doesn't exist"):
        hive_client.rename_partition(*filled, ["q", "1"], partition(*filled, ["q", "2"]))
    for name in ("dbName", "tableName"):
        unnamed = partition(*filled, ["q", "2"])
        setattr(unnamed, name, None)
        with pytest.raises(MetaException, match="must be set"):
            hive_client.rename_partition(*filled, ["z", "26"], unnamed)
    # Without the old values, it is an alter_partition.
    hive_client.rename_partition(*filled, [], partition(*filled, ["z", "26"], parameters={"k": "v"}))
    assert hive_client.get_partition(*filled, ["z", "26"]).parameters["k"] == "v"
    with pytest.raises(InvalidOperationException, match="doesn't exist"):
        hive_client.rename_partition(*filled, [], partition(*filled, ["q", "2"]))
    assert (folder(new.sd.location) / "data").exists()


def test_statistics_of_a_folder_that_was_there(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    directory = folder(hive_client.get_table(database, name).sd.location) / "ds=a" / "n=1"
    directory.mkdir(parents=True)
    (directory / "f").write_text("12345")
    (directory / "_hidden").write_text("1")
    actual = hive_client.add_partition(partition(database, name, ["a", "1"]))
    assert (actual.parameters["numFiles"], actual.parameters["totalSize"]) == ("1", "5")
    assert hive_client.get_partition(database, name, ["a", "1"]) == actual


def test_locations_that_are_longer_than_an_entry_of_an_index(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS, parameters={"EXTERNAL": "TRUE"})
    places = ["s3a://elsewhere/" + "/".join(token_hex(50) for _ in range(38)) + f"/{n}" for n in (1, 2)]
    new = [partition(database, name, ["a", str(n)], sd=descriptor(path)) for n, path in enumerate(places)]
    assert hive_client.add_partitions(new) == 2
    assert [each.sd.location for each in hive_client.get_partitions(database, name, -1)] == places


def test_names_as_functions(hive_client: Any) -> None:
    """Trap 11."""
    assert hive_client.partition_name_to_vals("a=1%2F2/b=x") == ["1/2", "x"]
    assert hive_client.partition_name_to_spec("a=1%2F2/B=x") == {"a": "1/2", "B": "x"}
    assert hive_client.partition_name_to_vals("") == []
    assert hive_client.partition_name_has_valid_characters(["a", "é b"], True)
    assert not hive_client.partition_name_has_valid_characters(["a\0"], False)
    with pytest.raises(MetaException):
        hive_client.partition_name_has_valid_characters(["a\0"], True)


def test_changes_of_one_process_are_immediately_visible_to_another(database_url: str, start_metastore: Any) -> None:
    first, second = start_metastore(database_url), start_metastore(database_url)
    with connected(first) as one, connected(second) as two:
        database, name = new_table(one, [("n", "int")])
        for n in range(30):
            writer, reader = (one, two) if n % 2 else (two, one)
            writer.add_partition(partition(database, name, [str(n)]))
            assert len(reader.get_partitions(database, name, -1)) == n + 1
            table = writer.get_table(database, name)
            table.parameters["n"] = str(n)
            writer.alter_table(database, name, table)
            assert reader.get_table(database, name).parameters["n"] == str(n)


def test_a_killed_worker_loses_nothing_that_was_acknowledged(fresh_metastore_server: Server) -> None:
    import subprocess

    import psutil

    with connected(fresh_metastore_server) as client:
        database, name = new_table(client, [("n", "int")])
        acknowledged = [client.add_partition(partition(database, name, [str(n)])).values for n in range(20)]
    children = subprocess.run(
        ["pgrep", "-P", str(fresh_metastore_server.process.pid)], capture_output=True, text=True, check=True
    )
    workers = [psutil.Process(int(child)) for child in children.stdout.split()]
    for worker in workers:
        worker.kill()
    psutil.wait_procs(workers, timeout=30)  # until then one of them might take the next connection with it
    with connected(fresh_metastore_server) as client:
        partitions = client.get_partitions(database, name, -1)
    assert sorted(each.values for each in partitions) == sorted(acknowledged)


def skewed_partition(client: Any) -> tuple[str, str]:
    """Returns a list-bucketed partition with a directory for one value."""
    sd = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
    database, name = new_table(client, [("ds", "string")], sd=sd)
    path = f"{client.get_table(database, name).sd.location}/ds=a"
    with_place = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
    with_place.skewedInfo.skewedColValueLocationMaps = {("1",): f"{path}/a=1"}
    client.add_partition(partition(database, name, ["a"], sd=with_place))
    return database, name


def test_clients_without_skew_support_do_not_lose_it(hive_client: Any, tmp_path: Path) -> None:
    database, name = skewed_partition(hive_client)
    old = hive_client.get_partition(database, name, ["a"])
    said = descriptor(old.sd.location, skewedInfo=None)  # as Spark sends it
    hive_client.alter_partition(database, name, partition(database, name, ["a"], sd=said, parameters={"k": "v"}))
    assert hive_client.get_partition(database, name, ["a"]).sd.skewedInfo == old.sd.skewedInfo
    hive_client.rename_partition(database, name, ["a"], partition(database, name, ["b"], sd=said))
    renamed = hive_client.get_partition(database, name, ["b"])
    assert renamed.sd.storedAsSubDirectories
    assert renamed.sd.skewedInfo.skewedColValueLocationMaps == {("1",): f"{renamed.sd.location}/a=1"}
    elsewhere = descriptor(f"{tmp_path}/elsewhere", skewedInfo=None)
    hive_client.alter_partition(database, name, partition(database, name, ["b"], sd=elsewhere))
    moved = hive_client.get_partition(database, name, ["b"])
    assert moved.sd.storedAsSubDirectories
    assert moved.sd.skewedInfo.skewedColNames == ["a"]
    assert moved.sd.skewedInfo.skewedColValueLocationMaps == {("1",): f"{moved.sd.location}/a=1"}


def test_the_skew_of_a_table_is_removed_only_by_a_statement(hive_client: Any) -> None:
    database, name = skewed_partition(hive_client)
    said = hive_client.get_table(database, name)
    said.parameters["k"] = "v"
    said.sd.skewedInfo, said.sd.storedAsSubDirectories = skewed([], []), False  # as Spark sends it
    hive_client.alter_table(database, name, said)
    kept = hive_client.get_table(database, name)
    assert kept.parameters["k"] == "v"
    assert kept.sd.storedAsSubDirectories
    assert kept.sd.skewedInfo.skewedColNames == ["a"]
    context = EnvironmentContext({"alterTableOpType": "NOT_SKEWED"})
    hive_client.alter_table_with_environment_context(database, name, said, context)
    assert hive_client.get_table(database, name).sd.skewedInfo.skewedColNames == []


def test_changing_partitions_counts_files_if_counts_are_missing(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string")])
    same = hive_client.add_partition(partition(database, name, ["a"]))
    (folder(same.sd.location) / "file").write_text("12345")
    context = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
    hive_client.alter_partition_with_environment_context(database, name, same, context)
    assert "numFiles" not in hive_client.get_partition(database, name, ["a"]).parameters
    hive_client.alter_partition(database, name, same)
    counted = hive_client.get_partition(database, name, ["a"])
    assert (counted.parameters["numFiles"], counted.parameters["totalSize"]) == ("1", "5")
    (folder(same.sd.location) / "another").write_text("1")
    hive_client.alter_partition(database, name, counted)  # it repeats the old statistics: accepted as true
    assert hive_client.get_partition(database, name, ["a"]).parameters["numFiles"] == "1"
    counted.parameters["numFiles"] = "7"
    hive_client.alter_partition(database, name, counted)
    counted = hive_client.get_partition(database, name, ["a"])
    assert (counted.parameters["numFiles"], counted.parameters["totalSize"]) == ("2", "6")


@pytest.mark.parametrize("names", [(None, "t"), ("@hive#", "t"), ("db", None)])
def test_partitions_of_no_name_are_rejected(hive_client: Any, names: tuple[str | None, str | None]) -> None:
    for call in (
        lambda: hive_client.get_partitions(*names, -1),
        lambda: hive_client.get_partition(*names, ["1"]),
        lambda: hive_client.get_partitions_by_filter(*names, "", -1),
        lambda: hive_client.get_num_partitions_by_filter(*names, ""),
        lambda: hive_client.get_partition_names(*names, -1),
    ):
        with pytest.raises(MetaException, match="name cannot be null"):
            call()
    # Without a table, Hive throws an undeclared exception.
    with pytest.raises(TApplicationException if names[1] is None else MetaException, match="name cannot be null"):
        hive_client.get_partitions_pspec(*names, -1)


def test_no_list_of_names_is_not_an_empty_one(hive_client: Any, filled: tuple[str, str]) -> None:
    assert hive_client.get_partitions_by_names(*filled, []) == []
    with pytest.raises(MetaException, match="without names"):
        hive_client.get_partitions_by_names(*filled, None)
