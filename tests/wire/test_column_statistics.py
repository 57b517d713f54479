"""Column statistics: stored, merged, aggregated, and deleted with their table or partition."""

from __future__ import annotations

import copy
import json
import threading
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, table
from tests.wire.statistics import (
    ACCURATE,
    BITS,
    KEYS,
    longs,
    of_partition,
    of_table,
    partitioned,
    read,
    read_partitions,
    strings,
)
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsObj,
    CompactionInfoStruct,
    CompactionType,
    EnvironmentContext,
    InvalidObjectException,
    LongColumnStatsData,
    MetaException,
    NoSuchObjectException,
    PartitionsStatsRequest,
    SetPartitionsStatsRequest,
    StringColumnStatsData,
    UpdateTransactionalStatsRequest,
)
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition, PublishRequest


def test_table_statistics_are_returned_as_they_were_stored(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    sent = [longs("A", -5, 9, 1, 4), strings("x", 7)]
    assert hive_client.update_table_column_statistics(of_table(f"@hive#{database.upper()}", "T", *sent)) is True
    actual = read(hive_client, database, name, ["X", "A", "nope"])
    assert actual["a"].longStats == LongColumnStatsData(-5, 9, 1, 4, BITS)
    assert actual["x"].stringStats == StringColumnStatsData(7, 3.5, 0, 1)
    one = hive_client.get_table_column_statistics(f"@hive#{database}", "T", "A")
    described = one.statsDesc
    assert (described.isTblLevel, described.dbName, described.tableName) == (True, database, name)
    assert (described.catName, described.partName, one.engine) == ("hive", None, "hive")
    assert described.lastAnalyzed > 1_000_000
    assert [each.colName for each in one.statsObj] == ["a"]
    with pytest.raises(NoSuchObjectException, match="columnName=ds not available"):
        hive_client.get_table_column_statistics(database, name, "ds")


def test_partition_statistics_are_returned_as_they_were_stored(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    for part in ("DS=1", "ds=2"):
        hive_client.update_partition_column_statistics(of_partition(database, name, part, longs("a", 0, 9)))
    partitions = read_partitions(hive_client, f"@hive#{database}", "T", ["ds=1", "DS=2", "ds=3", "ds=9", "rubbish", ""])
    assert sorted(partitions) == ["ds=1", "ds=2"]
    assert partitions["ds=1"]["a"].longStats == LongColumnStatsData(0, 9, 0, 1, BITS)
    one = hive_client.get_partition_column_statistics(database, name, "ds=2", "a")
    assert (one.statsDesc.isTblLevel, one.statsDesc.partName) == (False, "ds=2")
    with pytest.raises(NoSuchObjectException):
        hive_client.get_partition_column_statistics(database, name, "ds=3", "a")


def test_stored_twice_the_later_stays(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1), strings("x", 1)))
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 5, 6)))
    actual = read(hive_client, database, name)
    assert (actual["a"].longStats.lowValue, actual["x"].stringStats.maxColLen) == (5, 1)


def test_each_engine_has_its_own(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 7), engine="impala"))
    assert read(hive_client, database, name)["a"].longStats.highValue == 1
    assert read(hive_client, database, name, engine="impala")["a"].longStats.highValue == 7
    hive_client.delete_table_column_statistics(database, name, "a", "impala")
    assert read(hive_client, database, name, engine="impala") == {}
    assert sorted(read(hive_client, database, name)) == ["a"]


def test_bit_vectors_that_are_no_utf8_survive(hive_client: Any) -> None:
    """Trap 2."""
    database, name = new_table(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    assert read(hive_client, database, name)["a"].longStats.bitVectors == BITS


def test_requests_store_too(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    request = SetPartitionsStatsRequest([of_table(database, name, longs("a", 0, 1))])
    assert hive_client.update_table_column_statistics_req(request).result is True
    request = SetPartitionsStatsRequest([of_partition(database, name, "ds=1", longs("a", 0, 1))])
    assert hive_client.update_partition_column_statistics_req(request).result is True
    assert sorted(read(hive_client, database, name)) == ["a"]
    assert sorted(read_partitions(hive_client, database, name, ["ds=1"])) == ["ds=1"]


def test_columns_are_marked_as_accurate(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    changed = hive_client.get_table(database, name)
    changed.parameters = {ACCURATE: '{"BASIC_STATS":"true"}'}
    context = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
    hive_client.alter_table_with_environment_context(database, name, changed, context)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    marked = hive_client.get_table(database, name).parameters[ACCURATE]
    assert marked == '{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}'
    hive_client.delete_table_column_statistics(database, name, None, None)
    assert hive_client.get_table(database, name).parameters[ACCURATE] == '{"BASIC_STATS":"true"}'


def test_a_merge_adds_to_accurate_statistics(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 5, 1, 4)))
    added = of_table(database, name, longs("a", -3, 2, 10, 2), strings("x", 3))
    assert hive_client.set_aggr_stats_for(SetPartitionsStatsRequest([added], needMerge=True)) is True
    actual = read(hive_client, database, name)
    assert actual["a"].longStats == LongColumnStatsData(-3, 5, 11, 4)
    assert "x" not in actual, "nobody knows the strings that were there before"


def test_a_merge_of_partitions(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    some = [of_partition(database, name, f"ds={n}", longs("a", n, n, n, n)) for n in (1, 2)]
    twice = of_partition(database, name, "ds=1", longs("a", 7, 7, 1, 1))
    hive_client.set_aggr_stats_for(SetPartitionsStatsRequest([*some, twice]))
    assert read_partitions(hive_client, database, name, ["ds=1"])["ds=1"]["a"].longStats == LongColumnStatsData(
        1, 7, 2, 1
    )
    more = [of_partition(database, name, f"ds={n}", longs("a", 0, 0, 5, 9)) for n in (1, 2, 3)]
    hive_client.set_aggr_stats_for(SetPartitionsStatsRequest(more, needMerge=True))
    partitions = read_partitions(hive_client, database, name, ["ds=1", "ds=2", "ds=3"])
    assert {part: each["a"].longStats for part, each in partitions.items()} == {
        "ds=1": LongColumnStatsData(0, 7, 7, 9),
        "ds=2": LongColumnStatsData(0, 2, 7, 9),
    }


def test_aggregated(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    some = [of_partition(database, name, f"ds={n}", longs("a", n, 10 * n, n, n)) for n in (1, 2, 3)]
    hive_client.set_aggr_stats_for(SetPartitionsStatsRequest(some))
    request = PartitionsStatsRequest(database, name, ["A"], ["ds=1", "ds=2", "ds=3"])
    whole = hive_client.get_aggr_stats_for(request)
    assert whole.partsFound == 3
    assert [(col_stat.colName, col_stat.statsData.longStats) for col_stat in whole.colStats] == [
        ("a", LongColumnStatsData(1, 30, 6, 3))
    ]
    request.partNames = ["ds=1", "ds=3"]
    assert hive_client.get_aggr_stats_for(request).colStats[0].statsData.longStats == LongColumnStatsData(1, 30, 4, 3)
    request.colNames = ["a", "x"]
    assert hive_client.get_aggr_stats_for(request).partsFound == 0
    for request in (PartitionsStatsRequest(database, name, [], ["ds=1"]), PartitionsStatsRequest(database, name)):
        nothing = hive_client.get_aggr_stats_for(request)
        assert (nothing.colStats, nothing.partsFound) == ([], 0)


def test_renamed_things_keep_theirs(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    hive_client.update_partition_column_statistics(of_partition(database, name, "ds=1", longs("a", 0, 1)))
    hive_client.rename_partition(database, name, ["1"], partition(database, name, ["9"]))
    other = new_database(hive_client)
    hive_client.alter_table(database, name, table(other, "u", KEYS))
    assert sorted(read(hive_client, other, "u")) == ["a"]
    assert sorted(read_partitions(hive_client, other, "u", ["ds=1", "ds=9"])) == ["ds=9"]


def test_dropped_things_take_theirs_along(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    hive_client.update_partition_column_statistics(of_partition(database, name, "ds=1", longs("a", 0, 1)))
    hive_client.drop_partition(database, name, ["1"], True)
    hive_client.add_partition(partition(database, name, ["1"]))
    assert read_partitions(hive_client, database, name, ["ds=1"]) == {}
    hive_client.drop_table(database, name, True)
    with pytest.raises(NoSuchObjectException, match="table not found"):
        read(hive_client, database, name)
    hive_client.create_table(table(database, name, KEYS))
    assert read(hive_client, database, name) == {}


@pytest.mark.parametrize(
    ("new", "cascade", "left", "left_in_partition"),
    [
        ([("a", "int"), ("x", "string"), ("y", "int")], False, ["a", "x"], ["a", "x"]),
        ([("a", "int")], False, ["a"], ["a"]),
        ([("x", "string")], False, ["x"], ["x"]),
        ([("b", "int"), ("c", "string")], False, [], []),
        ([("a", "int")], True, ["a"], ["a"]),
        ([("a", "bigint"), ("x", "string")], False, ["x"], ["x"]),
        ([("a", "bigint"), ("x", "string")], True, ["x"], ["x"]),
        ([("b", "int"), ("x", "string")], True, ["x"], ["x"]),
    ],
)
def test_changed_columns_lose_theirs(
    hive_client: Any,
    new: list[tuple[str, str]],
    cascade: bool,
    left: list[str],
    left_in_partition: list[str],
) -> None:
    database, name = partitioned(hive_client)
    both = longs("a", 0, 1), strings("x", 1)
    hive_client.update_table_column_statistics(of_table(database, name, *both))
    hive_client.update_partition_column_statistics(of_partition(database, name, "ds=1", *both))
    changed = hive_client.get_table(database, name)
    changed.sd.cols = columns(*new)
    hive_client.alter_table_with_cascade(database, name, changed, cascade)
    assert sorted(read(hive_client, database, name)) == left
    partitions = read_partitions(hive_client, database, name, ["ds=1"])
    assert sorted(partitions.get("ds=1", {})) == left_in_partition
    assert marked(hive_client.get_table(database, name)) == left
    assert marked(hive_client.get_partition(database, name, ["1"])) == left_in_partition
    merging = of_partition(database, name, "ds=1", longs("a", 50, 60), longs("b", 50, 60))
    hive_client.set_aggr_stats_for(SetPartitionsStatsRequest([merging], needMerge=True))
    merged = read_partitions(hive_client, database, name, ["ds=1"]).get("ds=1", {})
    assert sorted(merged) == left_in_partition, "statistics of some rows are not those of all"


def marked(owner: Any) -> list[str]:
    """Returns the columns that are marked as accurate."""
    return sorted(json.loads(owner.parameters[ACCURATE]).get("COLUMN_STATS", {}))


def test_a_column_that_moves_in_text_files_loses_its_statistics(hive_client: Any) -> None:
    text = descriptor(inputFormat="org.apache.hadoop.mapred.TextInputFormat")
    text.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    database, name = new_table(hive_client, KEYS, sd=text)
    hive_client.add_partition(partition(database, name, ["1"], sd=copy.deepcopy(text)))
    both = longs("a", 0, 1), strings("x", 1)
    hive_client.update_partition_column_statistics(of_partition(database, name, "ds=1", *both))
    changed = hive_client.get_table(database, name)
    changed.sd.cols = columns(("x", "string"))
    hive_client.alter_table(database, name, changed)
    assert read_partitions(hive_client, database, name, ["ds=1"]) == {}
    assert marked(hive_client.get_partition(database, name, ["1"])) == []


def test_a_changed_partition_loses_those_of_its_columns(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    for part in ("ds=1", "ds=2"):
        some = of_partition(database, name, part, longs("a", 0, 1), strings("x", 1))
        hive_client.update_partition_column_statistics(some)
    changed = partition(database, name, ["1"], sd=descriptor(cols=columns(("a", "bigint"), ("x", "string"))))
    hive_client.alter_partition(database, name, changed)
    partitions = read_partitions(hive_client, database, name, ["ds=1", "ds=2"])
    assert {part: sorted(each) for part, each in partitions.items()} == {"ds=1": ["x"], "ds=2": ["a", "x"]}


@pytest.mark.parametrize(("mode", "left"), [(PublishMode.OVERWRITE, []), (PublishMode.APPEND, ["ds=1"])])
def test_after_a_write_nothing_is_called_accurate(metastore_client: Any, mode: int, left: list[str]) -> None:
    database, name = partitioned(metastore_client)
    metastore_client.update_partition_column_statistics(of_partition(database, name, "ds=1", longs("a", 0, 1)))
    location = metastore_client.get_partition(database, name, ["1"]).sd.location
    entry = PublishPartition(["1"], mode, location, [])
    metastore_client.publish(PublishRequest(database, name, "query", [entry]))
    assert ACCURATE not in metastore_client.get_partition(database, name, ["1"]).parameters
    assert sorted(read_partitions(metastore_client, database, name, ["ds=1"])) == left


def test_columns_with_statistics(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    hive_client.update_partition_column_statistics(of_partition(database, name, "ds=1", strings("x", 1)))
    for part, expected in ((None, ["a"]), ("ds=1", ["x"]), ("ds=2", [])):
        compaction = CompactionInfoStruct(1, database, name, part, CompactionType.MAJOR)
        assert hive_client.find_columns_with_stats(compaction) == expected
    assert hive_client.find_columns_with_stats(CompactionInfoStruct(1, database, "nowhere")) == []


def test_transaction_statistics_are_taken(hive_client: Any) -> None:
    assert hive_client.update_transaction_statistics(UpdateTransactionalStatsRequest(1, 2, 3, 4)) is None


def test_refusals(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    update = hive_client.update_table_column_statistics
    with pytest.raises(MetaException, match=f"Column nope doesn't exist in table t in database {database}"):
        update(of_table(database, name, longs("nope", 0, 1)))
    with pytest.raises(NoSuchObjectException, match="table not found"):
        update(of_table(database, "nowhere", longs("a", 0, 1)))
    with pytest.raises(InvalidObjectException, match="of one kind"):
        update(of_table(database, name, ColumnStatisticsObj("a", "int", ColumnStatisticsData())))
    with pytest.raises(MetaException, match="must name their table"):
        update(ColumnStatistics(None, [longs("a", 0, 1)]))
    with pytest.raises(MetaException, match="argument stats_obj"):
        update(None)
    assert read(hive_client, database, name) == {}
    for part in ("ds=9", "rubbish", None, ""):
        sent = of_partition(database, name, part or "", longs("a", 0, 1))
        sent.statsDesc.partName = part
        with pytest.raises(NoSuchObjectException, match=r"partition .* not found"):
            hive_client.update_partition_column_statistics(sent)


def test_all_or_nothing(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    some = [of_partition(database, name, part, longs("a", 0, 1)) for part in ("ds=1", "ds=9")]
    with pytest.raises(NoSuchObjectException):
        hive_client.set_aggr_stats_for(SetPartitionsStatsRequest(some))
    mixed = [of_table(database, name, longs("a", 0, 1)), of_partition(database, name, "ds=1", longs("a", 0, 1))]
    with pytest.raises(MetaException, match="must not be mixed"):
        hive_client.set_aggr_stats_for(SetPartitionsStatsRequest(mixed))
    other, _ = partitioned(hive_client)
    several = [of_partition(text, name, "ds=1", longs("a", 0, 1)) for text in (database, other)]
    with pytest.raises(MetaException, match="belong to 2 tables: send one call for each table"):
        hive_client.set_aggr_stats_for(SetPartitionsStatsRequest(several))
    assert hive_client.set_aggr_stats_for(SetPartitionsStatsRequest([])) is True
    assert read_partitions(hive_client, database, name, ["ds=1"]) == {}


def test_strange_names(hive_client: Any) -> None:
    names = ["é/'\"\n", "x" * 700, "日本"]
    database, name = new_table(hive_client, sd=descriptor(cols=columns(*((text, "int") for text in names))))
    hive_client.add_partitions([])
    hive_client.update_table_column_statistics(of_table(database, name, *(longs(text, 0, 1) for text in names)))
    assert set(read(hive_client, database, name, names)) == set(names)


def test_writers_of_one_table_lose_nothing(metastore_server: Server, hive_client: Any) -> None:
    """Each client merges a hundred rows into the same column: all are counted."""
    database, name = partitioned(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1)))
    hive_client.update_partition_column_statistics(of_partition(database, name, "ds=1", longs("a", 0, 1)))
    start = threading.Barrier(6)

    def merge() -> None:
        with connected(metastore_server) as client:
            start.wait()
            for _ in range(5):
                some = [of_table(database, name, longs("a", 0, 1, nulls=100))]
                client.set_aggr_stats_for(SetPartitionsStatsRequest(some, needMerge=True))
                some = [of_partition(database, name, "ds=1", longs("a", 0, 1, nulls=100))]
                client.set_aggr_stats_for(SetPartitionsStatsRequest(some, needMerge=True))

    threads = [threading.Thread(target=merge) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(hive_client, database, name)["a"].longStats.numNulls == 3_000
    assert read_partitions(hive_client, database, name, ["ds=1"])["ds=1"]["a"].longStats.numNulls == 3_000
