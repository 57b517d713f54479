"""Files that a program leaves where the rows were before a rewrite, without an alteration, as plain Spark does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.errors import ConflictError
from metastore.services.files.late_files import LateFiles
from metastore.storage.postgres import clock
from metastore.storage.repositories.rewrites import LOOK
from metastore.storage.unit_of_work import Store
from tests.fixtures.application import called
from tests.wire.builders import partition, table, unique
from tests.wire.rewritten_rows import Partitioned, Whole
from tests.wire.writing import clean, local, write_file
from thrift_idl.gen.metastore.ttypes import UndropRequest

FILE = "part-00000-0d3f.c000.snappy.parquet"


class Direct:
    """A client that calls the handlers of the server."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            answer = called(self._application, name, *arguments)
            return answer.decode() if hasattr(answer, "decode") else answer

        return call


@pytest.fixture(params=[Partitioned, Whole])
def rows(request: pytest.FixtureRequest, application: Application) -> Any:
    return request.param(Direct(application))


def look(application: Application, after: timedelta = LOOK) -> None:
    """Has a server look, as if so much time were over."""
    _execute(application, "UPDATE file_operations SET look_at = look_at - :age, decided_at = decided_at - :age", after)
    LateFiles(application.journal).look()


def _with_another_at_the_former_directory(application: Application) -> Partitioned:
    """Returns a rewritten partition. Another one is where its rows were."""
    rows = Partitioned(Direct(application))
    rows.rewrite([])
    other = partition(*rows.name, ["2"])
    other.sd.location = rows.former
    rows.client.add_partition(other)
    return rows


def _execute(application: Application, statement: str, age: timedelta) -> None:
    with application._store._engine.begin() as connection:
        connection.execute(text(statement), {"age": age})


def test_a_late_file_moves_at_the_second_look(application: Application, rows: Any) -> None:
    write_file(f"{rows.former}/000000_0")
    rows.rewrite(["000000_0"])
    write_file(f"{rows.former}/{FILE}")
    look(application)
    assert FILE not in rows.names()
    look(application)
    assert FILE in rows.names()
    assert "000000_0" not in rows.names()


def test_nobody_looks_before_it_is_time(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    for _ in range(3):
        look(application, LOOK / 10)
    assert FILE not in rows.names()


def test_each_look_is_half_as_far_away_as_the_rewrite(application: Application, rows: Any) -> None:
    rows.rewrite([])
    look(application, timedelta(hours=2))
    write_file(f"{rows.former}/{FILE}")
    look(application, timedelta(minutes=59))
    look(application)
    assert FILE not in rows.names()
    look(application, timedelta(minutes=1))  # the first look that sees it
    look(application)
    assert FILE in rows.names()


def test_a_late_file_moves_before_the_directory_is_cleaned(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    clean(rows.client, rows.name)
    assert FILE in rows.names()
    assert not local(rows.former).exists() or FILE not in [file.name for file in local(rows.former).iterdir()]


def test_a_directory_whose_late_file_cannot_move_is_not_cleaned(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}", "new")
    write_file(f"{rows.location()}/{FILE}", "old")
    look(application)
    look(application)
    (entry,) = [each for each in clean(rows.client, rows.name).locations if each.error]
    assert f"{FILE} cannot be moved: " in entry.error
    assert local(f"{rows.former}/{FILE}").read_text() == "new"
    assert local(f"{rows.location()}/{FILE}").read_text() == "old"
    local(f"{rows.location()}/{FILE}").unlink()
    clean(rows.client, rows.name)
    assert local(f"{rows.location()}/{FILE}").read_text() == "new"


def test_a_file_that_cannot_move_does_not_keep_the_others_back(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/a{FILE}", "new")
    write_file(f"{rows.former}/{FILE}", "new")
    write_file(f"{rows.location()}/a{FILE}", "old")
    look(application)
    look(application)
    assert FILE in rows.names()


def test_files_that_came_late_are_truncated_with_the_rows(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    rows.client.truncate_table(*rows.name, None)
    look(application)
    look(application)
    assert rows.names() == []
    rows.client.undrop(UndropRequest(*rows.name))
    assert FILE in rows.names()


def test_a_file_that_comes_after_a_truncation_moves(application: Application, rows: Any) -> None:
    rows.rewrite([])
    rows.client.truncate_table(*rows.name, None)
    write_file(f"{rows.former}/{FILE}")
    look(application)
    look(application)
    assert rows.names() == [FILE]


def test_a_partition_at_a_former_directory_is_truncated(application: Application) -> None:
    rows = _with_another_at_the_former_directory(application)
    write_file(f"{rows.former}/{FILE}")
    rows.client.truncate_table(*rows.name, None)
    assert list(local(rows.former).iterdir()) == []


def test_files_of_a_rejected_call_stay(application: Application, rows: Any) -> None:
    """Hive puts its file there, alters what it has read before, and its user repeats the statement."""
    before = rows.read()
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    look(application)
    before.parameters["numFiles"] = "9"
    with pytest.raises(ConflictError, match="Another client has overwritten"):
        rows.send(before)
    look(application)
    clean(rows.client, rows.name)
    assert FILE not in rows.names()


def test_a_file_follows_the_rows_through_two_rewrites(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    look(application)
    rows.rewrite([])
    look(application)
    assert FILE in rows.names()


def test_files_stay_after_an_overwrite_that_has_read_nothing(application: Application, rows: Any) -> None:
    rows.rewrite([])
    rows.rewrite(None)
    write_file(f"{rows.former}/{FILE}")
    look(application)
    look(application)
    assert FILE not in rows.names()


def test_files_of_a_new_partition_at_the_former_directory_stay(application: Application) -> None:
    rows = _with_another_at_the_former_directory(application)
    write_file(f"{rows.former}/{FILE}")
    look(application)
    look(application)
    assert FILE not in rows.names()
    assert local(f"{rows.former}/{FILE}").exists()


def test_no_file_moves_to_another_table(application: Application) -> None:
    rows = Partitioned(Direct(application))
    rows.rewrite([])
    other = table(rows.name[0], unique("other"))
    other.tableType, other.parameters, other.sd.location = "EXTERNAL_TABLE", {"EXTERNAL": "TRUE"}, rows.location()
    rows.client.create_table(other)
    moved = rows.read()
    moved.sd.location = f"{rows.root}/elsewhere"
    rows.send(moved, alterTableOpType="ALTERLOCATION")
    write_file(f"{rows.former}/{FILE}")
    look(application)
    look(application)
    assert local(f"{rows.former}/{FILE}").exists()


def test_no_file_moves_for_a_partition_that_was_dropped(application: Application) -> None:
    rows = Partitioned(Direct(application))
    rows.rewrite([])
    location = rows.location()
    rows.client.drop_partition(*rows.name, ["1"], True)
    write_file(f"{rows.former}/{FILE}")
    look(application)
    look(application)
    assert not local(location).exists()


def test_a_table_is_renamed_between_two_looks(application: Application) -> None:
    rows = Partitioned(Direct(application))
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    look(application)
    moved = rows.client.get_table(*rows.name)
    moved.tableName = unique("moved")
    rows.client.alter_table(*rows.name, moved)
    rows.name = (moved.dbName, moved.tableName)
    look(application)
    assert FILE in rows.names()


def test_a_file_that_cannot_move_keeps_no_later_one_back(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/taken", "new")
    write_file(f"{rows.location()}/taken", "old")
    for _ in range(2):
        look(application)
    write_file(f"{rows.former}/{FILE}")
    for _ in range(2):
        look(application, timedelta(minutes=5))
    assert FILE in rows.names()


def test_another_server_looks_after_the_lease_of_one_that_died(application: Application, rows: Any) -> None:
    rows.rewrite([])
    write_file(f"{rows.former}/{FILE}")
    look(application)
    _execute(application, "UPDATE file_operations SET decided_at = decided_at - :age", timedelta(hours=9))
    _execute(application, "UPDATE file_operations SET look_at = look_at - :age", LOOK)
    with application._store.transaction(audited=False) as work:
        assert len(work.rewrites.claim(1)) == 1
    look(application, clock.LEASE)
    assert FILE in rows.names()


def test_concurrent_servers_look_into_different_directories(application: Application) -> None:
    for _ in range(3):
        Partitioned(Direct(application)).rewrite([])
    _execute(application, "UPDATE file_operations SET look_at = look_at - :age", LOOK)
    store: Store = application._store
    with store.transaction(audited=False) as one, store.transaction(audited=False) as other:
        first, second = one.rewrites.claim(2), other.rewrites.claim(2)
    assert sorted([len(first), len(second)]) == [1, 2]
    assert len({rewrite.source for rewrite in [*first, *second]}) == 3


def test_a_name_that_is_not_utf_8_stops_no_look(application: Application, rows: Any) -> None:
    rows.rewrite([])
    Path(f"{local(rows.former)}/bad\udcff").touch()
    write_file(f"{rows.former}/{FILE}")
    look(application)
    look(application)
    assert FILE in rows.names()
