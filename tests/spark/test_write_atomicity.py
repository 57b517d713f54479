"""A write is visible completely or not at all: errors at each step, killed writers, concurrent writers, and lost
replies.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from metastore.client import MetastoreClient
from metastore.client.structs import Publication, PublishResult, Table
from spark_client import errors
from spark_client.context import Context
from spark_client.table import settings
from spark_client.table.settings import IN_PLACE, MODE
from spark_client.write import journal
from spark_client.write.insert import Insert, insert_all, insert_into
from tests.bench.writing.crash import writers
from tests.bench.writing.writer import KILLED
from tests.spark.tables import change_skew, files_below, folder, frame, make_table, skewed

SCHEMA = "id long, x int, m int"
OLD = [(1, 7, 1), (2, 0, 1), (3, 7, 2)]
NEW = [(11, 7, 1), (12, 8, 1), (13, 0, 3), (14, 7, 3)]


class Interruption(Exception):  # noqa: N818 - stands for any error
    """The error that a test raises in a write."""


def write(context: Context, name: str, rows: Sequence[tuple[int, int, int]], *, overwrite: bool) -> None:
    insert_into(context, f"default.{name}", frame(context.spark, SCHEMA, *rows), partition={}, overwrite=overwrite)


@pytest.fixture
def table(context: Context, table_name: str) -> Table:
    """A table with the OLD rows."""
    made = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7", "8"))
    write(context, table_name, OLD, overwrite=False)
    return made


def ids(context: Context, table: Table) -> list[int]:
    """Reads the rows as our readers do."""
    return sorted(row[0] for row in context.spark.table(table.full_name).collect())


def open_writes(context: Context, table: Table) -> tuple[int, ...]:
    return context.metastore.plan_scan(table.database, table.name).writes.open


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records a step for each rename."""
    monkeypatch.setattr(journal, "CHUNK", 1)


def fail_at(step: str, number: int) -> Callable[[str], None]:
    """Raises an error at the `number`-th occurrence of that step."""
    seen = []

    def on_step(name: str) -> None:
        seen.append(name)
        if name == step and seen.count(step) == number:
            raise Interruption(step)

    return on_step


STEPS = [("planned", 1), ("staged", 1), ("registered", 1), ("moved", 1), ("moved", 4), ("placed", 1)]
# Appends differ from overwrites from the first rename on.
STEPS_OF_EACH = [
    pytest.param(*step, how == "overwrite", id=f"{step[0]}-{step[1]}-{how}", marks=[] if often else pytest.mark.long)
    for number, step in enumerate(STEPS)
    for how, often in (("append", number > 2), ("overwrite", True))
]


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(("step", "number", "overwrite"), STEPS_OF_EACH)
def test_an_error_before_publishing_leaves_no_trace(
    context: Context, table: Table, step: str, number: int, overwrite: bool
) -> None:
    before = files_below(table.location or "")
    folders = {path for path in folder(table.location or "").rglob("*") if path.is_dir()}
    with pytest.raises(Interruption):
        write(replace(context, on_step=fail_at(step, number)), table.name, NEW, overwrite=overwrite)
    assert files_below(table.location or "") == before
    left = {path for path in folder(table.location or "").rglob("*") if path.is_dir()} - folders
    assert {path.name for path in left} <= {"_versions"}
    assert open_writes(context, table) == ()
    assert ids(context, table) == [1, 2, 3]
    write(context, table.name, NEW, overwrite=overwrite)
    assert ids(context, table) == ([3, 11, 12, 13, 14] if overwrite else [1, 2, 3, 11, 12, 13, 14])


@pytest.mark.parametrize("overwrite", [False, True], ids=["append", "overwrite"])
@pytest.mark.parametrize("step", ["published", "cleaned"])
def test_an_error_after_publishing_leaves_the_new_rows(
    context: Context, table: Table, step: str, overwrite: bool
) -> None:
    with pytest.raises(Interruption):
        write(replace(context, on_step=fail_at(step, 1)), table.name, NEW, overwrite=overwrite)
    assert ids(context, table) == ([3, 11, 12, 13, 14] if overwrite else [1, 2, 3, 11, 12, 13, 14])
    versions = folder(table.location or "") / "_versions"
    assert bool(list(versions.iterdir())) == overwrite


def test_a_killed_writer_leaves_only_files_with_its_id(context: Context, table: Table) -> None:
    """A separate program that is killed before it publishes; Java's process outlives it."""
    assert table.location is not None
    before = files_below(table.location)
    order = {"table": table.full_name, "kind": "overwrite", "k": 7, "write_mode": "versions", "lease": 300}
    with writers(context.spark, str(context.metastore.addresses[0]), changes=False) as write_and_die:
        assert write_and_die(**order, step="placed", number=1, delay=None) == KILLED
    assert ids(context, table) == [1, 2, 3]
    left = files_below(table.location) - before
    assert before <= files_below(table.location)
    token, (number,) = writes_of(context, table)
    assert left
    assert all(f"{token}-{number}" in name for name in left)
    write(context, table.name, NEW, overwrite=True)
    assert ids(context, table) == [3, 11, 12, 13, 14]


def writes_of(context: Context, table: Table) -> tuple[str | None, tuple[int, ...]]:
    """Returns the table's token, and the numbers of its open writes."""
    actual_writes = context.metastore.plan_scan(table.database, table.name).writes
    return actual_writes.token, actual_writes.open


def rival(context: Context, action: Callable[[], None]) -> Context:
    """Returns a context in which another client acts just before the write is published."""
    acted = []

    def on_step(name: str) -> None:
        if name == "placed" and not acted:
            acted.append(name)
            action()

    return replace(context, on_step=on_step)


def test_two_concurrent_appends_succeed(context: Context, table: Table) -> None:
    other = [(21, 7, 1), (22, 0, 3)]
    ours = rival(context, lambda: write(context, table.name, other, overwrite=False))
    write(ours, table.name, NEW, overwrite=False)
    assert ids(context, table) == [1, 2, 3, 11, 12, 13, 14, 21, 22]


def test_an_append_follows_a_partition_that_was_overwritten_meanwhile(context: Context, table: Table) -> None:
    ours = rival(context, lambda: write(context, table.name, [(21, 7, 1)], overwrite=True))
    write(ours, table.name, NEW, overwrite=False)
    assert ids(context, table) == [3, 11, 12, 13, 14, 21]


def test_an_append_does_not_guess_when_the_skew_has_changed(context: Context, table: Table) -> None:
    def reskew() -> None:
        change_skew(context.metastore, table, skewed("x", "0"))
        write(context, table.name, [(21, 7, 1)], overwrite=True)

    before = ids(context, table)
    with pytest.raises(errors.PublishConflictError, match="run the statement again"):
        write(rival(context, reskew), table.name, NEW, overwrite=False)
    assert ids(context, table) == sorted({*before, 21} - {1, 2})


def test_a_concurrent_overwrite_raises_a_conflict(context: Context, table: Table) -> None:
    ours = rival(context, lambda: write(context, table.name, [(21, 7, 1)], overwrite=False))
    with pytest.raises(errors.PublishConflictError):
        write(ours, table.name, NEW, overwrite=True)
    assert ids(context, table) == [1, 2, 3, 21]
    assert not (folder(table.location or "") / "_versions").exists()


def test_a_table_dropped_during_a_write_can_be_created_again(context: Context, table: Table) -> None:
    def drop(step: str) -> None:
        if step == "planned":
            context.metastore.drop_table("default", table.name)

    with pytest.raises(errors.WriteFailedError, match="failed and changed nothing"):
        write(replace(context, on_step=drop), table.name, NEW, overwrite=True)
    context.spark.sql(f"CREATE TABLE {table.name} (id BIGINT) STORED AS ORC")


@pytest.mark.parametrize("renamed", ["partition", "table"])
def test_a_renamed_directory_never_shows_files_of_a_failed_write(
    context: Context, table: Table, renamed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_DEFAULT_LEASE", "0.2")
    what, name = ("PARTITION (m = 1)", "PARTITION (m = 9)") if renamed == "partition" else ("", f"{table.name}_2")
    ours = rival(context, lambda: context.spark.sql(f"ALTER TABLE {table.name} {what} RENAME TO {name}"))
    with pytest.raises(errors.SparkClientError):
        write(ours, table.name, NEW, overwrite=False)
    now = table if renamed == "partition" else context.metastore.get_table("default", name)
    assert ids(context, now) == [1, 2, 3]
    for _ in range(1200):
        context.metastore.clean("default", now.name, grace=0)
        if not open_writes(context, now):
            break
        threading.Event().wait(0.05)
    assert (ids(context, now), open_writes(context, now)) == ([1, 2, 3], ())


def test_files_that_others_delete_before_publishing_are_reported_as_missing(context: Context, table: Table) -> None:
    """As Spark's own TRUNCATE TABLE does, without a call to the metastore."""
    directory = folder(table.location or "") / "m=1"
    with pytest.raises(errors.WriteFailedError, match="does not exist"):
        write(rival(context, lambda: shutil.rmtree(directory)), table.name, NEW, overwrite=False)
    assert ids(context, table) == [3]


@pytest.mark.parametrize("overwritten", [True, False], ids=["overwritten", "appended"])
def test_inserts_of_one_statement_are_published_together(
    context: Context, table: Table, table_name: str, overwritten: bool
) -> None:
    """Also if one appends to a partition that another one adds, and if one overwrites in place."""
    other = make_table(context.metastore, f"{table_name}_2", "id bigint, x int", "m int")
    path = make_table(context.metastore, f"{table_name}_3", "id bigint, x int, m int", parameters={MODE: IN_PLACE})
    for each in (other, path):
        insert_into(context, each.full_name, frame(context.spark, SCHEMA, *OLD))
    before = files_below(path.location or ""), files_below(other.location or "")
    new, more = frame(context.spark, SCHEMA, *NEW), frame(context.spark, SCHEMA, (31, 0, 3))
    inserts = [Insert(each.full_name, new, overwrite=each is not other) for each in (path, table, other)]
    inserts.append(Insert(other.full_name, more))
    changed = table if overwritten else other
    ours = rival(context, lambda: write(context, changed.name, [(21, 7, 1)], overwrite=False))
    old = [1, 2, 3]
    if overwritten:
        with pytest.raises(errors.PublishConflictError):
            insert_all(ours, inserts)
        assert (files_below(path.location or ""), files_below(other.location or "")) == before
        assert (ids(context, table), ids(context, other), ids(context, path)) == ([*old, 21], old, old)
    else:
        insert_all(ours, inserts)
        assert ids(context, table) == [3, 11, 12, 13, 14]
        assert ids(context, other) == [*old, 11, 12, 13, 14, 21, 31]
        assert ids(context, path) == [11, 12, 13, 14]
    assert [open_writes(context, each) for each in (table, other, path)] == [(), (), ()]


@pytest.mark.parametrize("with_files", [False, True])
def test_an_append_to_a_partition_that_is_dropped_concurrently(
    context: Context, table: Table, with_files: bool
) -> None:
    def drop() -> None:
        context.metastore.drop_partitions("default", table.name, ["m=1"], if_exists=False, delete_data=False)
        if with_files:
            shutil.rmtree(folder(table.location or "") / "m=1")

    if with_files:
        with pytest.raises(errors.WriteFailedError, match="does not exist"):
            write(rival(context, drop), table.name, NEW, overwrite=False)
    else:
        write(rival(context, drop), table.name, NEW, overwrite=False)
    assert ids(context, table) == ([3] if with_files else [3, 11, 12, 13, 14])
    # The writer cannot know whether they were renamed: cleaning ends the write.
    assert len(open_writes(context, table)) == with_files


class Lossy(MetastoreClient):
    """Loses replies: before the call reaches the server, or after. `answers` says which, call by call."""

    answers: list[str]

    def publish(self, writes: Sequence[Publication]) -> list[PublishResult]:
        fate = self.answers.pop(0) if self.answers else "arrives"
        if fate == "unreachable":
            raise errors.MetastoreUnavailableError("nobody is there")
        if fate == "lost before":
            raise errors.ReplyLostError("broke off")
        result = super().publish(writes)
        if fate == "lost after":
            raise errors.ReplyLostError("broke off")
        if fate == "in doubt":
            raise errors.MetastoreRefusedError("The connection broke during the commit")
        return result


@pytest.fixture
def lossy(context: Context) -> Iterator[Callable[..., Context]]:
    """Returns contexts whose replies are lost."""
    with Lossy([str(address) for address in context.metastore.addresses]) as client:

        def make(*answers: str) -> Context:
            client.answers = list(answers)
            return replace(context, metastore=client)

        yield make


@pytest.mark.parametrize("overwrite", [False, True], ids=["append", "overwrite"])
@pytest.mark.parametrize("fate", ["lost before", "lost after", "in doubt"])
def test_a_lost_answer_is_found_again(
    context: Context, table: Table, lossy: Callable[..., Context], fate: str, overwrite: bool
) -> None:
    write(lossy(fate), table.name, NEW, overwrite=overwrite)
    assert ids(context, table) == ([3, 11, 12, 13, 14] if overwrite else [1, 2, 3, 11, 12, 13, 14])
    assert bool(list((folder(table.location or "") / "_versions").iterdir())) == overwrite


@pytest.mark.parametrize("answers", [["lost after"] * 3, ["lost after", "unreachable"], ["lost before"] * 3])
def test_files_that_may_be_visible_are_not_removed(
    context: Context,
    table: Table,
    lossy: Callable[..., Context],
    monkeypatch: pytest.MonkeyPatch,
    answers: list[str],
) -> None:
    visible = answers[0] == "lost after"
    silent = lossy(*answers)
    monkeypatch.setattr(silent.metastore, "get_partition", _unreachable)
    with pytest.raises(errors.WriteUncertainError, match="is unknown"):
        write(silent, table.name, NEW, overwrite=False)
    assert ids(context, table) == ([1, 2, 3, 11, 12, 13, 14] if visible else [1, 2, 3])


def _unreachable(*_: Any) -> None:
    raise errors.MetastoreUnavailableError("nobody is there")


def test_a_metastore_that_is_gone_when_publishing_leaves_no_trace(
    context: Context, table: Table, lossy: Callable[..., Context]
) -> None:
    before = files_below(table.location or "")
    with pytest.raises(errors.MetastoreUnavailableError):
        write(lossy("unreachable"), table.name, NEW, overwrite=False)
    assert files_below(table.location or "") == before
