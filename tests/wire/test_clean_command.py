"""`metastore clean`, and cleaning on a file system that is not local."""

from __future__ import annotations

import json
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from metastore.app.worker import Application
from metastore.cli.commands import run
from metastore.warehouse.file_systems import opened
from metastore.warehouse.filesystem import Warehouse
from tests.fixtures.application import called
from tests.fixtures.server import Server
from tests.wire.builders import descriptor, new_table, partition, table
from tests.wire.writing import begin, day, files_below, let_die, publish, write_file
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    PublishMode,
    PublishRequest,
    Rename,
    RenewWriteRequest,
    ScanRequest,
)

Capture = pytest.CaptureFixture[str]


def test_the_command_lists_and_removes(
    metastore_client: Any, metastore_server: Server, tmp_path: Path, capsys: Capture
) -> None:
    root = f"file:{tmp_path}/t"
    name = new_table(metastore_client, [("ds", "string")], sd=descriptor(root))
    metastore_client.add_partition(partition(*name, ["1"]))
    write_file(f"{root}/ds=1/part-0", "four")
    write = begin(metastore_client, name)
    moved = day(root, "1", PublishMode.OVERWRITE, location=f"{root}/_versions/{write}/ds=1")
    publish(metastore_client, name, write, moved)
    command = ["clean", ".".join(name), "--uri", metastore_server.uri]

    def shown(*options: str) -> tuple[str, str]:
        assert run([*command, *options]) == 0
        output = capsys.readouterr()
        return output.out, output.err

    waiting = "0 files (0 bytes) removed. 1 locations are kept for their grace period or for running writes.\n"
    assert shown() == ("", waiting)
    line = f"{root}/ds=1\treplaced\t1\t4\t{write}\t\n"
    summary = "1 files (4 bytes) {}removed. 0 locations are kept for their grace period or for running writes.\n"
    assert shown("--grace", "0", "--dry-run") == (line, summary.format("would be "))
    told = json.loads(shown("--grace", "0", "--dry-run", "--format", "json")[0])
    assert told == {
        "dryRun": True,
        "locations": [
            {"location": f"{root}/ds=1", "reason": "replaced", "files": 1, "bytes": 4, "queryId": write, "error": None}
        ],
        "waiting": 0,
    }
    assert files_below(root) == {"ds=1/part-0"}
    assert shown("--grace", "0", "--unregistered") == (line, summary.format(""))
    assert files_below(root) == set()


def test_mistakes_and_failures_are_one_line(
    metastore_client: Any, metastore_server: Server, tmp_path: Path, capsys: Capture
) -> None:
    def failed(*options: str, status: int = 1) -> str:
        assert run(["clean", *options, "--uri", metastore_server.uri]) == status
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    root = f"file:{tmp_path}/t"
    name = new_table(metastore_client, [("ds", "string")], sd=descriptor(root))
    assert "nope" in failed("nope")
    assert "nope.t table not found" in failed("nope.t")
    for grace in ("-1", "inf", "nan", "1e300"):
        assert "--grace" in failed("--grace", grace, status=2)
    publish(metastore_client, name, "q", day(root, "1", location="gs://missing/y"))
    publish(metastore_client, name, "q", retired=["gs://missing/y/old"])
    assert "1 of 1 locations could not be removed: gs://missing/y/old" in failed(".".join(name), "--grace", "0")


def test_cleaning_in_memory(application: Application, database_url: str) -> None:
    """Behaves like an object store: renames are copies, and directories exist only as prefixes."""
    root, name = f"memory://test/{uuid.uuid4().hex}/t", ("db", "t")
    call, warehouse = partial(called, application), Warehouse("memory://test/warehouse", ["memory://test"])
    application.services.databases.create("hive", Database(name="db"))
    call("create_table", table(*name, [("ds", "string")], sd=descriptor(root)))
    call("add_partition", partition(*name, ["1"]))

    def write(location: str) -> None:
        with opened(location) as (files, path):
            files.pipe_file(path, b"x")

    def files() -> set[str]:
        return {file.location.removeprefix(f"{root}/") for file in warehouse.files(root)}

    write(f"{root}/ds=1/part-0")
    dead, other = (call("begin_write", BeginWriteRequest(*name)).queryId for _ in range(2))
    away = Rename(f"{root}/ds=1", f"{root}/_temp_{dead}_ds=1")
    call("renew_write", RenewWriteRequest(dead, [f"{root}/ds=2"], [f"{root}/ds=1"], [away]))
    warehouse.move_into(away.source, away.target)
    for directory in (f"_staging/{dead}", f"_versions/{dead}", "ds=2", "ds=1", f"_versions/{other}"):
        write(f"{root}/{directory}/part-0_{dead}")
    let_die(database_url, dead)
    dry = call("clean", CleanRequest(*name, graceMillis=0, dryRun=True))
    done = call("clean", CleanRequest(*name, graceMillis=0))
    assert done.locations == dry.locations
    assert [each.error for each in done.locations if each.error] == []
    assert files() == {"ds=1/part-0", f"_versions/{other}/part-0_{dead}"}
    moved = day(root, "1", PublishMode.OVERWRITE, location=f"{root}/_versions/{other}")
    call("publish", PublishRequest(*name, other, [moved]))
    (cleaned,) = call("clean", CleanRequest(*name, graceMillis=0)).locations
    assert (cleaned.location, cleaned.files) == (f"{root}/ds=1", 1)
    assert files() == {f"_versions/{other}/part-0_{dead}"}
    assert call("plan_scan", ScanRequest(*name)).openWrites == []
