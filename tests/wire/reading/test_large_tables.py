"""Readers of a table with many partitions have few of them in memory at once."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from metastore.client import MetastoreClient, convert, dataset, files, paged
from metastore.client.reading import dataset as dataset_module
from metastore.client.reading import fragments, listing
from metastore.client.reading.fragments import FileFragment
from metastore.client.reading.listing import DataFile
from metastore.client.reading.scan import Scan
from metastore.client.structs import ScanPartition
from tests.fixtures.server import Server
from tests.wire.builders import columns, descriptor, partition
from tests.wire.reading.tables import Written, make_table, write_file

_COUNT = 8_000
_DIRECTORIES = 4  # which the partitions share
_HELD = 6_000  # four cached pages, and one before and one behind


@pytest.fixture(scope="module")
def table(metastore: MetastoreClient) -> Written:
    written = make_table(metastore, {"id": "bigint"}, {"n": "int"}, tableType="EXTERNAL_TABLE")
    root = written.root
    for number in range(_DIRECTORIES):
        directory = root / f"d{number}"
        directory.mkdir(parents=True)
        write_file(directory / "0.parquet", pa.table({"id": pa.array([number], pa.int64())}))
    shapes = [
        descriptor(cols=columns(("id", "bigint")), location=f"file:{root}/d{number}") for number in range(_DIRECTORIES)
    ]
    made = [
        partition(written.database, written.name, [str(number)], sd=shapes[number % _DIRECTORIES])
        for number in range(_COUNT)
    ]
    for start in range(0, _COUNT, 2_000):
        metastore.methods.add_partitions(made[start : start + 2_000])
    return written


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The number of partitions and files in memory each time that a page has been decoded."""
    counts: list[tuple[int, int]] = []

    def counting(decode: Callable[[bytes], list[Any]]) -> Callable[[bytes], list[Any]]:
        def counted(data: bytes) -> list[Any]:
            page = decode(data)
            kinds = [type(each) for each in gc.get_objects()]
            counts.append((kinds.count(ScanPartition), kinds.count(DataFile)))
            return page

        return counted

    monkeypatch.setattr(paged, "_PLAIN", 100)
    monkeypatch.setattr(convert, "_scan_page", counting(convert._scan_page))
    monkeypatch.setattr("metastore.client.reading.snapshot.data_files", counting(listing.data_files))
    return counts


def check(held: list[tuple[int, int]]) -> None:
    assert len(held) >= 2 * _COUNT // 1_000  # each page of partitions and each page of files
    assert max(partitions for partitions, _ in held) <= _HELD
    assert max(files for _, files in held) <= _HELD


def test_files_of_many_partitions(metastore: MetastoreClient, table: Written, held: list[tuple[int, int]]) -> None:
    found = [(file.partition["n"], file.path[-len("d0/0.parquet") :]) for file in files(metastore, table.full_name)]
    assert len(found) == _COUNT
    assert all(path == f"d{int(number or '') % _DIRECTORIES}/0.parquet" for number, path in found)
    assert {int(number or "") for number, _ in found} == set(range(_COUNT))
    check(held)


@pytest.mark.long
def test_batches_of_many_partitions(
    metastore: MetastoreClient, table: Written, held: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fragments, "_KEPT", 100)
    whole = dataset(metastore, table.full_name)
    rows = [row for batch in whole.to_batches() for row in batch.to_pylist()]
    assert len(rows) == _COUNT
    assert all(row["id"] == row["n"] % _DIRECTORIES for row in rows)
    assert {row["n"] for row in rows} == set(range(_COUNT))
    assert whole.head(3).num_rows == 3
    check(held)


def test_parts_of_many_partitions(metastore: MetastoreClient, table: Written) -> None:
    whole = dataset(metastore, table.full_name)
    part: dataset_module.HiveDataset = pickle.loads(pickle.dumps(whole.shard(1, 1_000)))
    assert sorted(part.to_table()["n"].to_pylist()) == sorted(
        row.partition["n"] and int(row.partition["n"]) for row in list(files(metastore, table.full_name))[1::1_000]
    )


def test_threads_list_the_same_files(
    metastore: MetastoreClient, table: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [file.path for file in files(metastore, table.full_name, "n < 100")]
    monkeypatch.setattr(listing, "_PATIENCE", -1.0)  # as if the file system did not answer at once
    assert [file.path for file in files(metastore, table.full_name, "n < 100")] == expected
    assert len(expected) == 100


def test_files_with_the_same_columns_are_read_together(
    metastore: MetastoreClient, table: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = list[int]()

    def counting(read: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def counted(self: Scan, mapping: Any, files: Sequence[FileFragment], *others: Any) -> Iterator[Any]:
            counts.append(len(files))
            return read(self, mapping, files, *others)

        return counted

    chosen = dataset(metastore, table.full_name, "n < 8")
    for read in ("_read", "_read_whole"):
        monkeypatch.setattr(Scan, read, counting(getattr(Scan, read)))
    assert sum(batch.num_rows for batch in chosen.to_batches()) == 8
    assert chosen.to_table().num_rows == 8
    assert counts == [8, 8]


def test_a_process_ends_while_arrow_reads_ahead(metastore_server: Server, table: Written) -> None:
    read = f"dataset({metastore_server.uri!r}, {table.full_name!r}).scanner().head(3)"
    code = f"from metastore.client import dataset; {read}"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_a_server_that_sends_no_pages(
    metastore: MetastoreClient, table: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = convert.scan_request
    monkeypatch.setattr(
        convert, "scan_request", lambda *args, **options: request(*args, **(options | {"paged": False}))
    )
    assert sum(1 for _ in files(metastore, table.full_name)) == _COUNT
