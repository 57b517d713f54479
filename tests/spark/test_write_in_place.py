"""`write.mode` = in-place: overwritten partitions keep their directories, and an interrupted write is undone or
finished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from metastore.client.structs import Table
from spark_client import errors
from spark_client.context import Context
from spark_client.write import journal
from spark_client.write.insert import insert_into
from tests.spark.tables import DEFAULT, change_skew, files_below, folder, frame, layout, make_table, skewed

SCHEMA = "id long, x int, m int"
OLD, NEW = [(1, 7, 1), (2, 0, 1), (3, 7, 2)], [(11, 7, 1), (12, 0, 1), (14, 7, 3)]
IN_PLACE = {"write.mode": "in-place"}


@pytest.fixture
def table(context: Context, table_name: str) -> Table:
    """A table that is overwritten in place, with the OLD rows."""
    skew = skewed("x", "7", "8")
    made = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skew, parameters=IN_PLACE)
    insert_into(context, f"default.{table_name}", frame(context.spark, SCHEMA, *OLD))
    return made


def overwrite(context: Context, table: Table, rows: list[tuple[int, int, int]] = NEW) -> None:
    insert_into(context, table.full_name, frame(context.spark, SCHEMA, *rows), overwrite=True)


def ids(context: Context, table: Table) -> list[int]:
    return sorted(row[0] for row in context.spark.table(table.full_name).collect())


def interrupted(context: Context, step: str, number: int) -> Context:
    seen = []

    def on_step(name: str) -> None:
        seen.append(name)
        if (name, seen.count(name)) == (step, number):
            raise KeyboardInterrupt

    return replace(context, on_step=on_step)


def test_partitions_stay_where_they_are(context: Context, table: Table) -> None:
    overwrite(context, table)
    assert ids(context, table) == [3, 11, 12, 14]
    places = [partition.location for partition in context.metastore.get_partitions("default", table.name)]
    assert places == [f"{table.location}/m={number}" for number in (1, 2, 3)]
    assert set(layout(table.location or "")) == {"m=1/x=7", f"m=1/{DEFAULT}", "m=2/x=7", "m=3/x=7"}
    assert any("_temp_" in name for name in files_below(table.location or ""))
    context.metastore.clean("default", table.name, grace=0)
    assert not any("_temp_" in name for name in files_below(table.location or ""))
    assert ids(context, table) == [3, 11, 12, 14]


@pytest.mark.parametrize(("step", "number"), [("away", 1), ("moved", 3), ("placed", 1)])
def test_an_error_puts_everything_back(
    context: Context, table: Table, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    monkeypatch.setattr(journal, "CHUNK", 1)
    before = files_below(table.location or "")
    with pytest.raises(KeyboardInterrupt):
        overwrite(interrupted(context, step, number), table)
    assert files_below(table.location or "") == before
    assert ids(context, table) == [1, 2, 3]
    overwrite(context, table)
    assert ids(context, table) == [3, 11, 12, 14]


def rival(context: Context, step: str, action: Callable[[], None]) -> Context:
    """Another client acts at that step of a write."""
    acted: list[str] = []

    def on_step(name: str) -> None:
        if name == step and not acted:
            acted.append(name)
            action()

    return replace(context, on_step=on_step)


def test_two_writes_cannot_replace_one_partition_in_place_concurrently(context: Context, table: Table) -> None:
    def other() -> None:
        with pytest.raises(errors.PublishConflictError, match="run the statement again"):
            overwrite(context, table, [(21, 7, 1)])

    overwrite(rival(context, "placed", other), table)
    assert ids(context, table) == [3, 11, 12, 14]


def test_concurrently_appended_rows_are_not_lost(context: Context, table: Table) -> None:
    def append() -> None:
        insert_into(context, table.full_name, frame(context.spark, SCHEMA, (21, 7, 1)))

    with pytest.raises(errors.PublishConflictError):
        overwrite(rival(context, "placed", append), table)
    assert ids(context, table) == [1, 2, 3, 21]
    assert set(layout(table.location or "")) == {"m=1/x=7", f"m=1/{DEFAULT}", "m=2/x=7"}


def test_an_append_whose_files_were_renamed_meanwhile_fails(context: Context, table: Table) -> None:
    data = frame(context.spark, SCHEMA, (21, 7, 1))
    with pytest.raises(errors.WriteFailedError, match="does not exist"):
        insert_into(rival(context, "placed", lambda: overwrite(context, table)), table.full_name, data)
    assert ids(context, table) == [3, 11, 12, 14]


def test_a_session_may_say_so_for_tables_without_partitions(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint")
    foreign = folder(table.location or "") / "_notes.txt"
    foreign.write_text("mine")
    insert_into(context, table.full_name, frame(context.spark, "id long", (1,)))
    insert_into(context, table.full_name, frame(context.spark, "id long", (2,)), overwrite=True)
    context.spark.conf.set("write.mode", "in-place")
    try:
        for number in (3, 4):
            insert_into(context, table.full_name, frame(context.spark, "id long", (number,)), overwrite=True)
            assert context.metastore.get_table("default", table_name).location == table.location
            assert ids(context, table) == [number]
        change_skew(context.metastore, table, skewed("id", "9"))
        insert_into(context, table.full_name, frame(context.spark, "id long", (8,), (9,)), overwrite=True)
    finally:
        context.spark.conf.unset("write.mode")
    assert ids(context, table) == [8, 9]
    context.metastore.clean("default", table_name, grace=0)
    assert len([name for name in files_below(table.location or "") if name.endswith(".parquet")]) == 2
    assert foreign.read_text() == "mine"


def test_another_mode_is_rejected(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint", parameters={"write.mode": "sideways"})
    with pytest.raises(errors.InvalidInsertError, match="must be versions or in-place"):
        insert_into(context, table.full_name, frame(context.spark, "id long", (1,)), overwrite=True)
