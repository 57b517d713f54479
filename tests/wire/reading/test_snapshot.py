"""A dataset has the files of one moment: during overwrites, after them, and when it is too late."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metastore.client import MetastoreClient, connect, dataset
from metastore.client.errors import StaleSnapshotError, UnreadableTableError
from metastore.client.structs import PublishMode
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from tests.fixtures.server import Server
from tests.wire.reading.engines import ENGINES
from tests.wire.reading.tables import Written, make_table, write_file

OVERWRITES = int(os.environ.get("READERS_OVERWRITES", "25"))
EXTERNAL: dict[str, Any] = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}}


def ids(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def read_ids(found: Any) -> list[int]:
    return sorted(found.to_table()["id"].to_pylist())


@pytest.fixture
def table(metastore: MetastoreClient) -> Written:
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    written.overwrite(["1"], ids(1, 2))
    written.overwrite(["2"], ids(3))
    return written


def test_a_dataset_keeps_its_files_until_they_are_cleaned(metastore: MetastoreClient, table: Written) -> None:
    before = dataset(metastore, table.full_name)
    table.overwrite(["1"], ids(9))
    metastore.drop_partitions(table.database, table.name, ["ds=2"], if_exists=False, delete_data=False)
    assert read_ids(before) == [1, 2, 3]
    assert read_ids(dataset(metastore, table.full_name)) == [9]
    metastore.clean(table.database, table.name, grace=0)
    with pytest.raises(StaleSnapshotError, match="was removed or replaced since the dataset was created: files stay"):
        before.to_table()


def test_a_file_that_another_engine_replaces_is_an_error(metastore: MetastoreClient, tmp_path: Path) -> None:
    """Hive's INSERT OVERWRITE gives new files the names of the old ones."""
    written = make_table(metastore, {"id": "bigint"}, sd={"location": f"file:{tmp_path}/t"}, **EXTERNAL)
    file = Path(written.root) / "000000_0.parquet"
    write_file(file, ids(1))
    before = dataset(metastore, written.full_name)
    file.unlink()
    write_file(file, ids(7))
    with pytest.raises(StaleSnapshotError):
        before.to_table()
    assert read_ids(dataset(metastore, written.full_name)) == [7]


def test_an_overwrite_in_place_is_awaited(metastore: MetastoreClient, table: Written) -> None:
    """It renames the directory of the partition, moves its own files there and publishes them."""
    directory = Path(table.root) / "ds=3"
    query_id = table.begin()
    table.write(str(directory), query_id, ids(5))
    table.publish(query_id, ["3"], PublishMode.CREATE, f"file:{directory}")

    overwriting = table.begin()
    directory.rename(directory.with_name(f"_temp_{overwriting}_ds~3"))
    table.write(str(directory), overwriting, ids(6))
    found: list[Any] = []
    planned = threading.Event()

    def progress(_: int, __: int) -> None:
        planned.set()

    reader = threading.Thread(
        target=lambda: found.append(dataset(metastore, table.full_name, "ds = '3'", progress=progress))
    )
    reader.start()
    reader.join(0.5)
    assert found == []
    table.publish(overwriting, ["3"], PublishMode.OVERWRITE, f"file:{directory}")
    reader.join(60)
    assert read_ids(found[0]) == [6]


def test_a_partition_that_is_dropped_while_it_is_listed(
    metastore: MetastoreClient, table: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_scan = MetastoreClient.plan_scan
    plans = []

    def drop_after_the_plan(self: MetastoreClient, *args: Any, **options: Any) -> Any:
        plan = plan_scan(self, *args, **options)
        if not plans:
            shutil.rmtree(plan.partitions[1].location.removeprefix("file:"))
            metastore.drop_partitions(table.database, table.name, ["ds=2"], if_exists=False)
        plans.append(plan)
        return plan

    monkeypatch.setattr(MetastoreClient, "plan_scan", drop_after_the_plan)
    assert read_ids(dataset(metastore, table.full_name)) == [1, 2]
    assert [len(plan.partitions) for plan in plans[:3]] == [2, 1, 1]


def test_partitions_without_files_or_directory_have_no_rows(metastore: MetastoreClient, table: Written) -> None:
    shutil.rmtree(table.overwrite(["2"], ids(4)))
    Path(table.overwrite(["3"])).mkdir(parents=True)
    assert read_ids(dataset(metastore, table.full_name)) == [1, 2]


def test_a_directory_whose_newer_rows_are_elsewhere_is_rejected(metastore: MetastoreClient, table: Written) -> None:
    old = Path(table.overwrite(["2"], ids(4)))
    (old / f"{NEWER_ROWS_MARKER}id").touch()
    with pytest.raises(UnreadableTableError, match="was overwritten, and its newer rows are in another directory"):
        dataset(metastore, table.full_name)


def test_readers_never_see_a_mixture(metastore_server: Server, metastore: MetastoreClient) -> None:
    """Each overwrite writes one number into all rows of all partitions, in one transaction."""
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    seen: dict[str, set[int]] = {name: set() for name in ENGINES}
    mixed: list[tuple[str, list[int]]] = []
    done = threading.Event()

    def write(number: int) -> None:
        query_id = written.begin()
        root = f"{written.root}/_versions/{query_id}"
        for day in ("1", "2", "3"):
            written.write(f"{root}/ds={day}", query_id, ids(*[number] * 5))
            written.write(f"{root}/ds={day}", query_id, ids(*[number] * 5))
        written.publish_all(query_id, {(day,): f"file:{root}/ds={day}" for day in ("1", "2", "3")})

    def overwrite() -> None:
        try:
            for number in range(1, OVERWRITES):
                write(number)
        finally:
            done.set()

    def read_until_done(engine: str) -> None:
        with connect(metastore_server.uri) as client:
            while not done.is_set():
                numbers = ENGINES[engine](dataset(client, written.full_name))
                seen[engine].update(numbers)
                if len(numbers) != 30 or len(set(numbers)) != 1:
                    mixed.append((engine, numbers))

    write(0)
    with ThreadPoolExecutor(len(ENGINES) + 1) as threads:
        for each in [threads.submit(overwrite), *(threads.submit(read_until_done, engine) for engine in ENGINES)]:
            each.result()
    assert mixed == []
    assert read_ids(dataset(metastore, written.full_name)) == [OVERWRITES - 1] * 30
    assert min(map(len, seen.values())) >= 1
    assert max(map(len, seen.values())) > 1
