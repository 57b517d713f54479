"""The client reads a bucketed directory exactly if `layout_problem` finds none, and reports the same problem."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.buckets import bucket_numbers, layout_problem
from spark_client.errors import UnreadableTableError
from spark_client.table.bucket_rules import IGNORE_BUCKETS_HINT, directory_error, readable_buckets

FILES = st.one_of(
    st.from_regex(r"0?\d{1,3}_\d(_copy_1|\.gz|)", fullmatch=True),
    st.from_regex(r"20180102_030405_00641_x1y2z(_bucket-0000\d[-.x]?)?", fullmatch=True),
    st.sampled_from(["part-0", "000000_0_q", "0234", "0234.txt", ""]),
)


@given(st.lists(FILES, unique=True, max_size=5), st.integers(1, 6))
def test_of_directories(files: list[str], count: int) -> None:
    problem = layout_problem("d.t", "p=1", files, [], count)
    if problem is None:
        numbers = readable_buckets("d.t", "p=1", files, count)
        assert numbers == bucket_numbers(files)
        assert all(0 <= number < count for number in numbers)
    else:
        with pytest.raises(UnreadableTableError) as raised:
            readable_buckets("d.t", "p=1", files, count)
        assert str(raised.value) == f"{problem}{IGNORE_BUCKETS_HINT}"


def test_of_directories_within() -> None:
    text = str(directory_error("d.t", "p=1", "x")).removesuffix(IGNORE_BUCKETS_HINT)
    assert layout_problem("d.t", "p=1", [], ["x", "y"], 2) == text
