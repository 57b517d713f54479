"""Imports that die at any batch continue, and every object is stored once."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

from metastore.cli.commands import run
from metastore.errors import (
    AlreadyExistsError,
    ConfigurationError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from metastore.importing import copier
from metastore.importing.copier import Copier, Request
from metastore.importing.sources import database_partitions, database_source, database_tables
from metastore.importing.sources.opening import open_source
from metastore.storage.importing.imports import COPIED, COPYING
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import connected, running
from tests.wire.importing.moving import compare, compared, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import Database, NotificationEventRequest


class KilledError(Exception):
    """Stands for the death of the importer."""


class Killer:
    """Kills a run after some batches."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __call__(self, kind: str, stored: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise KilledError


@pytest.mark.parametrize("changes", [False, True], ids=["quiet", "changing"])
def test_a_run_continues_where_the_last_one_died(
    hive: HiveDatabase, database_url: str, tmp_path: Path, changes: bool
) -> None:
    """With small batches, the importer dies after each of them. In between, the source changes."""
    deaths = 0
    with patch.object(database_partitions, "_PARTITIONS", 7), patch.object(database_tables, "_TABLES", 3):
        while True:
            try:
                state = copy(hive.url, database_url, on_batch=Killer(1))
            except KilledError:
                deaths += 1
                if changes and deaths < 10:
                    change(hive, deaths)
            else:
                break
            assert deaths < 100
    assert deaths > 10
    assert state.snapshots == deaths + 1
    with running(database_url, tmp_path) as server:
        outcome = compared(hive.url, server.uri)
    assert outcome.differences == []
    if not changes:
        digests, kinds = state.options["digests"], {"partition": "partitions", "table": "tables"}
        expected = {kinds.get(kind, kind): digest for kind, digest in outcome.digests.texts().items()}
        assert {"partitions", "tables", "privileges"} < digests.keys()
        assert digests.items() <= (expected | {"databases": expected.pop("database")}).items()


def test_a_death_while_settling_counts_nothing_twice(hive: HiveDatabase, database_url: str) -> None:
    """The run dies before and after its first change, when later stages were copied already."""

    def last_stage(kind: str, stored: int) -> None:
        if kind == "events":
            raise KilledError

    def dying(*_: Any) -> None:
        _[-1](lambda work: None)
        raise KilledError

    def dying_earlier(*_: Any) -> None:
        dying(*_[:-1])

    with pytest.raises(KilledError):
        copy(hive.url, database_url, on_batch=last_stage)
    with opened(database_url) as store, store.read() as work:
        counts = work.imports.all()[0].counts
    assert {"functions", "constraints", "privileges"} <= counts.keys()
    for death in (dying_earlier, dying):
        with patch.object(copier, "settle", death), pytest.raises(KilledError):
            copy(hive.url, database_url)
    assert counts.items() <= copy(hive.url, database_url).counts.items()


def test_events_continue_after_those_of_a_later_snapshot(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        copy(hive.url, database_url, on_batch=Killer(3))
    hive.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = 44')
    hive.insert("NOTIFICATION_LOG", NL_ID=43, EVENT_ID=43, EVENT_TIME=9, EVENT_TYPE="X", MESSAGE="{}")
    copy(hive.url, database_url)
    with running(database_url, tmp_path) as server, connected(server) as client:
        client.create_database(Database(name="own"))
        events = client.get_next_notification(NotificationEventRequest(42, 100)).events
    assert [(event.eventId, event.eventType) for event in events] == [(43, "X"), (44, "CREATE_DATABASE")]


def test_a_failure_of_the_source_names_the_next_step(
    hive: HiveDatabase, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with patch.object(database_source.DatabaseSource, "read", side_effect=UnavailableError("s does not answer: x")):
        assert run(["import", "run", hive.url, "--database-url", database_url]) == 1
    expected = "metastore: s does not answer: x. Run the same command again: it continues after the last batch\n"
    assert capsys.readouterr().err == expected


def change(hive: HiveDatabase, number: int) -> None:
    """Changes tables and partitions that may be copied already."""
    logs = '(SELECT "TBL_ID" FROM "TBLS" WHERE "TBL_NAME" = \'logs\')'
    hive.execute('UPDATE "TBLS" SET "OWNER" = %s WHERE "TBL_NAME" = \'plain\'', f"owner {number}")
    if number == 3:
        hive.execute(f'UPDATE "PARTITIONS" SET "CREATE_TIME" = 5 WHERE "PART_ID" = 2 AND "TBL_ID" = {logs}')
    elif number == 5:
        hive.execute('DELETE FROM "PARTITION_KEY_VALS" WHERE "PART_ID" = 4')
        hive.execute('DELETE FROM "PARTITIONS" WHERE "PART_ID" = 4')
    elif number == 7:
        hive.execute('DELETE FROM "TBLS" WHERE "TBL_NAME" = \'v\'')
        hive.table(1, "new", None)
        hive.execute('UPDATE "PARTITION_PARAMS" SET "PARAM_VALUE" = \'99\' WHERE "PART_ID" = 3')


def test_a_source_that_dies_in_the_middle(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    source = open_source(hive.url)

    def die(kind: str, stored: int) -> None:
        if kind == "tables":
            hive.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'metastore import'"
            )

    with opened(database_url) as store, pytest.raises(UnavailableError, match="does not answer"):
        Copier(source, store, Request(), die).run()
    with opened(database_url) as store, store.read() as work:
        (state,) = work.imports.all()
        assert state.state == COPYING
    assert copy(hive.url, database_url).state == COPIED
    with running(database_url, tmp_path) as server:
        assert compare(hive.url, server.uri) == []


@pytest.mark.parametrize("batches", [2, 6])
def test_a_source_that_is_upgraded_in_the_middle(
    hive: HiveDatabase, database_url: str, tmp_path: Path, batches: int
) -> None:
    with pytest.raises(KilledError):
        copy(hive.url, database_url, on_batch=Killer(batches))
    hive.upgrade_to_4()
    hive.execute("""UPDATE "DBS" SET "CREATE_TIME" = 5 WHERE "NAME" = 'sales'""")
    assert copy(hive.url, database_url).state == COPIED
    with running(database_url, tmp_path) as server:
        assert compare(hive.url, server.uri) == []


def test_a_second_importer_is_rejected(hive: HiveDatabase, database_url: str) -> None:
    source = open_source(hive.url)

    def second(kind: str, stored: int) -> None:
        with pytest.raises(ConflictError, match="Another metastore import runs"):
            copy(hive.url, database_url)

    with opened(database_url) as store:
        assert Copier(source, store, Request(), second).run().state == COPIED
    source.close()


def test_a_run_that_was_taken_over_stores_nothing_more(hive: HiveDatabase, database_url: str) -> None:
    """Its connection with the lock is lost, and another run continues the import meanwhile."""
    source = open_source(hive.url)
    taken = []

    def take_over(kind: str, stored: int) -> None:
        if not taken:
            taken.append(kind)
            with opened(database_url) as store, store.transaction() as work:
                work.imports.resume(work.imports.all()[0].id, uuid4())

    with opened(database_url) as store, pytest.raises(ConflictError, match="taken over"):
        Copier(source, store, Request(), take_over).run()
    source.close()


def test_an_unfinished_import_keeps_its_options(hive: HiveDatabase, database_url: str) -> None:
    with pytest.raises(KilledError):
        copy(hive.url, database_url, "sales", on_batch=Killer(2))
    with pytest.raises(ConflictError, match=r"hive\.sales .* is unfinished"):
        copy(hive.url, database_url, "default")
    assert copy(hive.url, database_url).options["databases"] == ["hive.sales"]


def test_databases_that_exist_here(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    with running(database_url, tmp_path) as server, connected(server) as client:
        client.create_database(Database(name="sales"))
    with pytest.raises(AlreadyExistsError, match=r"Database sales exists on this server\. Nothing was imported"):
        copy(hive.url, database_url)
    with opened(database_url) as store, store.read() as work:
        assert work.imports.all() == []
    copy(hive.url, database_url, "default")


@pytest.mark.parametrize(
    ("address", "error", "text"),
    [
        ("postgresql://nobody:secret@127.0.0.1:1/x", UnavailableError, "nobody:\\*\\*\\*@127.0.0.1:1/x cannot be read"),
        ("oracle://host/x", InvalidInputError, "is not a source: write thrift://host:9083"),
        ("thrift://127.0.0.1:1", UnavailableError, "no metastore answers"),
        ("mysql://u:secret@127.0.0.1:1/x", UnavailableError, r"mysql://u:\*\*\*@127.0.0.1:1/x cannot be read"),
    ],
)
def test_addresses_that_cannot_be_read(address: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as raised:
        open_source(address)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_database_without_hives_schema(database_url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a database of a Hive metastore: it has no table DBS"):
        open_source(database_url)


def test_a_database_that_the_source_does_not_have(hive: HiveDatabase, database_url: str) -> None:
    with pytest.raises(NotFoundError, match="has no database nowhere"):
        copy(hive.url, database_url, "nowhere")
