"""The assignment of files to buckets, and the errors for invalid directories, in Trino's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.buckets import NOT_BUCKETED, Buckets, bucketing_mismatch
from spark_client.errors import InvalidInsertError, UnreadableTableError
from spark_client.table.bucket_rules import bucketing_version, buckets_of_hashes, creates_empty_files, readable_buckets

PRESTO = "20180102_030405_00641_x1y2z_bucket-{:05d}"


def test_numbers_first_then_any_number_of_files() -> None:
    names = ["000000_0", "000000_0_copy_1", "000000_0_copy_2", "000001_0", "000001_0_copy_1", "000003_0"]
    assert readable_buckets("d.t", "p=1", names, 4) == [0, 0, 0, 1, 1, 3]


def test_conventions_may_be_mixed() -> None:
    assert readable_buckets("d.t", "p=1", [PRESTO.format(2), "000001_0_q"], 4) == [2, 1]


def test_no_files_are_empty_buckets() -> None:
    assert readable_buckets("d.t", "p=1", [], 4) == []


def test_one_name_without_a_bucket_number_switches_to_the_original_scheme() -> None:
    assert readable_buckets("d.t", "p=1", ["b", "a", "000000_0"], 3) == [2, 1, 0]
    assert readable_buckets("d.t", "p=1", ["000001_0", "x"], 2) == [0, 1]


def test_the_original_scheme_needs_one_file_for_each_bucket() -> None:
    with pytest.raises(UnreadableTableError) as error:
        readable_buckets("d.t", "p=1", ["000000_0", "part-1"], 4)
    assert str(error.value).startswith(
        "Hive table 'd.t' is corrupt. File 'part-1' does not match the standard naming pattern, and the number of "
        "files in the directory (2) does not match the declared bucket count (4) for partition: p=1"
    )


def test_a_number_beyond_the_count_is_rejected() -> None:
    with pytest.raises(UnreadableTableError) as error:
        readable_buckets("d.t", "p=1", ["000000_0", "000004_0"], 4)
    assert str(error.value).startswith(
        "Hive table 'd.t' is corrupt. The highest bucket number in the directory (4) exceeds the bucket number range "
        "defined by the declared bucket count (4) for partition: p=1"
    )


@pytest.mark.parametrize("partition", [8, 4, 16, 2, 1, 1024])
def test_counts_are_compatible_by_powers_of_two(partition: int) -> None:
    assert bucketing_mismatch("d.t", Buckets(("A", "b"), 8), "p=1", Buckets(("a", "B"), partition)) is None


@pytest.mark.parametrize(
    "partition", [Buckets(("a",), 24), Buckets(("a",), 12), Buckets(("a",), 7), Buckets(("b",), 8)]
)
def test_other_buckets_are_rejected(partition: Buckets) -> None:
    assert bucketing_mismatch("d.t", Buckets(("a",), 8), "p=1", partition) == (
        "Hive table (d.t) bucketing (columns=[a], buckets=8) is not compatible with partition (p=1) bucketing "
        f"(columns=[{partition.columns[0]}], buckets={partition.count})"
    )


def test_a_partition_without_buckets_is_rejected_but_not_one_of_a_table_without() -> None:
    text = bucketing_mismatch("d.t", Buckets(("a",), 8), "p=1", NOT_BUCKETED)
    assert text == "Hive table (d.t) is bucketed but partition (p=1) is not bucketed"
    assert bucketing_mismatch("d.t", NOT_BUCKETED, "p=1", Buckets(("a",), 8)) is None


@pytest.mark.parametrize(
    ("parameters", "version"), [({}, 1), ({"bucketing_version": "2"}, 2), ({"Bucketing_Version": "2"}, 1)]
)
def test_the_version_is_the_tables(parameters: dict[str, str], version: int) -> None:
    """Hive and Trino accept the property in lower case only, so another spelling must not affect the buckets."""
    assert bucketing_version("d.t", parameters) == version


def test_other_versions_are_rejected() -> None:
    with pytest.raises(InvalidInsertError, match=r"^d\.t: Unsupported bucketing version: '3'"):
        bucketing_version("d.t", {"bucketing_version": "3"})


@pytest.mark.parametrize(
    ("setting", "parameters", "creates"),
    [
        (None, {}, False),
        (None, {"create_empty_bucket_files": "TRUE"}, True),
        ("false", {"create_empty_bucket_files": "true"}, False),
        ("true", {}, True),
    ],
)
def test_the_setting_wins_over_the_property(setting: str | None, parameters: dict[str, str], creates: bool) -> None:
    assert creates_empty_files(setting, parameters) is creates


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 2**20))
def test_a_bucket_is_never_negative(value: int, count: int) -> None:
    (bucket,) = buckets_of_hashes([value], count)
    assert 0 <= bucket < count


def test_buckets_of_trinos_documentation() -> None:
    assert buckets_of_hashes([1132136730], 4) == {2}
    assert buckets_of_hashes([-399107423], 4) == {1}
