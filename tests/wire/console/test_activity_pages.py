"""Changes, locks, writes, calls, dependencies, skew, buckets and health: what pages show, and what they hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metastore.domain.skew_survey import SURVEY, HeavyColumns, Survey, encoded
from tests.wire.authorization.granting import grant, on_table, revoke
from tests.wire.builders import columns, descriptor, partition, skewed, table, unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from tests.wire.writing import begin, day, publish
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    FieldSchema,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
)
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest, CreateDependentTableRequest


def make_tables(client: Any, owner: str = "me") -> str:
    """Creates a base with two partitions, a dependent table, and a dropped table. Returns the database."""
    database = unique("secret")
    client.create_database(Database(database, ownerName=owner))
    client.create_table(table(database, "base", [("dt", "string"), ("hour", "int")], owner=owner))
    client.create_table(table(database, "plain", [("ds", "string")], owner=owner))
    client.add_partitions([partition(database, "base", [f"2026-01-0{day}", "1"]) for day in (1, 2)])
    keys = [FieldSchema("dt", "string", None)]
    client.create_dependent_table(
        CreateDependentTableRequest(
            dbName=database, tableName="dependent", baseDbName=database, baseTableName="base", partitionKeys=keys
        )
    )
    client.add_partitions([partition(database, "dependent", [f"2026-01-0{day}"]) for day in (1, 2, 3)])
    changed = client.get_partition(database, "base", ["2026-01-02", "1"])
    changed.parameters["numRows"] = "9"
    client.alter_partition(database, "base", changed)
    altered = client.get_table(database, "base")
    altered.sd.cols = columns(("a", "bigint"), ("x", "string"))
    altered.parameters["token.secret"] = "hunter2"
    client.alter_table(database, "base", altered)
    client.create_table(table(database, "gone", owner=owner))
    client.drop_table(database, "gone", False)
    return database


def lock(client: Any, kind: int, database: str, user: str) -> Any:
    component = LockComponent(type=kind, level=LockLevel.TABLE, dbname=database, tablename="base", operationType=5)
    return client.lock(LockRequest([component], user=user, hostname="somewhere", agentInfo="agent"))


def test_the_history_names_the_user_of_a_column_change(console: Console) -> None:
    with console.client() as client:
        client.set_ugi("carla", [])
        database = make_tables(client)
    visitor = console.visitor()
    events = visitor.json(f"/tables/hive/{database}/base/history")["events"]
    altered = next(event for event in events if event["event"] == "ALTER_TABLE" and event["changes"])
    assert altered["user"] == "carla"
    assert "column a: int -> bigint" in altered["changes"]
    added = next(event for event in events if event["event"] == "ADD_PARTITION")
    assert added["changes"] == ["dt=2026-01-01/hour=1, dt=2026-01-02/hour=1"]
    assert "hunter2" not in visitor.get(f"/tables/hive/{database}/base/history").text
    older = visitor.json(f"/tables/hive/{database}/base/history?before={altered['id']}")["events"]
    assert older[0]["id"] < altered["id"]


def test_changes_show_drops_that_can_be_undone(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
    shown = console.visitor().json("/changes")
    drop = next(drop for drop in shown["drops"] if drop["database"] == database)
    assert (drop["kind"], drop["command"]) == ("table", f"metastore undrop {database}.gone --number {drop['id']}")
    assert shown["events"][0]["event"] == "DROP_TABLE"
    with console.client() as client:
        client.drop_partition(database, "base", ["2026-01-01", "1"], True)
    dropped = console.visitor().json("/changes")["drops"][0]
    assert (dropped["kind"], dropped["names"]) == ("partitions", "dt=2026-01-01/hour=1")
    assert console.visitor().get("/changes?before=x").status == 400


@pytest.mark.parametrize("visitor", [ADMIN, LOW])
def test_changes_name_a_table_as_its_creator_did(guarded: Console, visitor: str) -> None:
    """A CREATE TABLE AS SELECT fills a table with a temporary name."""
    with guarded.client(ADMIN) as client:
        database = unique("made")
        client.create_database(Database(database, ownerName=LOW))
        client.create_table(table(database, "t__as_select_0123abcd"))
        made = client.get_table(database, "t__as_select_0123abcd")
        made.tableName = "t"
        client.alter_table(database, "t__as_select_0123abcd", made)
    events = guarded.visitor(visitor).json("/changes")["events"]
    assert [(e["event"], e["table"]) for e in events if e["database"] == database] == [
        ("CREATE_TABLE", "t"),
        ("CREATE_DATABASE", None),
    ]


def test_locks_show_waiting_and_blocking_clients(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
        holding = lock(client, LockType.EXCLUSIVE, database, "anna").lockid
        waiting = lock(client, LockType.SHARED_READ, database, "ben").lockid
        client.begin_write(BeginWriteRequest(dbName=database, tableName="base"))
        client.open_txns(OpenTxnRequest(num_txns=1, user="carla", hostname="h"))
        visitor = console.visitor()
        shown, page = visitor.json("/locks"), visitor.get("/locks").text
        now, present = visitor.json("/now"), visitor.get("/now").text
    actual = {each["id"]: each for each in shown["locks"]}
    assert (actual[holding]["waiting"], actual[waiting]["waiting"], actual[waiting]["blocked_by"]) == (
        False,
        True,
        holding,
    )
    assert {"anna", "ben"} <= {each["user"] for each in shown["locks"]}
    assert "carla" in {each["user"] for each in shown["transactions"]}
    assert [each["state"] for each in shown["writes"] if each["database"] == database] == ["in flight"]
    assert f"lock {waiting}: ben" in page
    assert {holding, waiting} <= {each["id"] for each in now["locks"]}
    assert f"lock {waiting}: ben" in present


def test_ended_writes_are_listed_with_their_outcome(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
        root = client.get_table(database, "plain").sd.location
        published, discarded = (begin(client, (database, "plain")) for _ in range(2))
        publish(client, (database, "plain"), published, day(root, "2026-01-01"))
        client.end_write(discarded)
        shown, page = console.visitor().json("/locks"), console.visitor().get("/locks").text
    outcomes = {each["query_id"]: each["outcome"] for each in shown["ended"] if each["database"] == database}
    assert outcomes == {published: "published", discarded: "discarded"}
    assert "Writes that have ended" in page
    assert published in page


def test_refreshes_of_a_live_page_are_shared_and_need_no_body(console: Console) -> None:
    visitor = console.visitor()
    visitor.get("/changes.json")
    with console.client() as client:
        name = unique("fresh")
        client.create_database(Database(name))
    assert name in visitor.get("/changes.json").text, "a visit reads anew"
    while True:  # a background event may come between; the time limit of pytest ends a failure
        tag = visitor.get("/changes.json").headers["etag"]
        refreshed = visitor.get("/changes.json", **{"Cache-Control": "max-age=4", "If-None-Match": tag})
        if refreshed.status == 304:
            break
    assert refreshed.text == ""
    assert visitor.get("/changes.json", **{"If-None-Match": '"another"'}).status == 200


def test_pages_link_only_to_tables_that_exist(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
    page = console.visitor().get("/changes").text
    assert f'href="/tables/hive/{database}/base"' in page
    assert f'href="/tables/hive/{database}/gone"' not in page
    assert f"{database}.</span>gone" in page


def test_dependencies_show_dependents_and_stale_partitions(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
    visitor = console.visitor()
    shown = visitor.json(f"/tables/hive/{database}/base/dependencies")
    assert shown["dependents"] == [f"{database}.dependent"]
    assert shown["states"] == {f"{database}.dependent": {"fresh": 1, "stale": 1, "incomplete": 1}}
    not_fresh = {each["partition"]: each["state"] for each in shown["not_fresh"]}
    assert not_fresh == {"dt=2026-01-02": "stale", "dt=2026-01-03": "incomplete"}
    assert visitor.json(f"/tables/hive/{database}/dependent/dependencies")["states"] == shown["states"]
    assert "A drop would break 1 table" in visitor.get(f"/tables/hive/{database}/base/dependencies").text


def test_skew_and_buckets_are_counted_from_files(console: Console) -> None:
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database))
        sd = descriptor(skewedInfo=skewed(["x"], [["big"], ["<b>"]]), storedAsSubDirectories=True)
        client.create_table(table(database, "skew", [("day", "int")], sd=sd))
        client.create_table(table(database, "buckets", sd=descriptor(numBuckets=4, bucketCols=["a"])))
        home = Path(client.get_table(database, "skew").sd.location.removeprefix("file:")) / "day=1"
        for name, size in (("x=big", 300), ("HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME", 100)):
            (home / name).mkdir(parents=True)
            (home / name / "part-0").write_bytes(b"x" * size)
        stored = partition(database, "skew", ["1"], sd=descriptor(f"file:{home}", skewedInfo=sd.skewedInfo))
        stored.sd.skewedInfo.skewedColValueLocationMaps = {("big",): f"file:{home}/x=big"}
        client.add_partition(stored)
        files = Path(client.get_table(database, "buckets").sd.location.removeprefix("file:"))
        for name in ("000000_0", "000001_0", "000001_0_copy_1", "readme"):
            (files / name).write_bytes(b"x" * 10)
    visitor = console.visitor()
    (shown,) = visitor.json(f"/tables/hive/{database}/skew/skew")["skew"]
    assert (shown["bytes"], shown["rest"], shown["values"]) == (
        400,
        100,
        [{"value": ["big"], "bytes": 300, "files": 1}],
    )
    assert shown["without_directory"] == [["<b>"]]
    page = visitor.json(f"/tables/hive/{database}/skew/skew")
    assert [(*each["value"], each["share"], each["verdict"]) for each in page["shares"]] == [
        ("big", 0.75, "deserved"),
        ("<b>", 0.0, "unused"),
    ]
    assert (page["rest_share"], page["may_deserve"], page["survey"]) == (0.25, 25, None)
    (counted,) = visitor.json(f"/tables/hive/{database}/buckets/skew")["bucket_files"]
    assert (counted["files"], counted["missing"], counted["doubled"]) == ([1, 2, 0, 0], [2, 3], [1])
    assert counted["without_number"] == 1
    for name in ("skew", "buckets"):
        assert visitor.get(f"/tables/hive/{database}/{name}/skew").status == 200


def test_a_recorded_survey_names_values_that_deserve_a_directory(console: Console) -> None:
    database = unique("db")
    survey = Survey(1_700_000_000, 100, 0.01, (HeavyColumns(("x",), ((("big",), 0.5), (("it's",), 0.25))),))
    with console.client() as client:
        client.create_database(Database(database))
        for name, text in (("surveyed", encoded(survey)), ("rubbish", '{"found": [[1]]}'), ("hostile", "[" * 5000)):
            client.create_table(table(database, name, [("day", "int")], parameters={SURVEY: text}))
    visitor = console.visitor()
    (found,) = visitor.json(f"/tables/hive/{database}/surveyed/skew")["survey"]["found"]
    assert [each["has_directory"] for each in found["values"]] == [False, False]
    assert found["statement"].endswith(r"surveyed SKEWED BY (x) ON ('big', 'it\'s') STORED AS DIRECTORIES;")
    assert "deserves one" in visitor.get(f"/tables/hive/{database}/surveyed/skew").text
    for name in ("rubbish", "hostile"):
        assert visitor.json(f"/tables/hive/{database}/{name}/skew")["survey"] is None
    assert SURVEY not in visitor.json(f"/tables/hive/{database}/surveyed")["ddl"]["Hive"]


def test_the_present_and_the_health_of_the_server(console: Console) -> None:
    with console.client() as client:
        for _ in range(5):
            client.get_all_databases()
    visitor = console.visitor()
    while True:  # a worker publishes its counters ten times a second; the time limit of pytest ends a failure
        methods = {each["method"]: each for each in visitor.json("/now")["methods"]}
        if methods.get("get_all_databases", {"calls": 0})["calls"] >= 5:
            break
    assert methods["get_all_databases"]["p50"] <= methods["get_all_databases"]["p99"]
    health = visitor.json("/health")
    assert [server["workers"] for server in health["servers"]] == [1]
    assert health["revision"] == health["servers"][0]["revision"]
    assert visitor.get("/now").status == visitor.get("/health").status == 200


@pytest.fixture(scope="module")
def hidden(guarded: Console) -> str:
    """A database of the administrator with locks, writes, drops, dependents and events."""
    with guarded.client(ADMIN) as client:
        database = make_tables(client, owner=ADMIN)
        lock(client, LockType.EXCLUSIVE, database, ADMIN)
        lock(client, LockType.SHARED_READ, database, ADMIN)
        client.begin_write(BeginWriteRequest(dbName=database, tableName="base"))
        write = begin(client, (database, "plain"))
        publish(client, (database, "plain"), write, day(client.get_table(database, "plain").sd.location, "2026-01-01"))
    return database


@pytest.mark.parametrize(
    "path", ["/", "/?q=base", "/changes", "/locks", "/now", "/growth", "/health", "/growth?by=files"]
)
def test_no_page_names_hidden_objects(guarded: Console, hidden: str, path: str) -> None:
    low, admin = guarded.visitor(LOW), guarded.visitor(ADMIN)
    for twin in ("", "&format=json" if "?" in path else "?format=json"):
        reply = low.get(path + twin)
        assert reply.status == (403 if path == "/health" else 200)
        assert hidden not in reply.text
        assert admin.get(path + twin).status == 200
    if path in ("/", "/?q=base", "/changes", "/locks", "/now"):
        assert hidden in admin.get(path).text, "the test would not notice a leak"


@pytest.mark.parametrize("page", ["/history", "/dependencies", "/skew", "/scans"])
def test_pages_of_hidden_tables_are_missing(guarded: Console, hidden: str, page: str) -> None:
    visitor = guarded.visitor(LOW)
    reply = visitor.get(f"/tables/hive/{hidden}/base{page}?format=json")
    assert (reply.status, reply.data) == (404, {"error": f"{hidden}.base table not found"})
    assert guarded.visitor(ADMIN).get(f"/tables/hive/{hidden}/base{page}").status == 200


def test_a_shared_refresh_ends_with_the_privilege(guarded: Console) -> None:
    with guarded.client(ADMIN) as client:
        database = make_tables(client, owner=ADMIN)
        selected = on_table(database, "base"), "SELECT", LOW
        grant(client, *selected)
        refresh = {"Cache-Control": "max-age=4", "Accept": "application/json"}
        visitor = guarded.visitor(LOW)
        assert database in visitor.get("/changes", **refresh).text
        revoke(client, *selected)
        assert database not in visitor.get("/changes", **refresh).text


def test_a_reader_without_select_sees_declarations_and_no_sizes(guarded: Console) -> None:
    with guarded.client(ADMIN) as client:
        database = make_tables(client, owner=ADMIN)
        sd = descriptor(skewedInfo=skewed(["x"], [["big"]]), storedAsSubDirectories=True)
        client.create_table(table(database, "heavy", [("day", "int")], sd=sd, owner=ADMIN))
        sd = descriptor(numBuckets=4, bucketCols=["a"])
        client.create_table(table(database, "buckets", sd=sd, owner=ADMIN))
        for name in ("heavy", "buckets", "base"):
            grant(client, on_table(database, name), "ALTER", LOW)
    visitor = guarded.visitor(LOW)
    shown = visitor.json(f"/tables/hive/{database}/heavy/skew")
    assert (shown["may_read"], shown["skewed_values"]) == (False, [["big"]])
    assert "4 buckets by a" in visitor.get(f"/tables/hive/{database}/buckets/skew").text
    assert (shown["skew"], shown["shares"], shown["bucket_files"], shown["survey"]) == ([], [], [], None)
    assert "with SELECT on the table" in visitor.get(f"/tables/hive/{database}/heavy/skew").text
    assert visitor.json(f"/tables/hive/{database}/base")["dependents"] == 0, "a hidden table is counted"
    assert guarded.visitor(ADMIN).json(f"/tables/hive/{database}/base")["dependents"] == 1


def test_a_hidden_dependent_or_base_has_no_name(guarded: Console) -> None:
    with guarded.client(ADMIN) as client:
        database, other = make_tables(client, owner=ADMIN), unique("open")
        client.create_database(Database(other, ownerName=LOW))
        keys = [FieldSchema("dt", "string", None)]
        client.create_dependent_table(
            CreateDependentTableRequest(
                dbName=other, tableName="visible", baseDbName=database, baseTableName="base", partitionKeys=keys
            )
        )
    page = guarded.visitor(LOW).get(f"/tables/hive/{other}/visible/dependencies")
    assert page.status == 200
    assert database not in page.text
    assert "HIDDEN" in page.text


def test_dependencies_show_views(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
        for name, text in (("reading", f"SELECT * FROM {database}.plain"), ("broken", "SELECT plain FROM (")):
            view = table(database, name, tableType="VIRTUAL_VIEW", viewExpandedText=text, viewOriginalText=text)
            view.sd.location = None
            client.create_table(view)
    visitor = console.visitor()
    shown = visitor.json(f"/tables/hive/{database}/plain/dependencies")
    assert (shown["views"], shown["unknown_views"]) == ([f"{database}.reading"], [f"{database}.broken"])
    assert [(edge["base"], edge["dependent"]) for edge in shown["edges"]] == [
        (f"{database}.plain", f"{database}.reading")
    ]
    page = visitor.get(f"/tables/hive/{database}/plain/dependencies").text
    assert "A drop would break 1 view:" in page
    assert "It can be dropped" not in page
    assert visitor.json(f"/tables/hive/{database}/plain")["dependents"] == 1
