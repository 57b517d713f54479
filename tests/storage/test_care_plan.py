"""The plan of table care: what the policies mean for partitions, from partitions and from measurements."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.domain.care import policies, resolve
from metastore.domain.care_plan import Action
from metastore.domain.care_rules import rule_of
from metastore.domain.names import TableName
from metastore.services import care as service_module
from metastore.services.authorization.everyone import Everyone
from metastore.services.care import CarePlan, CareService
from metastore.services.sizes import SizeService
from metastore.storage.queries.care_figures import FIGURES, RULE_COLUMNS, RULES, care_sums, judged, rules_text
from tests.fixtures.application import called, counted
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, SerDeInfo
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

NOW = int(datetime(2024, 3, 1, 12, tzinfo=UTC).timestamp())
OLD = str(NOW - 10 * 86_400)
MIB = 2**20
ALL = TableName("hive", "", "")
SMALL = {"numFiles": "20", "totalSize": str(20 * MIB), "transient_lastDdlTime": OLD, "COLUMN_STATS_ACCURATE": "{}"}


@pytest.fixture
def care(application: Application) -> CareService:
    called(application, "create_database", Database(name="db"))
    return CareService(application._store, lambda: NOW, Everyone(application._store))


def make(
    application: Application,
    name: str,
    partitions: Mapping[str, Mapping[str, str]],
    parameters: Mapping[str, str] | None = None,
    created: int = NOW - 10 * 86_400,
) -> TableName:
    """Creates a table with partitions by `dt`, with their parameters."""
    called(application, "create_table", table("db", name, [("dt", "string")], parameters=dict(parameters or {})))
    added = [partition("db", name, [value], parameters=dict(each)) for value, each in partitions.items()]
    called(application, "add_partitions", added)
    execute(application, f"UPDATE partitions SET create_time = {created}")
    return TableName("hive", "db", name)


def execute(application: Application, statement: str) -> Any:
    with application._store._engine.connect() as connection:
        result = connection.execute(text(statement))
        return result.all() if result.returns_rows else None


def measure(application: Application) -> None:
    execute(application, "DELETE FROM metastore_properties WHERE name = 'sizes'")
    SizeService(application._store).measure()


def brief(plan: CarePlan) -> list[tuple[Any, ...]]:
    return [(one.table.name, one.kind, one.mode, one.partitions, one.files, one.files_after) for one in plan.actions]


def only(plan: CarePlan) -> Action:
    (action,) = plan.actions
    return action


@pytest.mark.parametrize(
    ("classes", "provider", "is_compacted"),
    [
        ("org.apache.hadoop.mapred.TextInputFormat", None, False),
        ("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "hive", True),
        # Spark's own tables: the classes say nothing.
        ("org.apache.hadoop.mapred.SequenceFileInputFormat", "csv", False),
        ("org.apache.hadoop.mapred.SequenceFileInputFormat", "PARQUET", True),
    ],
)
def test_only_parquet_and_orc_files_are_compacted(
    application: Application, care: CareService, classes: str, provider: str | None, is_compacted: bool
) -> None:
    serde = SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe")
    parameters = {**SMALL, "numRows": "1", "care.compaction": "on"}
    parameters |= {"spark.sql.sources.provider": provider} if provider else {}
    made = table("db", "t", sd=descriptor(inputFormat=classes, serdeInfo=serde), parameters=parameters)
    called(application, "create_table", made)
    execute(application, "UPDATE tables SET create_time = 1")
    plan = care.plan(TableName("hive", "db", "t"))
    assert [one.kind for one in plan.actions if one.kind == "compaction"] == ["compaction"] * is_compacted
    assert plan.tables[0].notes == (
        [] if is_compacted else ["files are not compacted: only Parquet and ORC files can be merged"]
    )


def test_small_files_of_cold_partitions_are_compacted(application: Application, care: CareService) -> None:
    large = {**SMALL, "numFiles": "2", "totalSize": str(300 * MIB)}
    hot = {**SMALL, "transient_lastDdlTime": str(NOW - 60)}
    one = {**SMALL, "numFiles": "1", "totalSize": "100"}
    unknown = {"transient_lastDdlTime": OLD, "COLUMN_STATS_ACCURATE": "{}"}
    make(application, "t", {"a": SMALL, "b": large, "c": hot, "d": SMALL, "e": one, "f": unknown})
    plan = care.plan(TableName("hive", "db", "t"))
    compaction, statistics = plan.actions
    assert compaction[1:] == (
        "compaction",
        "report",
        2,
        40,
        40 * MIB,
        2,
        40 * MIB,
        40 * MIB,
        "40 files of 1.0 MiB on average",
    )
    assert compaction.gain == 38 / (40 * MIB)
    assert (statistics.kind, statistics.partitions) == ("statistics", 1)
    assert statistics.reason == "1 without number and size of files"
    (shown,) = plan.tables
    assert (shown.partitions, shown.files, shown.bytes, shown.measured_at) == (6, 63, 360 * MIB + 100, None)


def test_a_table_without_partitions_is_compacted(application: Application, care: CareService) -> None:
    called(application, "create_table", table("db", "flat", parameters=SMALL))
    called(application, "create_table", table("db", "hot", parameters={**SMALL, "transient_lastDdlTime": str(NOW)}))
    execute(application, f"UPDATE tables SET create_time = {OLD}")
    assert brief(care.plan(ALL)) == [("flat", "compaction", "report", 0, 20, 1)]


@pytest.mark.parametrize(
    "parameters",
    [
        {"care.compaction": "off"},
        {"care.compaction.min.files": "21"},
        {"care.compaction.quiet.period": "11d"},
        {"care.compaction.target.size": "1mb"},
        {"table_type": "ICEBERG"},
        {"spark.sql.sources.provider": "delta"},
        {"transactional": "true"},
    ],
)
def test_policies_and_formats_exclude_compaction(
    application: Application, care: CareService, parameters: dict[str, str]
) -> None:
    make(application, "t", {"a": SMALL})
    for key, value in parameters.items():
        execute(application, f'UPDATE tables SET parameters = parameters || \'{{"{key}": "{value}"}}\'')
    assert care.plan(ALL).actions == []


def test_partitions_keep_a_file_for_each_bucket(application: Application, care: CareService) -> None:
    new = table("db", "t", [("dt", "string")])
    new.sd.numBuckets, new.sd.bucketCols = 8, ["a"]
    called(application, "create_table", new)
    called(application, "add_partition", partition("db", "t", ["x"], parameters=SMALL))
    execute(application, "UPDATE partitions SET create_time = 1")
    assert brief(care.plan(ALL)) == [("t", "compaction", "report", 1, 20, 8)]


def test_partitions_expire_by_their_creation(application: Application, care: CareService) -> None:
    make(application, "t", {"a": SMALL}, {"partition.retention.period": "9d", "care.compaction": "on"})
    action = only(care.plan(ALL))
    assert action[1:5] == ("retention", "on", 1, 20)
    assert action.reason == "partitions created more than 9 days ago"
    execute(application, f"UPDATE partitions SET create_time = {NOW - 9 * 86_400}")
    assert brief(care.plan(ALL)) == [("t", "compaction", "on", 1, 20, 1)], "an age of exactly the period is not more"


def test_partitions_expire_by_their_key(application: Application, care: CareService) -> None:
    values = [
        "2024-02-22",
        "2024-02-23",
        "2024-02-31",
        "2024-13-01",
        "0000-01-01",
        "__HIVE_DEFAULT_PARTITION__",
        "2023",
    ]
    bare = {"COLUMN_STATS_ACCURATE": "{}", "numFiles": "1", "totalSize": "9"}
    parameters = {"care.retention.key": "dt", "care.retention.period": "7d"}
    make(application, "t", dict.fromkeys(values, bare), parameters)
    action = only(care.plan(ALL))
    assert (action.kind, action.partitions, action.bytes) == ("retention", 1, 9)
    assert action.reason == "partitions whose day ended more than 7 days ago"


def test_retention_of_protected_tables_is_blocked(application: Application, care: CareService) -> None:
    retention = {"partition.retention.period": "1d"}
    make(application, "kept", {"a": SMALL}, {**retention, "metastore.protected": "true"})
    make(application, "base", {"a": SMALL}, retention)
    request = CreateDependentTableRequest("db", "dependent", columns(("dt", "string")), "db", "base")
    called(application, "create_dependent_table", request)
    kept = "those on which partitions of dependent tables rest are kept"
    reasons = {one.table.name: (one.mode, one.reason) for one in care.plan(ALL).actions}
    assert reasons == {
        "kept": ("blocked", "the table is protected: run  metastore unprotect db.kept"),
        "base": (
            "on",
            f"partitions created more than 1 day ago; {kept}: db.dependent",
        ),
    }


def test_actions_are_in_the_order_of_their_gain(application: Application, care: CareService) -> None:
    many = {**SMALL, "numFiles": "200"}
    empty = {**SMALL, "numFiles": "0", "totalSize": "0"}
    make(application, "less", {"a": SMALL, "b": empty})
    make(application, "more", {"a": many})
    make(application, "old", {"a": SMALL}, {"partition.retention.period": "1d"})
    make(application, "older", {"a": SMALL, "b": SMALL}, {"partition.retention.period": "1d"})
    assert [(name, kind) for name, kind, *_ in brief(care.plan(ALL))] == [
        ("older", "retention"),
        ("old", "retention"),
        ("more", "compaction"),
        ("less", "compaction"),
        ("less", "empty"),
    ]


def test_many_small_partitions_are_reported(application: Application, care: CareService) -> None:
    fine = {**SMALL, "numFiles": "1", "totalSize": str(10 * MIB)}
    make(application, "t", {f"{number}": fine for number in range(1000)})
    action = only(care.plan(ALL))
    assert (action.kind, action.partitions) == ("layout", 1000)
    assert action.reason == "partitions have 10.0 MiB on average: a coarser partition column, or buckets, make fewer"
    execute(application, 'UPDATE tables SET parameters = parameters || \'{"care.layout": "off"}\'')
    assert care.plan(ALL).actions == []


def test_the_measurement_finds_what_the_plan_reads(
    application: Application, care: CareService, monkeypatch: pytest.MonkeyPatch
) -> None:
    retention = {"care.retention.key": "dt", "care.retention.period": "36500d"}
    make(application, "t", {"a": SMALL, "1900-01-01": SMALL, "b": {}}, retention)
    make(application, "none", {})
    called(application, "create_table", table("db", "flat", parameters={**SMALL, "transient_lastDdlTime": "1"}))
    called(application, "create_table", table("db", "v", tableType="VIRTUAL_VIEW", viewExpandedText="SELECT 1"))
    execute(application, "UPDATE tables SET create_time = 1")
    execute(application, "UPDATE partitions SET create_time = 1")
    live = care.plan(ALL)
    assert {one.table.name for one in live.tables} == {"t", "none", "flat"}
    measure(application)
    monkeypatch.setattr(service_module, "_READ", 0)
    measured = care.plan(ALL)
    assert all(one.measured_at for one in measured.tables)
    assert {one.table.name: one.table.figures for one in measured.tables} == {
        one.table.name: one.table.figures for one in live.tables
    }
    assert brief(measured) == brief(live)
    assert ("t", "retention", "on", 1, 20, 0) in brief(live)


def test_a_table_with_many_partitions_has_the_figures_of_its_measurement(
    application: Application, care: CareService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_READ", 2)
    name = make(application, "t", {"a": SMALL, "b": SMALL, "c": SMALL})
    plan = care.plan(name)
    assert (plan.actions, plan.tables[0].notes) == ([], ["not measured yet: its partitions are counted within an hour"])
    measure(application)
    called(application, "drop_partition", "db", "t", ["a"], False)
    plan = care.plan(name)
    assert brief(plan) == [("t", "compaction", "report", 3, 60, 3)], "the state at the measurement"
    assert plan.tables[0].notes == []
    execute(application, 'UPDATE tables SET parameters = parameters || \'{"care.compaction.min.files": "3"}\'')
    assert "a policy was changed after the measurement at" in care.plan(name).tables[0].notes[0]


def test_problems_of_policies_are_notes(application: Application, care: CareService) -> None:
    name = make(application, "t", {"a": SMALL})
    execute(application, 'UPDATE databases SET parameters = \'{"partition.retention.period": "a week"}\'')
    assert care.plan(name).tables[0].notes[0].startswith("partition.retention.period is 'a week'; it must be")


def test_a_plan_is_as_many_statements_for_any_number_of_tables(application: Application, care: CareService) -> None:
    make(application, "t0", {"a": SMALL})
    with counted(application) as few:
        care.plan(ALL)
    for number in range(1, 8):
        make(application, f"t{number}", {f"{value}": SMALL for value in range(30)})
    with counted(application) as many:
        care.plan(ALL)
    assert len(many) == len(few) <= 4, many


def test_few_partitions_are_read_by_the_index_beside_a_large_table(application: Application, care: CareService) -> None:
    """PostgreSQL expects as many partitions of a new table as of the only table that it has analyzed."""
    make(application, "large", {"a": SMALL})
    execute(
        application,
        "INSERT INTO partitions (table_id, name, values, keys, create_time, last_access_time, parameters, "
        "descriptor_id, version, encoded) SELECT table_id, n, ARRAY[n], ARRAY[n], 1, 0, parameters, descriptor_id, "
        "version, encoded FROM partitions CROSS JOIN (SELECT n::text FROM generate_series(1, 60000) AS n) AS numbers",
    )
    execute(application, "ANALYZE partitions")
    make(application, "few", {"a": SMALL})
    with counted(application) as statements:
        care.plan(TableName("hive", "db", "few"))
    (query,) = [each for each in statements if "jsonb_to_recordset" in each]
    rules = rules_text([(rule_of(1, policies([], []), {}, "parquet", 0, NOW), {})])
    with application._store._engine.connect() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN {query}", {"rules": rules, "most": 5001}).scalars().all()
    assert not [line for line in explained if "Seq Scan on partitions" in line], explained


def test_tables_beyond_the_limit_are_counted(application: Application, care: CareService) -> None:
    make(application, "little", {"a": SMALL})
    make(application, "much", {"a": {**SMALL, "numFiles": "100"}})
    measure(application)
    plan = care.plan(ALL, limit=1)
    assert ([one.table.name for one in plan.tables], plan.left_off) == (["much"], 1)


_DIGITS = st.integers(0, 99).map(lambda number: f"{number:02d}")
_YEARS = st.sampled_from(["2023", "2024", "0000", "0001", "9999", "20x4"])
_SEPARATORS = st.sampled_from(["-", "-", "-", "/", ""])


@examples(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.tuples(_YEARS, _SEPARATORS, _DIGITS, _DIGITS), min_size=1, max_size=20),
    days=st.integers(1, 800),
)
@example(values=[("2024", "-", "02", "29"), ("2023", "-", "02", "29")], days=1)
def test_sql_and_python_agree_about_dates(
    application: Application, values: list[tuple[str, str, str, str]], days: int
) -> None:
    """SQL decides by digits; the oracle parses dates."""
    texts = [f"{year}{separator}{month}{separator}{day}" for year, separator, month, day in values]
    parameters = {"care.retention.key": "dt", "care.retention.period": f"{days}d"}
    settings = resolve(["dt"], parameters, None, None)
    rule = rule_of(7, policies(settings, ["dt"]), {}, "orc", 0, NOW)
    assert expired_in_sql(application, rule, texts) == sum(has_expired(each, days) for each in texts)


def has_expired(value: str, days: int) -> bool:
    try:
        ended = datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        return False
    return (datetime.fromtimestamp(NOW, UTC) - ended).total_seconds() > days * 86_400


def expired_in_sql(application: Application, rule: Any, texts: list[str]) -> int:
    source = (
        "SELECT r.table_id, 0 AS partition_id, ARRAY[v] AS values, 0 AS create_time, '{}'::jsonb AS parameters, "
        f"{RULE_COLUMNS} "
        f"FROM ({RULES}) AS r CROSS JOIN unnest(cast(:texts AS text[])) AS v"
    )
    query = text(f"SELECT {care_sums()} FROM {judged(source)} AS p")
    with application._store._engine.connect() as connection:
        row = connection.execute(query, {"rules": rules_text([(rule, {})]), "texts": texts}).mappings().one()
    assert set(row) == set(FIGURES)
    return int(row["expired_partitions"])


def unread(care: CareService) -> dict[str, str]:
    return {each.table.name: each.reason for each in care.plan(ALL).actions if each.kind == "unread"}


def test_tables_that_nobody_reads_are_reported_once_the_record_is_long_enough(
    application: Application, care: CareService
) -> None:
    for name in ("read", "opened", "forgotten", "never", "new", "kept"):
        parameters = {"totalSize": "7", **({"care.unread.period": "0"} if name == "kept" else {})}
        called(application, "create_table", table("db", name, parameters=parameters))
    execute(application, "UPDATE tables SET create_time = 0 WHERE name <> 'new'")
    assert unread(care) == {}, "scans are not recorded"
    today = "(now() AT TIME ZONE 'UTC')::date"
    execute(application, f"INSERT INTO scan_recording_days SELECT {today} - n FROM generate_series(0, 89) AS n")
    assert unread(care) == {}, "they are recorded for 89 days"
    execute(application, f"INSERT INTO scan_recording_days VALUES ({today} - 90)")
    for name, shape, days in (("read", "[]", 1), ("opened", "opened", 89), ("forgotten", "*", 90)):
        execute(
            application,
            "INSERT INTO scan_records (table_id, day, shape, user_name, last_at, scans, kept_partitions, "
            "kept_directories, directories, sized, kept_files, kept_bytes) "
            f"SELECT id, {today} - {days}, '{shape}', '', now(), 1, 0, 0, 0, 0, 0, 0 FROM tables WHERE name = '{name}'",
        )
    with counted(application) as statements:
        found = unread(care)
    assert len(statements) <= 4
    ((day,),) = execute(application, f"SELECT {today} - 90")
    assert found == {
        "forgotten": f"nobody has read it since {day}",
        "never": f"nobody has read it since the record began on {day}",
    }
    plan = care.plan(ALL)
    assert plan.since == day
    notes = {each.table.name: each.notes for each in plan.tables}
    assert "clients that plan scans themselves opened it, last on" in " ".join(notes["opened"])
