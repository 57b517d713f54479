"""The audit log: changes and rejected calls, with their callers, in the order of the commits."""

from __future__ import annotations

import errno
import json
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from metastore.app.worker import Application, make_application
from metastore.cli.commands import metastore
from metastore.context import AuditNote, Caller, caller
from metastore.errors import MetastoreError, UnavailableError
from metastore.monitoring.audit_stream import AuditFile, audit_handlers
from metastore.settings import Settings
from metastore.storage.repositories.audit import AuditLine
from tests.fixtures.application import called
from tests.wire.authorization.granting import ROLE, USER, bag, everywhere, on_table
from tests.wire.builders import table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    Role,
)
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest, CareRecord


@pytest.fixture
def audited(database_url: str, tmp_path: Path) -> Iterator[Application]:
    settings = Settings(
        warehouse=str(tmp_path / "w"), database_url=database_url, authorization="grants", admins="root", audit="table"
    )
    application = make_application(settings, database_url)
    yield application
    application.close()


def call(application: Application, user: str, name: str, *arguments: Any, **more: Any) -> Any:
    token = caller.set(Caller("10.0.0.1:5", user, **more))
    try:
        return called(application, name, *arguments)
    finally:
        caller.reset(token)


def trail(application: Application) -> list[AuditLine]:
    if application._audit:
        application._audit.write_waiting()
    with application._store.read() as work:
        return work.audit.select(None, None, None, 1000)


def test_changes_and_rejected_calls_are_logged(audited: Application) -> None:
    call(audited, "root", "create_database", Database(name="sales", ownerName="alice"))
    call(audited, "alice", "create_table", table("sales", "orders", parameters={"a": "b", "fs.s3a.secret.key": "x"}))
    with pytest.raises(MetastoreError):
        call(audited, "bob", "drop_table", "sales", "orders", False)
    with pytest.raises(MetastoreError):
        call(audited, "bob", "get_table", "sales", "orders")
    assert len(trail(audited)) == 4
    call(audited, "alice", "get_table", "sales", "orders")
    with pytest.raises(MetastoreError):
        call(audited, "alice", "get_table", "sales", "missing")
    with pytest.raises(MetastoreError):
        call(audited, "alice", "create_table", table("sales", "orders"))
    call(audited, "alice", "grant_privileges", bag(on_table("sales", "orders"), "SELECT", "bob"))
    call(audited, "alice", "drop_table", "sales", "orders", False, real_user="trino")
    actual = [(line.user_name, line.for_user, line.method, line.objects, line.outcome) for line in trail(audited)]
    assert actual == [
        ("root", None, "create_database", ["@hive", "sales"], "done"),
        ("alice", None, "create_table", ["sales", "sales.orders"], "done"),
        ("bob", None, "drop_table", ["sales.orders"], "refused"),
        ("bob", None, "get_table", ["sales.orders"], "refused"),
        ("alice", None, "grant_privileges", ["sales.orders"], "done"),
        ("trino", "alice", "drop_table", ["sales.orders"], "done"),
    ]
    assert [line.number for line in trail(audited)] == [1, 2, 3, 4, 5, 6]
    made = trail(audited)[1]
    assert made.detail == {"a": "b", "fs.s3a.secret.key": "***"}
    assert made.address == "10.0.0.1:5"
    assert trail(audited)[2].detail == {"error": "sales.orders table not found"}
    assert trail(audited)[4].detail == {"rights": "SELECT on sales.orders: user bob"}


def test_what_table_care_did_is_logged(audited: Application) -> None:
    call(audited, "root", "create_database", Database(name="sales", ownerName="alice"))
    call(audited, "alice", "create_table", table("sales", "orders"))
    numbers = {"done": 12, "skipped": 1, "refused": 0, "failed": 0, "files": 240, "bytes": 999}
    record = CareRecord("sales", "orders", kind="compaction", **numbers, reason="dt=1 skipped: changed\nby another")
    call(audited, "alice", "record_care", record)
    line = trail(audited)[-1]
    assert (line.method, line.objects, line.user_name) == ("record_care", ["sales.orders"], "alice")
    assert line.detail == {
        "action": "compaction",
        "done": "12",
        "skipped": "1",
        "files": "240",
        "bytes": "999",
        "reason": "dt=1 skipped: changed\\x0aby another",
    }
    with audited._store.read() as work:
        assert work.audit.select("sales.orders", None, None, 10, "record_care") == [line]
    for wrong in ({"kind": "love"}, {"done": -1}):
        given = CareRecord("sales", "orders", **{"kind": "compaction", **numbers, **wrong})
        with pytest.raises(MetastoreError, match=r"The kind is 'love'|is negative"):
            call(audited, "alice", "record_care", given)


def test_who_ends_a_write_is_logged(audited: Application) -> None:
    call(audited, "root", "create_database", Database(name="sales", ownerName="alice"))
    call(audited, "alice", "create_table", table("sales", "orders"))
    call(audited, "alice", "grant_privileges", bag(on_table("sales", "orders"), "INSERT", "bob"))
    write = call(audited, "bob", "begin_write", BeginWriteRequest("sales", "orders")).queryId
    call(audited, "alice", "end_write", write)
    line = trail(audited)[-1]
    assert (line.user_name, line.method, line.objects, line.outcome) == (
        "alice",
        "end_write",
        [f"write {write}"],
        "done",
    )


def test_names_that_cannot_be_stored_do_not_prevent_a_line(
    audited: Application, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "metastore.audit")
    assert audited._audit
    audited._audit.login_failed("b\0b", "10.0.0.1:5", "Unsupported mechanism type A\0\udc80\u202e")
    audited._audit.login_failed("bob for=root", "10.0.0.1:5", "the password is wrong")
    long = "".join(map(chr, range(0x4E00, 0x5E00)))  # more than PostgreSQL indexes
    with pytest.raises(MetastoreError, match="Permission denied"):
        call(audited, "bob", "grant_role", long, "bob", USER, "bob", USER, False)
    refused, first, second = trail(audited)
    assert refused.objects == [f"role {long}"[:640]]
    assert (first.user_name, first.detail) == (r"b\x00b", {"error": r"Unsupported mechanism type A\x00\xdc80\x202e"})
    assert second.user_name == "bob for=root"
    audited._audit.tell()
    assert ' user="bob for=root" for=- ' in caplog.messages[-1]
    audited._audit.write(AuditNote("", "bob", None, "10.0.0.1:5", "drop", [f"d.t{number}" for number in range(1002)]))
    assert trail(audited)[-1].objects[-2:] == ["d.t999", "… (1002 objects)"]


def test_grants_are_logged_with_privileges_and_principals(audited: Application) -> None:
    call(audited, "root", "create_role", Role(roleName="analysts"))
    call(audited, "root", "grant_role", "analysts", "bob", USER, "root", USER, False)
    for change in (GrantRevokeType.GRANT, GrantRevokeType.REVOKE):
        asked = bag(everywhere(), "CREATE", "analysts", ROLE, option=True)
        call(audited, "root", "grant_revoke_privileges", GrantRevokePrivilegeRequest(change, asked, False))
    told = "CREATE on everything: role analysts with grant option"
    assert [line.detail for line in trail(audited)[1:]] == [
        {"rights": "role analysts: user bob"},
        {"rights": told, "change": "grant"},
        {"rights": told, "change": "revoke"},
    ]


def test_entries_are_in_the_order_of_the_commits(audited: Application) -> None:
    """The notification log has the same order."""
    call(audited, "root", "create_database", Database(name="many"))

    def make(number: int) -> None:
        for each in range(5):
            call(audited, "root", "create_table", table("many", f"t{number}_{each}"))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with audited._store.read() as work:
        from metastore.domain.events import EventFilter

        events = work.notifications.after(0, EventFilter(types=("CREATE_TABLE",)), None, 2**20)
    lines = [line.objects[-1] for line in trail(audited) if line.method == "create_table"]
    assert lines == [f"many.{event.tableName}" for event in events]
    assert len(lines) == 20


def test_the_log_has_each_entry_once_and_in_order(audited: Application, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "metastore.audit")
    for number in range(3):
        call(audited, "root", "create_database", Database(name=f"db{number}"))
    assert audited._audit
    audited._audit.tell()
    audited._audit.tell()
    lines = [record.getMessage() for record in caplog.records if record.name == "metastore.audit"]
    assert [line.split()[0] for line in lines] == ["number=1", "number=2", "number=3"]
    assert "user=root for=- address=10.0.0.1:5 method=create_database objects=@hive,db0 outcome=done" in lines[0]


def test_lines_wait_while_the_disk_is_full(audited: Application, tmp_path: Path) -> None:
    full, file = audit_handlers(f"file:/dev/full file:{tmp_path}/audit.json")
    assert audited._audit
    audited._audit._streams = [file, full]
    for number in range(2):
        call(audited, "root", "create_database", Database(name=f"db{number}"))
    for _ in range(2):
        with pytest.raises(UnavailableError, match="No space left"):
            audited._audit.tell()
    audited._audit._streams = [file]
    audited._audit.tell()
    written = [json.loads(line)["number"] for line in (tmp_path / "audit.json").read_text().splitlines()]
    assert written == [1, 2]


def test_lines_stay_when_the_file_cannot_be_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (stream,) = audit_handlers(f"file:{tmp_path}/audit.json")
    record = logging.makeLogRecord({"name": "metastore.audit", "msg": "a line"})
    stream.handle(record)
    before = (tmp_path / "audit.json").read_text()
    monkeypatch.setattr(AuditFile, "_open", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
    with pytest.raises(OSError, match="Too many open files"):
        stream.handle(record)
    assert (tmp_path / "audit.json").read_text() == before != ""


def test_a_line_with_the_number_of_one_that_a_restore_has_removed_is_sent(audited: Application, tmp_path: Path) -> None:
    assert audited._audit
    audited._audit._streams = audit_handlers(f"file:{tmp_path}/audit.json")
    call(audited, "root", "create_database", Database(name="before"))
    (line,) = trail(audited)
    audited._audit._log([line])
    audited._audit._log([line._replace(method="drop_database")])
    assert len((tmp_path / "audit.json").read_text().splitlines()) == 2


def test_audit_entries_can_go_to_the_log_only(
    make_database: Callable[[], str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "metastore.audit")
    url = make_database()
    settings = Settings(warehouse=str(tmp_path / "w"), database_url=url, audit="log")
    application = make_application(settings, url)
    try:
        call(application, "anybody", "create_database", Database(name="d"))
        assert application._audit
        application._audit.tell()
        assert trail(application) == []
    finally:
        application.close()
    assert any("method=create_database objects=@hive,d" in record.getMessage() for record in caplog.records)


def test_the_command_lists_the_entries_of_a_table(
    audited: Application, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(audited, "root", "create_database", Database(name="sales", ownerName="alice"))
    for name in ("orders", "other"):
        call(audited, "alice", "create_table", table("sales", name))
    monkeypatch.setenv("METASTORE_DATABASE_URL", database_url)

    def shown(*arguments: str) -> list[list[str]]:
        result = CliRunner().invoke(metastore, ["audit", *arguments])
        assert result.exit_code == 0, result.output
        return [line.split("\t") for line in result.stdout.splitlines()]

    assert [row[5:7] for row in shown("sales.orders")] == [["create_table", "sales, sales.orders"]]
    assert len(shown("sales")) == 3
    assert len(shown()) == 3
    assert shown("sales", "--user", "bob") == []
    assert len(shown("--since", "2020-01-01")) == 3
    assert shown("--since", "2999-01-01") == []
    assert "is not a valid time" in str(CliRunner().invoke(metastore, ["audit", "--since", "x"]).exception)


def test_auditing_is_off_by_default(application: Application) -> None:
    call(application, "x", "create_database", Database(name=unique("d")))
    assert trail(application) == []
