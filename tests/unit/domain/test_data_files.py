"""Which names of files and directories hold rows."""

from __future__ import annotations

import pytest

from metastore.domain.data_files import (
    VisibleWrites,
    is_data_name,
    is_unregistered_skew_directory,
    marks_newer_rows,
    visible_files,
)
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER

TOKEN = "abcdefghijklmn27"
WRITES = VisibleWrites(TOKEN, 5, (3,))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("000000_0", True),
        ("part-0.parquet", True),
        (f"{TOKEN}-5-0.parquet", True),
        (f"{TOKEN}-3-0.parquet", False),
        (f"{TOKEN}-6-0.parquet", False),
        ("_SUCCESS", False),
        (".part-0.crc", False),
        ("part-0._COPYING_", False),
        ("skew.x=a=part-0", False),
        ("skew.x=ab=part-0", True),
    ],
)
def test_names_of_files(name: str, read: bool) -> None:
    assert visible_files([name], WRITES, ["skew.x=a="]) == ([name] if read else [])


def test_files_are_sorted_and_without_prefixes_none_is_pruned() -> None:
    assert visible_files(["b", "a"], VisibleWrites()) == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "read"),
    [("x=a", True), ("x=b", False), ("x=a/s=c", True), ("x=a/s=d", False), ("x", False), ("=a", False), ("x=", False)],
)
def test_directories_of_skewed_values_that_the_metastore_does_not_know(path: str, read: bool) -> None:
    assert is_unregistered_skew_directory(path, ["skew.x=b=", "skew.x=a,s=d="]) is read


def test_a_marker_tells_of_newer_rows() -> None:
    assert marks_newer_rows(["a", f"{NEWER_ROWS_MARKER}id"])
    assert not marks_newer_rows(["a", "_SUCCESS"])
    assert not is_data_name(f"{NEWER_ROWS_MARKER}id")
