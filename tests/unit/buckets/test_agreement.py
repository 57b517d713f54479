"""The metastore's command and the Spark client, which must not import each other, know the same rules of buckets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metastore.client.structs import Buckets
from metastore.domain import buckets as server
from spark_client.errors import UnreadableTableError
from spark_client.table import bucket_names as names
from spark_client.table import bucket_rules as rules

FILES = st.one_of(
    st.from_regex(r"0?\d{1,3}_\d(_copy_1|\.gz|)", fullmatch=True),
    st.from_regex(r"20180102_030405_00641_x1y2z(_bucket-0000\d[-.x]?)?", fullmatch=True),
    st.sampled_from(["part-0", "000000_0_q", "0234", "0234.txt", ""]),
)
COLUMNS = st.sampled_from([("a",), ("A",), ("a", "b"), ()])


@given(FILES)
def test_of_names(name: str) -> None:
    assert server.bucket_of(name) == names.bucket_of(name)


@given(st.lists(FILES, unique=True, max_size=5), st.integers(1, 6))
def test_of_directories(files: list[str], count: int) -> None:
    try:
        rules.bucket_numbers("d.t", "p=1", files, count)
    except UnreadableTableError as error:
        text: str | None = str(error).removesuffix(rules.MEND)
    else:
        text = None
    assert server.disorder("d.t", "p=1", files, [], count) == text


def test_of_directories_within() -> None:
    text = str(rules.refuse_directory("d.t", "p=1", "x")).removesuffix(rules.MEND)
    assert server.disorder("d.t", "p=1", [], ["x", "y"], 2) == text


@given(COLUMNS, st.integers(1, 64), COLUMNS, st.integers(-1, 64))
def test_of_partitions(mine: tuple[str, ...], few: int, theirs: tuple[str, ...], many: int) -> None:
    table, partition = server.buckets(mine or ("a",), few), server.buckets(theirs, many)
    assert server.mismatch("d.t", table, "p=1", partition) == rules.mismatch(
        "d.t", Buckets(table.columns, table.number), Buckets(partition.columns, partition.number), "p=1"
    )
