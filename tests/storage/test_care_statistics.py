"""Outdated statistics of columns: which ones table care counts again, and how they are replaced."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.errors import InvalidInputError, NotFoundError
from tests.fixtures.application import called, counted
from tests.wire.builders import columns, descriptor, partition, table
from tests.wire.statistics import ACCURATE, longs, of_partition, of_table, strings
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatisticsData,
    ColumnStatisticsObj,
    Database,
    EnvironmentContext,
    LongColumnStatsData,
    PartitionsStatsRequest,
    SetPartitionsStatsRequest,
    TableStatsRequest,
    Timestamp,
    TimestampColumnStatsData,
)
from thrift_idl.gen.metastore.ttypes import (
    CarePartition,
    CarePartitionsRequest,
    CarePlanRequest,
    CountedColumns,
    PublishMode,
    PublishPartition,
    PublishRequest,
    RefreshColumnStatisticsRequest,
)

COUNTED = {"numFiles": "1", "totalSize": "9", "numRows": "3", "transient_lastDdlTime": "7"}
KNOWN = {**COUNTED, ACCURATE: '{"BASIC_STATS":"true"}'}
DAYS = ("1", "2", "3")


@pytest.fixture
def store(application: Application) -> Application:
    """A table with three partitions, and one without partitions; all have accurate statistics of a and x."""
    called(application, "create_database", Database(name="db"))
    called(application, "create_table", table("db", "t", [("dt", "string")]))
    called(application, "add_partitions", [partition("db", "t", [day], parameters=KNOWN) for day in DAYS])
    called(application, "create_table", table("db", "flat", parameters=KNOWN))
    set_parameters(application, "t", "123", **KNOWN)
    set_parameters(application, "flat", **KNOWN)
    for day in DAYS:
        called(
            application,
            "update_partition_column_statistics",
            of_partition("db", "t", f"dt={day}", longs("a", 0, 1), strings("x", 1)),
        )
    called(application, "update_table_column_statistics", of_table("db", "flat", longs("a", 0, 1), strings("x", 1)))
    return application


def set_parameters(application: Application, name: str, values: str = "", **parameters: str) -> None:
    """Changes parameters of the table, or of partitions with these one-letter values, as a client may."""
    context = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
    for day in values:
        changed = called(application, "get_partition", "db", name, [day]).decode()
        changed.parameters |= parameters
        called(application, "alter_partition_with_environment_context", "db", name, changed, context)
    if not values:
        owner = called(application, "get_table", "db", name).decode()
        owner.parameters |= parameters
        called(application, "alter_table_with_environment_context", "db", name, owner, context)


def outdated(application: Application, name: str = "t", **fields: Any) -> list[CarePartition]:
    request = CarePartitionsRequest("db", name, kind="statistics", **fields)
    return list(called(application, "get_care_partitions", request))


def brief(application: Application, name: str = "t", **fields: Any) -> list[tuple[str, Any, Any]]:
    return [(one.name, one.columns, one.isCounted) for one in outdated(application, name, **fields)]


def refresh(application: Application, name: str, *entries: CountedColumns) -> list[str]:
    return list(
        called(
            application, "refresh_column_statistics", RefreshColumnStatisticsRequest("db", name, None, list(entries))
        )
    )


def stored(application: Application, day: str, engine: str = "hive") -> dict[str, ColumnStatisticsData]:
    request = PartitionsStatsRequest("db", "t", None, [f"dt={day}"], engine=engine)
    found = called(application, "get_partitions_statistics_req", request).partStats.decode()
    return {one.colName: one.statsData for one in found.get(f"dt={day}", [])}


def accurate(application: Application, day: str) -> Any:
    parameters = called(application, "get_partition", "db", "t", [day]).decode().parameters
    return json.loads(parameters[ACCURATE]) if ACCURATE in parameters else None


def overwrite(application: Application, name: str, values: Sequence[str]) -> None:
    location = f"memory://test/{name}/new"
    entry = PublishPartition(list(values), PublishMode.OVERWRITE, location, [], parameters=KNOWN)
    called(application, "publish", PublishRequest("db", name, "query", [entry]))


def test_nothing_is_outdated_after_an_analysis(store: Application) -> None:
    assert brief(store) == brief(store, "flat") == []


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ('{"BASIC_STATS":"true"}', ["a", "x"]),
        ('{"BASIC_STATS":"true","COLUMN_STATS":{"x":"true"}}', ["a"]),
        ('{"COLUMN_STATS" : { "x" : "true",\n\t"a": "true" } }', None),
        ("true", ["a", "x"]),
        ("", ["a", "x"]),
        ('"a":"true","x":"true"', ["a", "x"]),
        ("{not json", ["a", "x"]),
        ('{"COLUMN_STATS":{"aa":"true","a x":"true"}}', ["a", "x"]),
    ],
)
def test_columns_that_are_not_listed_are_outdated(store: Application, state: str, expected: Any) -> None:
    set_parameters(store, "t", "2", **{ACCURATE: state})
    set_parameters(store, "flat", **{ACCURATE: state})
    assert brief(store) == ([("dt=2", expected, True)] if expected else [])
    assert brief(store, "flat") == ([("flat", expected, True)] if expected else [])
    for name, values in (("t", ["2"]), ("flat", [])):
        for one in outdated(store, name):
            entry = CountedColumns(one.name if values else "", one.version, [longs("a", 5, 6), strings("x", 7)])
            assert refresh(store, name, entry) == ["dt=2" if values else ""]
    assert brief(store) == brief(store, "flat") == [], "a malformed text is replaced"


def test_a_name_is_found_as_json_escapes_it(store: Application) -> None:
    odd = ['q"uote', "back\\slash", "ünï", "sp ace", "tab\t"]
    sd = descriptor(cols=columns(*((name, "int") for name in odd)))
    called(store, "create_table", table("db", "odd", sd=sd, parameters=KNOWN))
    called(store, "update_table_column_statistics", of_table("db", "odd", *(longs(name, 0, 1) for name in odd)))
    set_parameters(store, "odd", numFiles="1", totalSize="1")
    assert brief(store, "odd") == []
    escaped = json.dumps({"COLUMN_STATS": dict.fromkeys(odd, "true")}, ensure_ascii=True)
    set_parameters(store, "odd", **{ACCURATE: escaped})
    (one,) = outdated(store, "odd")
    assert one.columns == ["ünï"]
    assert refresh(store, "odd", CountedColumns("", one.version, [longs("ünï", 0, 1)])) == [""]
    assert brief(store, "odd") == [], "it is written again without escapes"


def test_both_kinds_are_listed_by_name_and_page(store: Application) -> None:
    set_parameters(store, "t", "123", **{ACCURATE: '{"BASIC_STATS":"true"}'})
    set_parameters(store, "t", "1", numFiles="x")
    called(store, "add_partition", partition("db", "t", ["0"], parameters=COUNTED))
    assert brief(store) == [
        ("dt=0", None, False),
        ("dt=1", ["a", "x"], False),
        ("dt=2", ["a", "x"], True),
        ("dt=3", ["a", "x"], True),
    ]
    assert brief(store, limit=1, after="dt=1") == [("dt=2", ["a", "x"], True)]
    set_parameters(store, "t", **{"partition.retention.period": "1s"})
    with store._store._engine.connect() as connection:
        connection.execute(text("UPDATE partitions SET create_time = 1 WHERE name <> 'dt=3'"))
    assert [name for name, *_ in brief(store)] == ["dt=3"], "expired ones are dropped instead"


def test_the_plan_counts_them(store: Application) -> None:
    def planned() -> list[tuple[str, str, int]]:
        plan = called(store, "get_care_plan", CarePlanRequest("db", ""))
        return sorted((one.tableName, one.kind, one.partitions) for one in plan.actions)

    assert planned() == []
    set_parameters(store, "t", "2", **{ACCURATE: '{"BASIC_STATS":"true"}'})
    set_parameters(store, "flat", **{ACCURATE: '{"BASIC_STATS":"true"}'})
    assert planned() == [("flat", "statistics", 0), ("t", "statistics", 1)]


def test_a_partition_that_has_changed_is_skipped(store: Application) -> None:
    set_parameters(store, "t", "123", **{ACCURATE: '{"BASIC_STATS":"true"}'})
    entries = [CountedColumns(one.name, one.version, [longs("a", 5, 6)]) for one in outdated(store)]
    set_parameters(store, "t", "2", note="written meanwhile")
    called(store, "drop_partition", "db", "t", ["3"], False)
    assert refresh(store, "t", *entries) == ["dt=1"]
    assert stored(store, "1")["a"].longStats.highValue == 6
    assert accurate(store, "1") == {"BASIC_STATS": "true", "COLUMN_STATS": {"a": "true"}}
    assert stored(store, "2")["a"].longStats.highValue == 1
    assert accurate(store, "2") == {"BASIC_STATS": "true"}
    assert brief(store) == [("dt=1", ["x"], True), ("dt=2", ["a", "x"], True)]
    assert called(store, "get_partition", "db", "t", ["1"]).decode().parameters["transient_lastDdlTime"] == "7"
    set_parameters(store, "flat", **{ACCURATE: "{}"})
    (one,) = outdated(store, "flat")
    set_parameters(store, "flat", note="written meanwhile")
    assert refresh(store, "flat", CountedColumns("", one.version, [longs("a", 5, 6)])) == []
    assert called(store, "get_table", "db", "flat").decode().parameters[ACCURATE] == "{}"


def test_columns_that_nobody_has_analyzed_are_not_stored(store: Application) -> None:
    called(store, "delete_partition_column_statistics", "db", "t", "dt=1", "x", "hive")
    set_parameters(store, "t", "1", **{ACCURATE: '{"BASIC_STATS":"true"}'})
    (one,) = outdated(store)
    assert one.columns == ["a"]
    new = [longs("a", 5, 6), strings("x", 7)]
    assert refresh(store, "t", CountedColumns(one.name, one.version, new)) == ["dt=1"]
    assert sorted(stored(store, "1")) == ["a"]
    assert accurate(store, "1") == {"BASIC_STATS": "true", "COLUMN_STATS": {"a": "true"}}
    set_parameters(store, "t", "2", **{ACCURATE: '{"BASIC_STATS":"true"}'})
    (one,) = outdated(store)
    called(store, "delete_partition_column_statistics", "db", "t", "dt=2", None, None)
    assert refresh(store, "t", CountedColumns("dt=2", one.version, new)) == [], "deleted after the version was read"
    assert stored(store, "2") == {}


def test_statistics_of_each_engine_are_replaced(store: Application) -> None:
    of_impala = of_partition("db", "t", "dt=1", longs("a", 0, 2))
    of_impala.engine = "impala"
    called(store, "set_aggr_stats_for", SetPartitionsStatsRequest([of_impala], engine="impala"))
    set_parameters(store, "t", "1", **{ACCURATE: "{}"})
    (one,) = outdated(store)
    assert one.columns == ["a", "x"]
    refresh(store, "t", CountedColumns(one.name, one.version, [longs("a", 5, 6)]))
    assert [stored(store, "1", engine)["a"].longStats.highValue for engine in ("hive", "impala")] == [6, 6]


def test_an_overwrite_forgets_statistics_until_they_are_counted(store: Application) -> None:
    overwrite(store, "t", ["1"])
    overwrite(store, "flat", [])
    assert stored(store, "1") == {}
    assert called(store, "get_table_statistics_req", TableStatsRequest("db", "flat", ["a"])).tableStats == []
    with store._store._engine.connect() as connection:
        views = [connection.execute(text(f'SELECT count(*) FROM hive."{name}_COL_STATS"')) for name in ("TAB", "PART")]
        assert [view.scalar_one() for view in views] == [0, 4], "of the other two partitions"
    called(store, "delete_partition_column_statistics", "db", "t", "dt=1", "x", "hive")
    assert brief(store) == [("dt=1", ["a"], True)], "a deletion deletes forgotten ones, too"
    assert brief(store, "flat") == [("flat", ["a", "x"], True)]
    for name, label in (("t", "dt=1"), ("flat", "")):
        (one,) = outdated(store, name)
        assert refresh(store, name, CountedColumns(label, one.version, [longs("a", 5, 6)])) == [label]
    assert stored(store, "1")["a"].longStats.highValue == 6
    (found,) = called(
        store, "get_table_statistics_req", TableStatsRequest("db", "flat", ["a", "x"])
    ).tableStats.decode()
    assert (found.colName, found.statsData.longStats.highValue) == ("a", 6)
    overwrite(store, "t", ["1"])
    overwrite(store, "t", ["1"])
    called(store, "update_partition_column_statistics", of_partition("db", "t", "dt=1", longs("a", 8, 9)))
    assert (brief(store), stored(store, "1")["a"].longStats.highValue) == ([], 9)


def test_timestamps_keep_the_kind_that_their_readers_know(store: Application) -> None:
    """Trino fails on the kind of Hive 4."""
    bounds = Timestamp(10), Timestamp(20)
    newest = ColumnStatisticsData(timestampStats=TimestampColumnStatsData(*bounds, 2, 3))
    by_trino = ColumnStatisticsData(longStats=LongColumnStatsData(1, 2, 0, 1))
    for day, data in (("1", by_trino), ("2", newest)):
        statistics = of_partition("db", "t", f"dt={day}", ColumnStatisticsObj("ts", "timestamp", data))
        called(store, "update_partition_column_statistics", statistics)
        set_parameters(store, "t", day, **{ACCURATE: "{}"})
    entries = [
        CountedColumns(one.name, one.version, [ColumnStatisticsObj("ts", "timestamp", newest)])
        for one in outdated(store)
    ]
    assert refresh(store, "t", *entries) == ["dt=1", "dt=2"]
    assert stored(store, "1")["ts"].longStats == LongColumnStatsData(None, None, 2, 3)
    assert stored(store, "2")["ts"].timestampStats.highValue == Timestamp(20)


def test_wrong_requests(store: Application) -> None:
    with pytest.raises(NotFoundError, match=r"db\.missing table not found"):
        refresh(store, "missing")
    with pytest.raises(InvalidInputError, match="has no partitions: send one entry, not 2"):
        refresh(store, "flat", *[CountedColumns("", 1, [longs("a", 0, 1)])] * 2)
    assert refresh(store, "t") == refresh(store, "flat") == []
    assert refresh(store, "t", CountedColumns("dt=1", 1, [])) == []


def test_a_refresh_is_as_many_statements_for_any_number_of_partitions(store: Application) -> None:
    set_parameters(store, "t", "123", **{ACCURATE: "{}"})
    entries = [CountedColumns(one.name, one.version, [longs("a", 5, 6), strings("x", 7)]) for one in outdated(store)]
    with counted(store) as few:
        assert len(refresh(store, "t", entries[0])) == 1
    with counted(store) as many:
        assert len(refresh(store, "t", *entries[1:])) == 2
    assert len(many) == len(few)
