"""Completing and undoing the uploads of a write, with recorded file operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from spark_client.errors import WriteFailedError
from spark_client.jvm.uploads import UploadedFile
from spark_client.write.uploads import Uploads

OWN, SHARED = "s3a://bucket/t/_versions/q-1", "s3a://bucket/t/p=1"


class Recorded:
    """Records operations. `fails`: whether completing raises an error."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.fails = False

    def complete(self, uploads: Mapping[str, str]) -> None:
        self.calls.append(("complete", list(uploads.values())))
        if self.fails:
            raise WriteFailedError("no answer")

    def abort(self, uploads: Mapping[str, str]) -> list[str]:
        self.calls.append(("abort", list(uploads.values())))
        return ["no such upload" for _ in uploads]

    def delete_all(self, locations: Sequence[str]) -> None:
        self.calls.append(("delete", list(locations)))


@pytest.fixture
def files() -> Recorded:
    return Recorded()


@pytest.fixture
def uploads(files: Recorded) -> Uploads:
    recorded: Any = files
    made = Uploads(recorded, OWN, {})
    made.add([UploadedFile(f"{OWN}/p=2/a", "p=2", 1, 1, "a"), UploadedFile(f"{SHARED}/b", "p=1", 1, 1, "b")])
    return made


def test_uploads_that_are_not_complete_are_aborted(files: Recorded, uploads: Uploads) -> None:
    assert uploads.shared_directories() == {SHARED}
    assert uploads.undo() == []
    assert files.calls == [("abort", ["a", "b"]), ("delete", [])]


def test_completed_files_of_shared_directories_are_deleted(files: Recorded, uploads: Uploads) -> None:
    """Those of the write's own directory are deleted with it."""
    uploads.complete()
    assert uploads.shared_directories() == set()
    assert uploads.undo() == []
    assert files.calls == [("complete", ["a", "b"]), ("abort", []), ("delete", [f"{SHARED}/b"])]


def test_only_files_that_must_be_read_are_completed(files: Recorded, uploads: Uploads) -> None:
    uploads.complete([f"{OWN}/p=2/a"])
    uploads.complete([])
    assert uploads.undo() == []
    assert files.calls == [("complete", ["a"]), ("complete", []), ("abort", ["b"]), ("delete", [])]


def test_a_write_whose_uploads_may_still_become_complete_is_not_ended(files: Recorded, uploads: Uploads) -> None:
    files.fails = True
    with pytest.raises(WriteFailedError):
        uploads.complete()
    assert uploads.undo() != []
    assert files.calls == [("complete", ["a", "b"]), ("abort", ["a", "b"]), ("delete", [f"{SHARED}/b"])]
