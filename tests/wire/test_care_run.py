"""`metastore care run` with a stand-in for the Spark client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server
from tests.wire.builders import partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import AddPartitionsRequest, Database

KEYS = [("dt", "string")]
OLD = {"numFiles": "20", "totalSize": str(20 * 2**20), "transient_lastDdlTime": "1"}
ON = {"care.compaction": "on", "care.compaction.quiet.period": "0"}
RETENTION = {"care.retention.key": "dt", "care.retention.period": "30d"}
# It prints its arguments to a file. `python -m` searches the working directory first.
STAND_IN = """
import json, sys
open("arguments", "w").write(json.dumps(sys.argv[1:]))
print("noise")
for line in {lines!r}:
    print(json.dumps(line))
sys.stderr.write("java.lang.OutOfMemoryError")
sys.exit({status})
"""


@pytest.fixture
def database(hive_client: Any) -> str:
    """Tables with small files: `on` and `report` by their policy, and `old`, whose partitions have expired."""
    name = unique("db")
    hive_client.create_database(Database(name))
    for each, parameters in (("on", ON), ("report", {**ON, "care.compaction": "report"}), ("old", {**ON, **RETENTION})):
        hive_client.create_table(table(name, each, KEYS, parameters=parameters))
        hive_client.add_partitions(
            [partition(name, each, [day], parameters=OLD) for day in ("2001-01-01", "2999-01-01")]
        )
    return name


def care(
    folder: Path, server: Server, *arguments: str, lines: Sequence[dict[str, Any]] = (), status: int = 0
) -> subprocess.CompletedProcess[str]:
    package = folder / "spark_client" / "commands"
    package.mkdir(parents=True, exist_ok=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "care.py").write_text(STAND_IN.format(lines=list(lines), status=status))
    command = [sys.executable, "-c", "from metastore.cli import main; main()", "care", "run", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "check": False}
    return subprocess.run([*command, "--uri", server.uri], **options)


def brief(done: subprocess.CompletedProcess[str]) -> list[tuple[str, ...]]:
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(row[0].partition(".")[2], *row[1:3], row[-1]) for row in rows]


def test_a_dry_run_lists_and_changes_nothing(
    hive_client: Any, metastore_server: Server, database: str, tmp_path: Path
) -> None:
    done = care(tmp_path, metastore_server, database, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(brief(done)) == [
        ("old", "compaction", "dt=2999-01-01", "would be compacted"),
        ("old", "retention", "dt=2001-01-01", "would be dropped"),
        ("on", "compaction", "dt=2001-01-01", "would be compacted"),
        ("on", "compaction", "dt=2999-01-01", "would be compacted"),
    ]
    assert not (tmp_path / "arguments").exists()
    assert len(hive_client.get_partition_names(database, "old", -1)) == 2


def test_a_run_drops_and_compacts(hive_client: Any, metastore_server: Server, database: str, tmp_path: Path) -> None:
    figures = {"files": 20, "bytes": 9, "files_after": 1, "bytes_after": 8}
    on = {"table": f"{database}.on", "action": "compaction"}
    lines = [
        {**on, "partition": "dt=2001-01-01", **figures, "outcome": "compacted"},
        {**on, "partition": "dt=2999-01-01", **figures, "outcome": "failed: the disk is full"},
        {**on, "table": f"{database}.old", "refused": "it was dropped"},
        {**on, "table": f"{database}.old", "skipped": "another run cares for it"},
        {**on, "action": "statistics", "partition": "dt=1", "files": 1, "bytes": 2, "outcome": "counted from footers"},
        {"finished": True},
    ]
    options = ["--max-bytes", "50GiB", "--max-minutes", "90", "--master", "local[2]"]
    done = care(tmp_path, metastore_server, database, *options, lines=lines)
    assert done.returncode == 1
    assert brief(done) == [
        ("old", "retention", "dt=2001-01-01", "dropped"),
        ("on", "compaction", "dt=2001-01-01", "compacted"),
        ("on", "compaction", "dt=2999-01-01", "failed: the disk is full"),
        ("old", "compaction", "", "refused: it was dropped"),
        ("old", "compaction", "", "skipped: another run cares for it"),
        ("on", "statistics", "dt=1", "counted from footers"),
    ]
    tables, *given = json.loads((tmp_path / "arguments").read_text())
    assert tables == f"{database}.on,{database}.old", "the most removed files for each byte first"
    assert given[:3] == [f"--uri={metastore_server.uri}", "--master=local[2]", f"--max-bytes={50 * 2**30}"]
    assert 0 < float(given[3].removeprefix("--max-seconds=")) <= 90 * 60
    assert hive_client.get_partition_names(database, "old", -1) == ["dt=2999-01-01"]


def test_statistics_are_counted(hive_client: Any, metastore_server: Server, database: str, tmp_path: Path) -> None:
    changed = hive_client.get_table(database, "report")
    changed.parameters["care.statistics"] = "on"
    hive_client.alter_table(database, "report", changed)
    accurate = partition(database, "report", ["x"], parameters={**OLD, "COLUMN_STATS_ACCURATE": "{}"})
    hive_client.add_partitions_req(AddPartitionsRequest(database, "report", [accurate], ifNotExists=False))
    rows = brief(care(tmp_path, metastore_server, f"{database}.report", "--dry-run"))
    days = ("dt=2001-01-01", "dt=2999-01-01")
    assert rows == [("report", "statistics", day, "would be counted") for day in days]
    done = care(tmp_path, metastore_server, f"{database}.report", lines=[{"finished": True}])
    assert (done.returncode, done.stderr) == (0, "")
    tables, *given = json.loads((tmp_path / "arguments").read_text())
    assert (tables, given[-1]) == ("", f"--statistics={database}.report")


def test_nothing_to_compact_starts_no_spark(metastore_server: Server, database: str, tmp_path: Path) -> None:
    done = care(tmp_path, metastore_server, f"{database}.report")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "arguments").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"error": "no metastore answered"}], "metastore: no metastore answered\n"),
        ([], "metastore: Spark exited with status 3: java.lang.OutOfMemoryError\n"),
    ],
)
def test_a_failure_of_spark_is_one_line(
    metastore_server: Server, database: str, tmp_path: Path, lines: list[dict[str, Any]], message: str
) -> None:
    done = care(tmp_path, metastore_server, f"{database}.on", lines=lines, status=3)
    assert (done.returncode, done.stderr) == (1, message)


def test_an_invalid_size_is_one_line(metastore_server: Server, database: str, tmp_path: Path) -> None:
    done = care(tmp_path, metastore_server, database, "--max-bytes", "much")
    assert (done.returncode, done.stderr) == (1, "metastore: --max-bytes 'much' is not a size: write 50GiB\n")
