"""Datasets as programs in Python use them: expressions, few or no columns, threads, other processes, credentials."""

from __future__ import annotations

import datetime
import gc
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from metastore.client import MetastoreClient, dataset, files, read
from metastore.domain.partition_names import DEFAULT_PARTITION
from tests.wire.reading.tables import Written, make_table

DAY = datetime.date(2026, 1, 5)
f = pc.field


@pytest.fixture(scope="module")
def table(metastore: MetastoreClient) -> Written:
    """Files with the table's columns, and one that has to be brought to them."""
    written = make_table(metastore, {"id": "bigint", "word": "string"}, {"ds": "date", "n": "int"})
    plain = pa.table({"id": pa.array([1, 2, None], pa.int64()), "word": ["ab", "b", None]})
    written.overwrite(["2026-01-05", "1"], plain)
    written.overwrite(["2026-01-06", "2"], pa.table({"ID": pa.array([3, 4], pa.int32()), "Word": ["abc", "x"]}))
    written.overwrite(["2026-01-07", DEFAULT_PARTITION], pa.table({"id": pa.array([5], pa.int64())}))
    return written


EXPRESSIONS: dict[str, tuple[pc.Expression, list[int | None]]] = {
    "and": ((f("id") > 1) & (f("ds") == pa.scalar(DAY)), [2]),
    "or": ((f("word") == "x") | (f("n") == 1), [1, 2, 4, None]),
    "not": (~(f("id") > 2), [1, 2]),
    "isin": (f("id").isin([1, 4, 9]), [1, 4]),
    "isin of a key": (f("n").isin([2, 7]), [3, 4]),
    "is_null": (f("word").is_null(), [5, None]),
    "is_null of a key": (f("n").is_null(), [5]),
    "is_valid": (f("n").is_valid() & f("id").is_valid(), [1, 2, 3, 4]),
    "starts_with": (pc.starts_with(f("word"), "ab"), [1, 3]),
    "functions": (pc.equal(pc.utf8_length(f("word")), 1) & (pc.year(f("ds")) == 2026), [2, 4]),
    "between": ((f("ds") >= datetime.date(2026, 1, 6)) & (f("ds") < datetime.date(2026, 1, 7)), [3, 4]),
    "cast": (f("n").cast("string") == "2", [3, 4]),
    "never": (pc.scalar(False), []),
    "position": (pc.field(0) == 4, [4]),
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_expressions(metastore: MetastoreClient, table: Written, kind: str) -> None:
    expression, expected = EXPRESSIONS[kind]
    whole = dataset(metastore, table.full_name)
    schema = pa.schema([("id", pa.int64())])
    found = {
        "where": dataset(metastore, table.full_name, expression).to_table(columns=["id"]),
        "where, columns": dataset(metastore, table.full_name, expression, ["id"]).to_table(),
        "read": read(table.full_name, expression, ["id"], uri=metastore),
        "filter": whole.to_table(columns=["id"], filter=expression),
        "filtered": whole.filter(expression).to_table(columns=["id"]),
        "batches": pa.Table.from_batches(whole.to_batches(columns=["id"], filter=expression), schema),
    }
    in_memory = ds.dataset(whole.to_table()).to_table(columns=["id"], filter=expression)
    for name, rows in {**found, "in memory": in_memory}.items():
        assert sorted(rows["id"].to_pylist(), key=str) == sorted(expected, key=str), name
    assert whole.count_rows(expression) == whole.filter(expression).count_rows() == len(expected)


def test_no_columns_and_no_rows(metastore: MetastoreClient, table: Written) -> None:
    whole, none = dataset(metastore, table.full_name), dataset(metastore, table.full_name, columns=[])
    assert none.schema.names == none.to_table().column_names == []
    assert none.to_table().num_rows == none.count_rows() == whole.to_table(columns=[]).num_rows == 6
    assert dataset(metastore, table.full_name, "id > 1", []).to_table().num_rows == 4
    assert whole.head(0).num_rows == none.head(0).num_rows == 0
    assert whole.head(0).schema == whole.schema
    assert whole.head(2, columns=["n"]).to_pydict().keys() == {"n"}
    assert whole.take([0, 5]).num_rows == 2
    assert [batch.num_rows for batch in whole.to_batches(batch_size=1)] == [1] * 6
    empty = dataset(metastore, table.full_name, "n = 77")
    assert empty.to_table().schema == whole.schema
    assert empty.to_table().num_rows == empty.count_rows() == empty.head(3).num_rows == 0
    assert len(empty.to_table().to_pandas()) == 0


def _numbers(found: Any) -> list[int | None]:
    return sorted(found.to_table()["id"].to_pylist(), key=str)


def test_threads_share_a_dataset(metastore: MetastoreClient, table: Written) -> None:
    """More reads at once than Arrow has threads for input and output, each of which needs such threads."""
    whole = dataset(metastore, table.full_name, "id >= 1")
    before = pa.io_thread_count()
    with ThreadPoolExecutor(2 * before) as threads:
        assert {*map(tuple, threads.map(lambda _: _numbers(whole), range(5 * before)))} == {(1, 2, 3, 4, 5)}
    for _ in range(10):
        whole.head(1)  # does not read to the end
        next(iter(whole.to_batches()))
    while pa.io_thread_count() != before:  # the last reads end in Arrow's threads
        gc.collect()


def test_other_processes_read_a_dataset(metastore: MetastoreClient, table: Written) -> None:
    whole = dataset(metastore, table.full_name, f("id") < 5, ["id", "ds"]).filter(f("n") > 0)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert processes.submit(_numbers, whole).result() == [1, 2, 3, 4]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert _numbers(pickle.loads(pickle.dumps(whole.shard(0, 1), protocol))) == [1, 2, 3, 4]


def test_fragments_have_the_rows_of_their_files(metastore: MetastoreClient, table: Written) -> None:
    whole = dataset(metastore, table.full_name)
    assert [each.path for each in whole.get_fragments()] == [each.path for each in files(metastore, table.full_name)]
    assert whole.files == [each.path for each in whole.get_fragments()]
