"""`metastore protect`, `unprotect` and `history`."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from metastore.cli import protect
from metastore.cli.client import connected
from metastore.cli.commands import run
from metastore.client import MetastoreClient
from tests.fixtures.server import Server
from tests.wire.builders import columns, new_table, partition, table
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NotificationEventRequest, PrincipalType

Capture = pytest.CaptureFixture[str]
KEYS = [("ds", "string")]


def test_protected_objects_are_not_dropped(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partition(partition(database, name, ["1"]))
    hive_client.create_table(table(database, "other", KEYS))
    full = f"{database}.{name}"
    assert run(["protect", full, "--uri", metastore_server.uri]) == 0
    for drop in (
        lambda: hive_client.drop_table(database, name, True),
        lambda: hive_client.drop_partition(database, name, ["1"], True),
        lambda: hive_client.drop_database(database, True, True),
        lambda: hive_client.truncate_table(database, name, None),
        lambda: hive_client.exchange_partition({"ds": "1"}, database, name, database, "other"),
    ):
        with pytest.raises(Exception, match=f"{full} is protected. .* run  metastore unprotect {full}"):
            drop()
    assert hive_client.get_partition_names(database, name, -1) == ["ds=1"]
    as_before = hive_client.get_table(database, name)
    as_before.parameters.pop("metastore.protected")
    hive_client.alter_table(database, name, as_before)
    with pytest.raises(MetaException, match="is protected"):
        hive_client.drop_table(database, name, True)
    assert run(["unprotect", full, "--uri", metastore_server.uri]) == 0
    told = f"{full} is protected: drops and truncations are rejected.\n{full} is not protected.\n"
    assert capsys.readouterr().out == told
    hive_client.drop_table(database, name, True)
    assert run(["protect", full, "--uri", metastore_server.uri]) == 1
    advice = f"List the tables with: metastore tables {database}"
    assert capsys.readouterr().err == f"metastore: {full} table not found. {advice}\n"


def test_a_location_that_changes_meanwhile_is_kept(
    hive_client: Any, metastore_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overwrite of a table without partitions changes its location between the two calls of the command."""
    database, name = new_table(hive_client)
    old = hive_client.get_table(database, name).sd.location

    def overwrite(stored: Any) -> None:
        moved = copy.deepcopy(stored)
        moved.sd.location = f"{old}/_versions/1"
        hive_client.alter_table(database, name, moved)

    class Overtaken:
        def __init__(self, client: Any) -> None:
            self._client = client

        def get_table(self, *arguments: str) -> Any:
            stored = self._client.get_table(*arguments)
            overwrite(stored)
            return stored

        def __getattr__(self, method: str) -> Any:
            return getattr(self._client, method)

    @contextmanager
    def overtaken(uri: str) -> Iterator[Overtaken]:
        with connected(uri) as client:
            yield Overtaken(client)

    monkeypatch.setattr(protect, "connected", overtaken)
    assert run(["protect", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    actual = hive_client.get_table(database, name)
    assert (actual.sd.location, actual.parameters["metastore.protected"]) == (f"{old}/_versions/1", "true")


def test_the_client_keeps_a_location_that_it_does_not_send(hive_client: Any, metastore_server: Server) -> None:
    database, name = new_table(hive_client)
    with MetastoreClient(metastore_server.uri) as client:
        stored = client.get_table(database, name)
        moved = hive_client.get_table(database, name)
        moved.sd.location += "/_versions/1"
        hive_client.alter_table(database, name, moved)
        client.alter_table(replace(stored, parameters={**stored.parameters, "a": "b"}, location=None))
    actual = hive_client.get_table(database, name)
    assert (actual.sd.location, actual.parameters["a"]) == (moved.sd.location, "b")


def test_changes_with_their_users(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    hive_client.set_ugi('an"n', [])
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partitions([partition(database, name, [f"{n}"]) for n in range(5)])
    changed = hive_client.get_table(database, name)
    changed.tableName, changed.parameters["colour"] = "later", "red"
    changed.sd.cols += columns(("b", "bigint"))
    hive_client.alter_table(database, name, changed)
    hive_client.drop_partition(database, "later", ["4"], True)
    assert run(["history", f"{database}.later", "--uri", metastore_server.uri]) == 0
    told = capsys.readouterr()
    lines = [line.split("\t")[1:] for line in told.out.splitlines()]
    assert lines[0] == ["CREATE_TABLE", 'an"n', ""]
    assert lines[1] == ["ADD_PARTITION", 'an"n', "ds=0, ds=1, ds=2 and 2 more"]
    assert ["ALTER_TABLE", 'an"n', f"name: {database}.t -> {database}.later"] in lines
    assert ["ALTER_TABLE", 'an"n', "column b: - -> bigint"] in lines
    assert ["ALTER_TABLE", 'an"n', "property colour: - -> red"] in lines
    assert lines[-1] == ["DROP_PARTITION", 'an"n', "ds=4"]
    assert told.err.startswith("4 events since ")


def test_a_definition_as_it_was(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    database, name = new_table(hive_client)
    full = f"{database}.{name}"
    events = hive_client.get_next_notification(NotificationEventRequest(0, -1)).events
    made = next(event for event in events if (event.dbName, event.tableName) == (database, name))
    for moment, status, text in (
        (made.eventTime + 60, 0, "column a\tint"),
        (made.eventTime - 60, 1, f"{full} did not exist at this time"),
    ):
        at = datetime.fromtimestamp(moment, UTC).isoformat()
        assert run(["history", full, "--at", at, "--uri", metastore_server.uri]) == status
        told = capsys.readouterr()
        assert text in told.out + told.err
    assert run(["history", full, "--at", "yesterday", "--uri", metastore_server.uri]) == 1
    assert "--at 'yesterday' is not a valid time" in capsys.readouterr().err
    assert run(["history", "no.such", "--uri", metastore_server.uri]) == 1


def test_history_shows_comments_and_hides_bookkeeping(
    hive_client: Any, metastore_server: Server, capsys: Capture
) -> None:
    database, name = new_table(hive_client)
    changed = hive_client.get_table(database, name)
    changed.sd.cols[0].comment = "the first"
    changed.sd.serdeInfo.parameters["escape"] = "x"
    changed.parameters["spark.sql.sources.schema"] = '{"type":"struct"}'
    hive_client.alter_table(database, name, changed)
    assert run(["history", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    lines = [line.split("\t")[3] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["", "comment of column a: - -> the first", "serde property escape: - -> x"]
    assert run(["history", f"{database}.{name}", "--at", "2100-01-01", "--uri", metastore_server.uri]) == 0
    shown = capsys.readouterr().out
    assert "comment of column a\tthe first" in shown
    assert "spark.sql.sources.schema" not in shown
    assert "transient_lastDdlTime" not in shown


def test_history_names_moved_columns_and_changes_of_partitions(
    hive_client: Any, metastore_server: Server, capsys: Capture
) -> None:
    database, name = new_table(hive_client, [("ds", "string"), ("hr", "int")])
    hive_client.add_partition(partition(database, name, ["1", "a/b"]))
    changed = hive_client.get_table(database, name)
    changed.sd.cols[0].type = "string"  # as the other one, so that they can change places
    hive_client.alter_table(database, name, changed)
    changed = hive_client.get_table(database, name)
    changed.sd.cols.reverse()
    changed.partitionKeys[0].comment = "the day"
    changed.retention, changed.ownerType = 7, PrincipalType.ROLE
    changed.parameters.update({"spark.sql.statistics.totalSize": "9", "current-snapshot-id": "8"})
    hive_client.alter_table(database, name, changed)
    one = hive_client.get_partition(database, name, ["1", "a/b"])
    one.parameters.update({"note": "late", "numRows": "7"})
    hive_client.alter_partition(database, name, one)
    one.parameters["numRows"] = "8"
    hive_client.alter_partition(database, name, one)
    one.values = ["2", "c"]
    hive_client.rename_partition(database, name, ["1", "a/b"], one)
    assert run(["history", f"{database}.{name}", "--uri", metastore_server.uri]) == 0
    lines = [line.split("\t")[3] for line in capsys.readouterr().out.splitlines()]
    order = ", ".join(column.name for column in reversed(changed.sd.cols))
    assert lines[3:7] == [
        f"order of columns: {order} -> {', '.join(column.name for column in changed.sd.cols)}",
        "owner: me -> role me",
        "retention: - -> 7",
        "comment of column ds: - -> the day",
    ]
    assert lines[7:9] == ["ds=1/hr=a/b, property note: - -> late", "ds=1/hr=a/b"]
    assert lines[9].startswith("ds=1/hr=a/b -> ds=2/hr=c")


def test_history_begins_with_the_tables_own_name(hive_client: Any, metastore_server: Server, capsys: Capture) -> None:
    """A CREATE TABLE AS SELECT fills a table with a temporary name."""
    database = new_table(hive_client)[0]
    hive_client.create_table(table(database, "made__as_select_0123abcd", KEYS))
    hive_client.add_partitions([partition(database, "made__as_select_0123abcd", ["1"])])
    renamed = hive_client.get_table(database, "made__as_select_0123abcd")
    renamed.tableName = "made"
    hive_client.alter_table(database, "made__as_select_0123abcd", renamed)
    for day in ("2", "3"):
        hive_client.add_partitions([partition(database, "made", [day])])
    for day in ("1", "2", "3"):
        hive_client.drop_partition(database, "made", [day], True)
    assert run(["history", f"{database}.made", "--uri", metastore_server.uri]) == 0
    lines = [line.split("\t")[1::2] for line in capsys.readouterr().out.splitlines()]
    added = [["ADD_PARTITION", f"ds={day}"] for day in ("2", "3")]
    dropped = [["DROP_PARTITION", f"ds={day}"] for day in ("1", "2", "3")]
    assert lines == [["CREATE_TABLE", "AS SELECT"], *added, *dropped]
    assert run(["dropped", f"{database}.made", "--uri", metastore_server.uri]) == 0
    told = [line.split("\t")[3] for line in capsys.readouterr().out.splitlines()]
    assert told == ["ds=3", "ds=2", "ds=1"]
