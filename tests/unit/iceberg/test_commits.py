"""Commits: which metadata files stay, and what the client is told."""

from __future__ import annotations

from typing import Any, cast

import pytest

from metastore.errors import (
    AlreadyExistsError,
    ConflictError,
    ConnectionLostError,
    InvalidObjectError,
    MetastoreError,
    NotFoundError,
    PermissionDeniedError,
    PoolBusyError,
    QuotaExceededError,
    UnavailableError,
    UnknownOutcomeError,
)
from metastore.iceberg.commits import Change
from metastore.iceberg.errors import RestError, rest_error
from metastore.iceberg.metadata import MOST
from metastore.iceberg.reading import Reader
from metastore.iceberg.rows import State, table_row
from metastore.iceberg.tables import committed, document
from metastore.iceberg.texts import MetadataTexts
from metastore.iceberg.writing import Writer
from tests.unit.iceberg.fakes import NAME, Disk, committer, raising
from tests.unit.iceberg.test_updates import BASE, NOW, main, new_table, snapshot


def change() -> list[Change]:
    content = committed(new_table(), BASE, [], [{"action": "set-properties", "updates": {"a": "b"}}], NOW)
    return [Change(NAME, content, table_row(NAME, State(document(new_table(), BASE), BASE), None), BASE, new_table())]


def test_a_commit_writes_one_file() -> None:
    disk = Disk()
    (state,) = committer(disk, raising()).commit(change)
    assert list(disk.files) == [state.location]
    assert state.location.startswith("s3://lake/t/metadata/00001-")
    assert disk.files[state.location] == state.content


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (AlreadyExistsError("x"), 409, "AlreadyExistsException"),
        (NotFoundError("x"), 404, "NoSuchTableException"),
        (PermissionDeniedError("x"), 403, "ForbiddenException"),
        (InvalidObjectError("x"), 400, "BadRequestException"),
        (QuotaExceededError("x"), 429, "TooManyRequestsException"),
        (PoolBusyError("x"), 409, "CommitFailedException"),
        (ConnectionLostError("x"), 409, "CommitFailedException"),
        (UnavailableError("x"), 409, "CommitFailedException"),
    ],
)
def test_a_certain_failure_is_no_5xx_and_leaves_no_file(error: MetastoreError, status: int, kind: str) -> None:
    disk = Disk()
    with pytest.raises(RestError) as raised:
        committer(disk, raising(error)).commit(change)
    assert (raised.value.status, raised.value.kind) == (status, kind)
    assert disk.files == {}


@pytest.mark.parametrize("error", [UnknownOutcomeError("x"), RuntimeError("x"), KeyError("x")])
def test_files_stay_while_the_outcome_is_unknown(error: Exception) -> None:
    disk = Disk()
    with pytest.raises(RestError) as raised:
        committer(disk, raising(error)).commit(change)
    assert (raised.value.status, raised.value.kind) == (500, "CommitStateUnknownException")
    assert len(disk.files) == 1


def test_a_commit_is_repeated_after_another_one_and_leaves_one_file() -> None:
    disk, prepared = Disk(), list[int]()

    def prepare() -> list[Change]:
        prepared.append(1)
        return change()

    (state,) = committer(disk, raising(ConflictError("a"), ConflictError("b"))).commit(prepare)
    assert len(prepared) == 3
    assert list(disk.files) == [state.location]
    with pytest.raises(RestError, match="modified") as raised:
        committer(disk, raising(*[ConflictError("modified")] * 9)).commit(change)
    assert (raised.value.status, raised.value.kind) == (409, "CommitFailedException")
    assert list(disk.files) == [state.location]


def test_a_file_that_cannot_be_written_is_a_certain_failure() -> None:
    disk = Disk()
    disk.fails = True
    with pytest.raises(RestError, match="the disk is full") as raised:
        committer(disk, raising(AssertionError("never called"))).commit(change)
    assert raised.value.status == 409
    assert disk.files == {}


def test_a_database_that_does_not_answer_is_a_certain_failure() -> None:
    call, disk = raising(UnavailableError("PostgreSQL does not answer")), Disk()
    reader = Reader(call, MetadataTexts(cast(Any, None)), lambda _: None)
    with pytest.raises(RestError, match="PostgreSQL does not answer") as raised:
        Writer(call, reader, committer(disk, call)).commit_table("hive", ["db"], "t", {"updates": []})
    assert (raised.value.status, raised.value.kind, disk.files) == (409, "CommitFailedException", {})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConflictError("x"), 409),
        (UnknownOutcomeError("x"), 500),
        (UnavailableError("x"), 503),
        (NotFoundError("x"), 404),
    ],
)
def test_statuses_of_other_requests(error: MetastoreError, status: int) -> None:
    assert rest_error(error).status == status


def test_without_rights_nothing_is_written() -> None:
    disk = Disk()
    denied = raising(PermissionDeniedError("no ALTER"))
    with pytest.raises(RestError, match="no ALTER") as raised:
        committer(disk, raising(AssertionError("never called")), denied).commit(change)
    assert raised.value.status == 403
    assert disk.files == {}


def test_without_a_change_nothing_is_written() -> None:
    disk = Disk()
    (state,) = committer(disk, raising(AssertionError("never called"))).commit(
        lambda: [Change(NAME, None, None, BASE, new_table())]
    )
    assert (state.location, state.content, disk.files) == (BASE, new_table(), {})


def test_metadata_that_could_not_be_read_again_is_refused() -> None:
    disk, (given,) = Disk(), change()
    large = given._replace(content=new_table(properties={"a": "x" * MOST}))
    with pytest.raises(RestError, match="more than 32 MiB: expire snapshots") as raised:
        committer(disk, raising(AssertionError("never called"))).commit(lambda: [large])
    assert (raised.value.status, disk.files) == (400, {})


@pytest.mark.parametrize("key", ["encryption.key-id", "metadata_hash"])
def test_encrypted_tables_are_refused(key: str) -> None:
    (given,) = change()
    assert given.present is not None
    given.present.parameters[key] = "k"
    with pytest.raises(RestError, match="is encrypted") as raised:
        committer(Disk(), raising(AssertionError("never called"))).commit(lambda: [given])
    assert raised.value.status == 501


def test_old_metadata_is_deleted_only_in_the_directory_of_the_table() -> None:
    base = document(new_table(), BASE)
    own, foreign = "s3://lake/t/metadata/00000-x.metadata.json", "s3://lake/u/metadata/00000-x.metadata.json"
    base.set("metadata-log", [{"timestamp-ms": 1, "metadata-file": each} for each in (foreign, own)])
    properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    content = committed(base.encode(), BASE, [], [{"action": "set-properties", "updates": properties}], NOW)
    disk = Disk()
    disk.files = {own: b"", foreign: b""}
    row = table_row(NAME, State(base, BASE), None)
    (state,) = committer(disk, raising()).commit(lambda: [Change(NAME, content, row, BASE, base.encode())])
    assert list(disk.files) == [foreign, state.location]


def test_compressed_metadata() -> None:
    content = committed(
        new_table(),
        BASE,
        [],
        [{"action": "set-properties", "updates": {"write.metadata.compression-codec": "gzip"}}],
        NOW,
    )
    disk = Disk()
    row = table_row(NAME, State(document(new_table(), BASE), BASE), None)
    (state,) = committer(disk, raising()).commit(lambda: [Change(NAME, content, row, BASE, new_table())])
    assert state.location.endswith(".gz.metadata.json")
    assert disk.files[state.location].startswith(b"\x1f\x8b")


def test_the_row_is_that_of_hive_clients() -> None:
    first = snapshot(5, 1)
    first["summary"] |= {"total-data-files": "2", "total-records": "7", "total-files-size": "99"}
    properties = {"a": "1", "gc.enabled": "true", "hive.metastore.table.owner": "someone"}
    updates = [
        {"action": "add-snapshot", "snapshot": first},
        main(5),
        {"action": "set-properties", "updates": properties},
    ]
    content = committed(new_table(), BASE, [], updates, NOW) or b""
    row = table_row(NAME, State(document(content, BASE), "m1", "m0", {"gone": "x"}), None)
    assert (row.owner, row.tableType, row.sd.location) == ("someone", "EXTERNAL_TABLE", "s3://lake/t")
    assert [(each.name, each.type) for each in row.sd.cols] == [
        ("id", "bigint"),
        ("at", "timestamp with local time zone"),
        ("inner", "struct<text:string>"),
        ("tags", "array<string>"),
    ]
    expected = {"EXTERNAL": "TRUE", "table_type": "ICEBERG", "metadata_location": "m1", "snapshot-count": "1",
                "previous_metadata_location": "m0", "numFiles": "2", "numRows": "7", "totalSize": "99",
                "current-snapshot-id": "5", "external.table.purge": "true", "DO_NOT_UPDATE_STATS": "true"}  # fmt: skip
    assert expected.items() <= row.parameters.items()
    assert not {"gone", "gc.enabled", "hive.metastore.table.owner", "storage_handler"} & row.parameters.keys()
    row.parameters |= {"gone": "x", "of.hive": "stays"}
    engine = committed(
        content, BASE, [], [{"action": "set-properties", "updates": {"engine.hive.enabled": "true"}}], NOW
    )
    again = table_row(NAME, State(document(engine or b"", BASE), "m2", "m1", {"gone": "x"}), row)
    assert again.parameters["of.hive"] == "stays"
    assert "gone" not in again.parameters
    assert again.sd.serdeInfo.serializationLib == "org.apache.iceberg.mr.hive.HiveIcebergSerDe"
