"""Names of bucket files are Hive's, Trino's and Presto's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.buckets import bucket_file, bucket_of


@pytest.mark.parametrize(
    ("name", "bucket"),
    [
        ("0234_0", 234),
        ("000234_0", 234),
        ("0234_99", 234),
        ("0234_0.txt", 234),
        ("0234_0_copy_1", 234),
        ("000000_0", 0),
        ("000000_0_20180102_030405_00641_x1y2z", 0),
        ("001234_0_20180102_030405_00641_x1y2z", 1234),
        ("000012_1000.snappy", 12),
        ("20190526_072952_00009_fn7s5_bucket-00234", 234),
        ("20190526_072952_00009_fn7s5_bucket-00234.txt", 234),
        ("20190526_072952_00009_fn7s5_bucket-00234_x", 234),
        ("20190526_072952_00009_fn7s5_bucket-00234-x", 234),
        ("20190526_072952_00009_fn7s5_bucket-00234x", None),
        # The seed: the number begins with 0.
        ("234_99", None),
        ("1234_0_copy_1", None),
        ("20180102_030405_00641_x1y2z", None),
        ("0234.txt", None),
        ("0234", None),
        ("part-00000", None),
        ("part-00000-0b1c_00003.c000.snappy.parquet", None),
        ("", None),
    ],
)
def test_the_bucket_of_a_name(name: str, bucket: int | None) -> None:
    assert bucket_of(name) == bucket


@pytest.mark.parametrize(("bucket", "name"), [(0, "000000_0_q"), (3, "000003_0_q"), (99999, "099999_0_q")])
def test_written_names_are_trinos(bucket: int, name: str) -> None:
    assert bucket_file(bucket, "q") == name


@given(st.integers(0, 2**31 - 1), st.text(max_size=40))
def test_written_names_can_be_read(bucket: int, rest: str) -> None:
    assert bucket_of(bucket_file(bucket, rest)) == bucket
