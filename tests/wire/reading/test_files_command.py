"""`metastore files`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from metastore.cli.commands import run
from metastore.client import MetastoreClient
from metastore.domain.partition_names import DEFAULT_PARTITION
from tests.fixtures.server import Server
from tests.wire.reading.tables import make_table


def test_files_are_listed(
    metastore: MetastoreClient, metastore_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    table = make_table(metastore, {"id": "bigint"}, {"ds": "string", "n": "int"})
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    directory = Path(table.overwrite(["a/b", "1"], rows))
    table.overwrite(["c", DEFAULT_PARTITION], rows, rows)
    table.write(str(directory), table.begin(), rows)
    (file, _) = sorted(directory.iterdir())

    arguments = ["files", table.full_name, "--uri", metastore_server.uri]
    assert run([*arguments, "--where", "n = 1 and ds like 'a%'"]) == 0
    assert capsys.readouterr().out == f"{file}\t{file.stat().st_size}\t\tds=a%2Fb/n=1\n"
    assert run([*arguments, "--rows", "--format", "json"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["partition"], each["rows"]) for each in printed] == [
        ({"ds": "a/b", "n": "1"}, 2),
        ({"ds": "c", "n": None}, 2),
        ({"ds": "c", "n": None}, 2),
    ]


@pytest.mark.parametrize(
    ("name", "where", "message"),
    [
        ("missing", None, "default.missing table not found. List the tables with: metastore tables default\n"),
        ("no table!", None, "metastore: 'no table!' is not a valid name. Write DATABASE.TABLE.\n"),
        (None, "y = 1", "t has no column y, which where names; it has id\n"),
        (None, "id", "expected a comparison, found the end of the filter\n"),
    ],
)
def test_mistakes_are_one_line(
    metastore: MetastoreClient,
    metastore_server: Server,
    capsys: pytest.CaptureFixture[str],
    name: str | None,
    where: str | None,
    message: str,
) -> None:
    full_name = name or make_table(metastore, {"id": "bigint"}).full_name
    options = ["--where", where] if where else []
    assert run(["files", full_name, "--uri", metastore_server.uri, *options]) == 1
    assert capsys.readouterr().err.endswith(message)
