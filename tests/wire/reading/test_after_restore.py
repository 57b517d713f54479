"""Readers after the database was restored to an older moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from metastore.cli.commands import run
from metastore.client import connect, dataset, files, read
from tests.fixtures.server import running
from tests.wire.reading.tables import make_table

pytestmark = pytest.mark.slow


def ids(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def test_rows_of_the_restored_moment(make_database: Callable[..., str], tmp_path: Path) -> None:
    """Files that the lost history replaced, dropped or wrote: readers have those of the backup, and no others."""
    url, backup = make_database(), tmp_path / "backup"
    with running(url, tmp_path, other_roots=()) as server, connect(server.uri) as client:
        table = make_table(client, {"id": "bigint"}, {"ds": "string"})
        for day, number in (("1", 1), ("2", 2)):
            table.overwrite([day], ids(number))
        assert run(["db", "backup", str(backup), "--database-url", url]) == 0
        table.overwrite(["1"], ids(7))
        table.overwrite(["3"], ids(8))
        client.drop_partitions(table.database, table.name, ["ds=2"], if_exists=False)
        assert sorted(read(table.full_name, uri=client)["id"].to_pylist()) == [7, 8]
    restored = make_database(empty=True)
    assert run(["db", "restore", str(backup), "--database-url", restored]) == 0
    places = ["--warehouse", str(tmp_path / "warehouse"), "--allowed-locations", str(tmp_path.parent)]
    assert run(["db", "restored", "--database-url", restored, *places]) == 0
    with running(restored, tmp_path) as server, connect(server.uri) as client:
        assert sorted(read(table.full_name, uri=client)["id"].to_pylist()) == [1, 2]
        assert len([*files(server.uri, table.full_name)]) == 2
        table.client = client
        location = table.overwrite(["1"], ids(9))
        table.append(["1"], location, ids(10))
        planned = dataset(client, table.full_name)
        client.clean(table.database, table.name, grace=0)
        assert sorted(planned.to_table()["id"].to_pylist()) == [2, 9, 10]
