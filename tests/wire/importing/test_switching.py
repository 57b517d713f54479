"""The switch: files belong to this server afterwards, and only if the source has not changed since the copy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from metastore.cli.commands import metastore
from metastore.domain.names import DatabaseName
from metastore.errors import ConflictError, InvalidOperationError, NotFoundError, UnavailableError
from metastore.importing import takeover
from metastore.importing.copier import Copier, Request
from metastore.importing.follower.replay import drop_database
from metastore.importing.sources.opening import open_source
from metastore.importing.takeover import Fence, switch
from metastore.services.files.ownership import borrowed
from metastore.storage.importing.imports import BORROWED, SWITCHED
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import table
from tests.wire.importing.moving import copy, opened
from tests.wire.importing.test_interruptions import KilledError, Killer
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    CommitTxnRequest,
    Database,
    GetValidWriteIdsRequest,
    NotificationEventRequest,
    OpenTxnRequest,
)

SALES, DEFAULT, WEB = (DatabaseName("hive", name) for name in ("sales", "default", "web"))


@pytest.fixture
def imported(hive: HiveDatabase, database_url: str) -> str:
    """The database of a server that has imported everything."""
    copy(hive.url, database_url)
    return database_url


def states(url: str) -> dict[DatabaseName, str]:
    with opened(url) as store, store.read() as work:
        return work.imports.databases()


def kept(url: str, *locations: str) -> set[str]:
    """Returns the locations that belong to the source."""
    with opened(url) as store, store.read() as work:
        return borrowed(work, locations)


def switched(url: str, source: str, *names: DatabaseName, force: bool = False) -> list[DatabaseName]:
    with opened(url) as store:
        return list(switch(store, source, names, force=force).databases)


def test_all_databases_are_switched_at_once_and_the_source_is_unchanged(
    hive: HiveDatabase, imported: str, tmp_path: Path
) -> None:
    before = hive.content()
    plain, far = f"file:{tmp_path}/theirs/sales.db/plain", "wasbs://c@account/far"
    assert kept(imported, plain, far) == {plain, far}
    assert switched(imported, hive.url) == [DEFAULT, SALES]
    assert kept(imported, plain, far) == set()
    assert states(imported) == {DEFAULT: SWITCHED, SALES: SWITCHED}
    with opened(imported) as store:
        again = switch(store, hive.url)
    assert (again.databases, again.before) == ([], [DEFAULT, SALES])
    assert hive.content() == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (['UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = 44'], r"is at event 43, and the copy is of event 42"),
        (
            [
                'UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = 42',
                'DELETE FROM "NOTIFICATION_LOG" WHERE "EVENT_ID" = 42',
            ],
            r"is at event 41, and the copy is of event 42",
        ),
        (["INSERT INTO txns VALUES (99, 'o', 'u', 'h')"], r"transactions are open at the source \(99\)"),
        (['DELETE FROM "NOTIFICATION_SEQUENCE"', 'DELETE FROM "NOTIFICATION_LOG"'], "has no notification log"),
    ],
    ids=["later", "earlier", "transaction", "no log"],
)
def test_a_source_that_differs_keeps_its_files(hive: HiveDatabase, imported: str, change: list[str], text: str) -> None:
    for statement in change:
        hive.execute(statement)
    with pytest.raises(InvalidOperationError, match=text) as raised:
        switched(imported, hive.url)
    assert "\n" not in str(raised.value)
    assert set(states(imported).values()) == {BORROWED}
    assert switched(imported, hive.url, SALES, force=True) == [SALES]
    assert states(imported) == {DEFAULT: BORROWED, SALES: SWITCHED}


def test_an_import_without_a_log_needs_force(hive: HiveDatabase, database_url: str) -> None:
    rows = ['DELETE FROM "NOTIFICATION_SEQUENCE"', 'DELETE FROM "NOTIFICATION_LOG"']
    for statement in rows:
        hive.execute(statement)
    copy(hive.url, database_url)
    hive.insert("NOTIFICATION_SEQUENCE", NNI_ID=1, NEXT_EVENT_ID=2)  # turned on after the copy
    with pytest.raises(InvalidOperationError, match="had, when the copy began, no notification log"):
        switched(database_url, hive.url)


def test_an_unfinished_import_is_never_switched(hive: HiveDatabase, database_url: str) -> None:
    with pytest.raises(KilledError):
        copy(hive.url, database_url, on_batch=Killer(3))
    with pytest.raises(InvalidOperationError, match="is unfinished"):
        switched(database_url, hive.url, force=True)
    copy(hive.url, database_url)
    assert switched(database_url, hive.url) == [DEFAULT, SALES]


def test_names_that_the_import_does_not_have(hive: HiveDatabase, imported: str) -> None:
    with pytest.raises(NotFoundError, match=r"no import from thrift://other:1\. Imports: \S+ from postgresql"):
        switched(imported, "thrift://other:1")
    with pytest.raises(NotFoundError, match=r"no database web\. Nothing was switched\. Databases: default, sales"):
        switched(imported, hive.url, SALES, WEB)
    assert set(states(imported).values()) == {BORROWED}


def test_no_switch_while_an_import_runs(hive: HiveDatabase, database_url: str) -> None:
    def second(kind: str, stored: int) -> None:
        with pytest.raises(ConflictError, match="Another metastore import runs"):
            switched(database_url, hive.url, force=True)

    source = open_source(hive.url)
    with opened(database_url) as store:
        Copier(source, store, Request(), second).run()
    source.close()


def test_a_later_run_leaves_switched_databases_alone(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    """Also if the source has changed them, and if this server has recorded events of its own."""
    copy(hive.url, database_url, "sales")
    assert switched(database_url, hive.url) == [SALES]
    with running(database_url, tmp_path) as server, connected(server) as client:
        client.create_table(table("sales", "ours"))
        client.drop_table("sales", "v", False)
        last = client.get_current_notificationEventId().eventId
        assert last > 42
        hive.execute('UPDATE "TBLS" SET "OWNER" = \'other\' WHERE "TBL_NAME" = \'plain\'')
        for number in range(43, 60):
            hive.insert("NOTIFICATION_LOG", NL_ID=number, EVENT_ID=number, EVENT_TIME=9, EVENT_TYPE="X", MESSAGE="{}")
        with pytest.raises(InvalidOperationError, match="has owned sales since the switch"):
            copy(hive.url, database_url, "sales", "default")
        state = copy(hive.url, database_url)
        copy(hive.url, database_url)
        assert client.get_table("sales", "plain").owner == "me"
        assert client.get_table("sales", "ours").tableName == "ours"
        assert "v" not in client.get_all_tables("sales")
        client.create_table(table("sales", "later"))
        events = client.get_next_notification(NotificationEventRequest(42, 100)).events
        assert {"CREATE_TABLE", "DROP_TABLE"} == {event.eventType for event in events}  # none of the source's
        assert events[-1].eventId > last
    assert states(database_url) == {SALES: SWITCHED, DEFAULT: BORROWED}
    plain = f"file:{tmp_path}/theirs/sales.db/plain"
    assert kept(database_url, plain, f"file:{tmp_path}/theirs/elsewhere") == {f"file:{tmp_path}/theirs/elsewhere"}
    with opened(database_url) as store, store.read() as work:
        actual = [one.object for one in work.imports.findings(state.id) if one.kind == "switched database"]
    assert actual == ["sales"]


def test_transactions_of_a_later_run_are_not_those_of_this_server(
    hive: HiveDatabase, database_url: str, tmp_path: Path
) -> None:
    """Both have given out the id 101 since the first run. The one of the source is aborted, and stays so."""
    copy(hive.url, database_url, "sales")
    hive.table(2, "acid", None)
    hive.execute("UPDATE next_txn_id SET ntxn_next = 102")
    hive.execute("INSERT INTO txns VALUES (101, 'a', 'u', 'h')")
    hive.execute("INSERT INTO next_write_id VALUES ('default', 'acid', 4)")
    hive.execute("INSERT INTO txn_to_write_id VALUES (101, 'default', 'acid', 2)")
    with running(database_url, tmp_path) as server, connected(server) as client:
        assert client.open_txns(OpenTxnRequest(1, "u", "h")).txn_ids == [101]
        copy(hive.url, database_url)
        client.commit_txn(CommitTxnRequest(101))
        (ids,) = client.get_valid_write_ids(GetValidWriteIdsRequest(["default.acid"])).tblValidWriteIds
        assert (ids.writeIdHighWaterMark, ids.invalidWriteIds) == (3, [2])


@pytest.fixture
def servers(database_url: str, make_database: Callable[[], str], tmp_path: Path) -> Iterator[tuple[Server, str]]:
    """A server of ours as the source, and the database of a server that imported from it through Thrift."""
    (folder := tmp_path / "first").mkdir()
    with running(make_database(), folder) as first:
        with connected(first) as client:
            client.create_database(Database(name="web"))
            client.create_table(table("web", "t"))
        copy(first.uri, database_url, "web")
        yield first, database_url


def run(url: str, *arguments: str) -> Result:
    options = ("--database-url", url)
    return CliRunner().invoke(metastore, ["import", *arguments, *options], catch_exceptions=True)


def test_the_command_through_thrift(servers: tuple[Server, str], tmp_path: Path) -> None:
    first, url = servers
    with connected(first) as client:
        opened_id = client.open_txns(OpenTxnRequest(1, "u", "h")).txn_ids[0]
        failed = run(url, "switch", first.uri)
        assert "this server changes no files at file:/" in str(failed.exception)
        assert "to METASTORE_ALLOWED_LOCATIONS, here and on all servers, or repeat" in str(failed.exception)
        failed = run(url, "switch", first.uri, "--allowed-locations", "/")
        assert f"transactions are open at the source ({opened_id})" in str(failed.exception)
        client.abort_txn(AbortTxnRequest(opened_id))
        folder = Path(client.get_table("web", "t").sd.location.removeprefix("file:"))
    done = run(url, "switch", first.uri, "--database", "WEB", "--force", "--warehouse", f"file:{tmp_path}/own")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == ["hive.web\tswitched", f"file:{folder.parent}\toutside of the roots"]
    assert "Next: move the clients, stop the old server" in done.stderr
    again = run(url, "switch", first.uri, "--allowed-locations", f"{tmp_path}/first")
    assert again.stdout == "hive.web\twas switched before\n"
    assert "nothing to do" in again.stderr
    assert "hive.web\tswitched\n" in run(url, "status").stdout
    with running(url, tmp_path, "--drop-retention", "0") as second, connected(second) as client:
        assert folder.is_dir()
        client.drop_table("web", "t", True)
        assert not folder.exists()


def test_a_source_that_is_gone_needs_force(servers: tuple[Server, str]) -> None:
    first, url = servers
    first.process.terminate()
    first.process.wait(60)
    with pytest.raises(UnavailableError, match="no metastore answers"):
        switched(url, first.uri)
    assert switched(url, first.uri, force=True) == [WEB]


def test_databases_that_were_dropped_here_stay_with_the_source(
    hive: HiveDatabase, imported: str, tmp_path: Path
) -> None:
    with opened(imported) as store, store.transaction() as work:
        drop_database(work, SALES)
    with pytest.raises(NotFoundError, match="sales no longer exists on this server"):
        switched(imported, hive.url, SALES)
    with opened(imported) as store:
        done = switch(store, hive.url)
    assert (done.databases, done.dropped) == ([DEFAULT], [SALES])
    plain = f"file:{tmp_path}/theirs/sales.db/plain"
    assert kept(imported, plain) == {plain}


def test_a_directory_of_a_database_that_is_not_switched(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    """A managed table of `sales` is in the directory of `default`, which the source keeps."""
    loose = f"file:{tmp_path}/theirs/loose"
    hive.table(1, "loose", loose)
    copy(hive.url, database_url)
    done = run(database_url, "switch", hive.url, "--database", "sales", "--allowed-locations", str(tmp_path))
    assert done.stdout.splitlines() == ["hive.sales\tswitched", f"{loose}\tstill belongs to the source"]
    assert switched(database_url, hive.url) == [DEFAULT]
    assert kept(database_url, loose) == set()


def test_forgetting_an_import_does_not_change_ownership_silently(hive: HiveDatabase, imported: str) -> None:
    assert switched(imported, hive.url, DEFAULT) == [DEFAULT]
    refused = run(imported, "forget", hive.url)
    assert "The databases sales of this import still exist" in str(refused.exception)
    assert switched(imported, hive.url) == [SALES]
    assert "This server no longer protects files of the source" in run(imported, "forget", hive.url).output
    assert set(states(imported).values()) == {SWITCHED}


def test_a_source_that_changed_is_copied_again(hive: HiveDatabase, imported: str, tmp_path: Path) -> None:
    """As the error says. It can also be forgotten and repeated. `default` cannot be dropped."""
    hive.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = 50')
    hive.execute('UPDATE "TBLS" SET "OWNER" = \'other\' WHERE "TBL_NAME" = \'plain\'')
    with pytest.raises(InvalidOperationError, match="run metastore import run again, which applies"):
        switched(imported, hive.url)
    with running(imported, tmp_path) as server, connected(server) as client:
        assert "dropped here" in run(imported, "forget", hive.url, "--drop-databases").output
        assert client.get_all_databases() == ["default"]
        copy(hive.url, imported)
        assert client.get_table("sales", "plain").owner == "other"
    assert switched(imported, hive.url) == [DEFAULT, SALES]


def test_a_copy_is_refreshed(hive: HiveDatabase, imported: str) -> None:
    """Nothing tells that the owner has changed but a comparison."""
    hive.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = 50')
    hive.execute('UPDATE "TBLS" SET "OWNER" = \'other\' WHERE "TBL_NAME" = \'plain\'')
    done = run(imported, "run", hive.url)
    assert done.exit_code == 0, done.output
    with opened(imported) as store, store.read() as work:
        plain = work.tables.find(SALES.table("plain"))
        assert plain is not None
        assert plain.encoded.decode().owner == "other"
    assert switched(imported, hive.url) == [DEFAULT, SALES]


def test_a_forgotten_import_remembers_switched_databases(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    """A later run of other databases does not borrow the directories of those again."""
    copy(hive.url, database_url, "sales")
    assert switched(database_url, hive.url) == [SALES]
    assert run(database_url, "forget", hive.url).exit_code == 0
    copy(hive.url, database_url, "default")
    plain, elsewhere = f"file:{tmp_path}/theirs/sales.db/plain", f"file:{tmp_path}/theirs/elsewhere"
    assert kept(database_url, plain, elsewhere) == {elsewhere}
    assert states(database_url) == {SALES: SWITCHED, DEFAULT: BORROWED}


def test_another_address_of_the_source_does_not_borrow_switched_databases(
    hive: HiveDatabase, database_url: str, tmp_path: Path
) -> None:
    copy(hive.url, database_url, "sales")
    assert switched(database_url, hive.url) == [SALES]
    other = f"{hive.url}{'&' if '?' in hive.url else '?'}connect_timeout=9"
    copy(other, database_url, "default", name="other")
    assert kept(database_url, f"file:{tmp_path}/theirs/sales.db/plain") == set()


def test_a_signal_undoes_the_fence(hive: HiveDatabase, imported: str, tmp_path: Path) -> None:
    undone = tmp_path / "undone"
    fence = ["--fence", "kill -TERM $PPID; exec sleep 60", "--unfence", f"touch {undone}"]
    command = [
        sys.executable,
        "-m",
        "metastore.cli",
        "import",
        "switch",
        hive.url,
        "--database-url",
        imported,
        *fence,
        "--force",
    ]
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode != 0
    assert undone.exists()
    assert set(states(imported).values()) == {BORROWED}


def test_the_fence_stays_if_the_databases_are_switched(
    hive: HiveDatabase, imported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal, or a lost reply, can come after the commit. Two servers must not accept changes."""

    def interrupted(*arguments: Any) -> None:
        take_over(*arguments)
        raise KeyboardInterrupt

    class Reopened(Fence):
        def open(self) -> None:
            raise AssertionError

    take_over = takeover._take_over
    monkeypatch.setattr(takeover, "_take_over", interrupted)
    with opened(imported) as store, pytest.raises(KeyboardInterrupt):
        switch(store, hive.url, fence=Reopened())
    assert states(imported) == {DEFAULT: SWITCHED, SALES: SWITCHED}
