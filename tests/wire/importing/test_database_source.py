"""Imports from the database of a source: everything comes along as it is, and nothing is changed there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from metastore.domain.names import DatabaseName
from metastore.errors import UnavailableError
from metastore.importing.sources.connections import SourceConnection
from metastore.importing.sources.objects import Batch, Selection, Stage
from metastore.importing.sources.opening import open_source
from metastore.storage.importing.imports import COPIED
from tests.fixtures.hive_schema import VERSIONS, HiveDatabase, hive_database
from tests.fixtures.server import connected, running
from tests.wire.importing.filling import ORPHANS, fill
from tests.wire.importing.followers import follower
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import (
    GetOpenTxnsInfoResponse,
    GetValidWriteIdsRequest,
    NotificationEventRequest,
)


@pytest.fixture(params=VERSIONS)
def source(request: pytest.FixtureRequest, make_database: Callable[..., str], tmp_path: Path) -> Iterator[HiveDatabase]:
    made = hive_database(make_database, request.param)
    fill(made, f"file:{tmp_path}/theirs")
    yield made
    made.close()


def test_all_objects_are_imported_unchanged(source: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    before = source.content()
    state = copy(source.url, database_url)
    assert state.state == COPIED
    assert state.source_version == source.version
    assert source.content() == before
    with running(database_url, tmp_path) as server:
        assert compare(source.url, server.uri) == []
        with connected(server) as client:
            plain = client.get_table("sales", "plain")
            assert plain.createTime == 0
            assert plain.parameters["x"] == "é\n\t\\"
            assert not {"numFiles", "totalSize"} & plain.parameters.keys()
            assert client.get_table("sales", "odd/name").sd.location.endswith("/odd")
            assert client.get_table("sales", "far").sd.location == "wasbs://c@account/far"
            skewed = client.get_table("sales", "skewed").sd
            assert skewed.skewedInfo.skewedColValueLocationMaps[("a/b",)] == "s3://elsewhere/b"
            assert skewed.numBuckets == 4
            odd = client.get_partition("sales", "logs", ["a/b:c", "7"])
            assert (odd.createTime, odd.sd.location) == (0, "hdfs://old:8020/logs")
            assert odd.parameters == {}
            assert client.get_all_token_identifiers() == ["id"]
            assert client.get_master_keys() == ["secret"]
    assert not (tmp_path / "theirs").exists()


def test_a_follower_reads_named_tables_without_listing_the_others(
    hive: HiveDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = SourceConnection.rows
    of_tables: list[str] = []

    def recorded(connection: SourceConnection, statement: str, *values: object) -> list[tuple[object, ...]]:
        rows = read(connection, statement, *values)
        of_tables.extend(statement for _ in rows if '"TBLS"' in statement)
        return rows

    monkeypatch.setattr(SourceConnection, "rows", recorded)
    name = DatabaseName("hive", "sales").table("logs")
    with closing(open_source(hive.url)) as source, source.snapshot():
        assert source.tables([name, DatabaseName("hive", "sales").table("none")]).keys() == {name}
        assert [one.name for some in source.partitions(name, ["ds=1/hr=1"]) for one in some] == ["ds=1/hr=1"]
        assert len(source.partition_names(name)) == 35
        assert list(source.statistics(name, ["ds=1/hr=0"]))
        assert len(of_tables) == 1
        assert len(source.table_names(DatabaseName("hive", "sales"))) == 8
        assert source.totals(Selection())[name].partitions == 35
        assert source.table(name) == source.tables([name])[name]


@pytest.mark.parametrize("source", VERSIONS[:2], indirect=True)
def test_numbers_of_events_and_transactions_continue(source: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    copy(source.url, database_url)
    with running(database_url, tmp_path) as server, connected(server) as client:
        assert client.get_current_notificationEventId().eventId == 42
        events = client.get_next_notification(NotificationEventRequest(0, 100)).events
        assert [(event.eventId, event.eventTime) for event in events] == [(40, 9), (42, 9)]
        assert {(event.message, event.messageFormat) for event in events} == {("{}", "json-0.2")}
        info: GetOpenTxnsInfoResponse = client.get_open_txns_info()
        assert info.txn_high_water_mark == 100
        ids = client.get_valid_write_ids(
            GetValidWriteIdsRequest(["sales.plain"], validTxnList="100:9223372036854775807::90")
        )
        (of_table,) = ids.tblValidWriteIds
        aborted, last = (5, 7) if source.version >= "3.1" else (90, 100)
        assert (of_table.writeIdHighWaterMark, of_table.invalidWriteIds) == (last, [aborted])


def test_omitted_and_odd_objects_are_reported(hive: HiveDatabase, database_url: str) -> None:
    state = copy(hive.url, database_url)
    with opened(database_url) as store, store.read() as work:
        actual_findings = work.imports.findings(state.id)
    kinds = [finding.kind for finding in actual_findings]
    assert kinds.count("orphan") == ORPHANS
    assert kinds.count("names that differ in case only") == 1
    odd = {finding.object for finding in actual_findings if finding.kind == "object that this server's rules reject"}
    assert odd == {"sales.odd/name", "sales.logs/DS=2/hr=1"}


def test_chosen_databases_and_rewritten_locations(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    rewrites = ("hdfs://old:8020=hdfs://new", f"file:{tmp_path}/theirs=s3a://bucket/moved")
    copy(hive.url, database_url, "sales", rewrites=rewrites)
    with running(database_url, tmp_path) as server, connected(server) as client:
        assert client.get_partition("sales", "logs", ["a/b:c", "7"]).sd.location == "hdfs://new/logs"
        assert client.get_database("sales").locationUri == "s3a://bucket/moved/sales.db"
        spark = client.get_table("sales", "spark").sd
        assert spark.serdeInfo.parameters["path"] == spark.location == "s3a://bucket/moved/sales.db/spark"
        assert client.get_function("sales", "up").resourceUris[0].uri == "hdfs://new/up.jar"
        own = client.get_database("default").locationUri
        assert own.endswith("/warehouse")
    copy(hive.url, database_url)  # the others follow in a second import, with the same rewriting
    with running(database_url, tmp_path) as server:
        assert compare(hive.url, server.uri, rewrites=rewrites) == []


def test_the_views_of_our_own_database_are_a_source(
    hive: HiveDatabase, make_database: Callable[..., str], database_url: str, tmp_path: Path
) -> None:
    """The views exist under names in upper and in lower case."""
    ours = make_database()
    copy(hive.url, ours)
    views = make_url(ours).set(drivername="postgresql").update_query_dict({"options": "-csearch_path=hive"})
    source = views.render_as_string(hide_password=False)
    assert copy(source, database_url).source_version == "3.1"
    with running(database_url, tmp_path) as server:
        assert compare(source, server.uri) == []
        # The views do not show secrets.
        assert {one.kind for one in compare(hive.url, server.uri)} == {"master keys", "delegation tokens"}


def test_a_source_without_a_column_cannot_be_read(hive: HiveDatabase, database_url: str) -> None:
    hive.execute('ALTER TABLE "SDS" DROP COLUMN "CD_ID"')
    with pytest.raises(UnavailableError, match=r"cannot be read: column s\.CD_ID does not exist$"):
        copy(hive.url, database_url)


BROKEN_ROWS = [
    (Stage.CONSTRAINTS, '"KEY_CONSTRAINTS" SET "CONSTRAINT_TYPE" = 77', "KEY_CONSTRAINTS.PARENT_TBL_ID=1"),
    (Stage.TABLE_STATISTICS, '"TAB_COL_STATS" SET "LONG_LOW_VALUE" = 1, "LAST_ANALYZED" = NULL', None),
    (Stage.FUNCTIONS, '"FUNCS" SET "FUNC_NAME" = NULL', "FUNCS.FUNC_ID=1"),
    (Stage.PRIVILEGES, '"TBL_PRIVS" SET "PRINCIPAL_NAME" = NULL', "TBL_PRIVS.TBL_GRANT_ID=1"),
    (Stage.EVENTS, '"NOTIFICATION_LOG" SET "EVENT_TYPE" = NULL', "NOTIFICATION_LOG.EVENT_ID=40"),
]


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ('UPDATE "SDS" SET "NUM_BUCKETS" = 99999999999', "TBLS.TBL_ID=1"),
        ('ALTER TABLE "DBS" ALTER COLUMN "DESC" TYPE numeric USING 1', "DBS.DB_ID=1"),
        ('ALTER TABLE "NOTIFICATION_LOG" ALTER COLUMN "DB_NAME" TYPE numeric USING 1', "NOTIFICATION_LOG.EVENT_ID=40"),
    ],
)
def test_values_that_thrift_does_not_have_are_an_error_that_names_their_row(
    hive: HiveDatabase, database_url: str, change: str, row: str
) -> None:
    hive.execute(change)
    with pytest.raises(UnavailableError, match=f"{row}.* is not as Hive writes it"):
        copy(hive.url, database_url)


def test_a_follower_reports_values_that_thrift_does_not_have(hive: HiveDatabase, database_url: str) -> None:
    copy(hive.url, database_url)
    hive.execute('UPDATE "TBLS" SET "OWNER" = \'another\'')
    hive.execute('UPDATE "SDS" SET "NUM_BUCKETS" = 99999999999')
    with follower(hive.url, database_url) as one:
        with pytest.raises(UnavailableError, match=r"TBLS.TBL_ID=\d+ .* is not as Hive writes it"):
            one.catch_up(whole=True)
        one._round_due = 0.0  # a comparison of everything is due
        steps = (one.step() for _ in range(20))
        with pytest.raises(UnavailableError, match=r"TBLS.TBL_ID=\d+ .* is not as Hive writes it"):
            list(steps)


def test_a_row_that_hive_does_not_write_is_an_error_that_names_it(hive: HiveDatabase) -> None:
    def read(stage: Stage) -> list[Batch]:
        return list(source.read(stage, "", Selection()))

    for _, change, _ in BROKEN_ROWS:
        for table, column in re.findall(r'^"(\w+)" SET .*"(\w+)" = NULL', change):
            hive.execute(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" DROP NOT NULL')
        hive.execute(f"UPDATE {change}")
    with closing(open_source(hive.url)) as source:
        for stage, _, text in BROKEN_ROWS:
            if text is None:
                assert read(stage)
                continue
            with pytest.raises(UnavailableError, match=f"{text}.* is not as Hive writes it"):
                read(stage)
