"""A server on a hot standby: rejected at the start, or read-only with METASTORE_READ_ONLY=true."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from sqlalchemy import NullPool, create_engine, text

from metastore.cli.commands import run
from migrations import runner
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.server import connected, running
from tests.fixtures.standby import hot_standby
from tests.wire.builders import new_table, partition

Replicated = tuple[str, str, str]  # URL of the standby, database, table


@pytest.fixture(scope="module")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    """A standby that has a table with five partitions."""
    with reachable_folder() as folder, installed_postgres(folder, tls=False) as primary:
        runner.upgrade(primary)
        with hot_standby(folder, primary) as standby:
            with running(primary, tmp_path_factory.mktemp("primary")) as server, connected(server) as client:
                database, name = new_table(client, [("ds", "string")])
                client.add_partitions([partition(database, name, [str(number)]) for number in range(5)])
            wait_for_replay(primary, standby)
            yield standby, database, name


def wait_for_replay(primary: str, standby: str) -> None:
    with create_engine(primary, poolclass=NullPool).connect() as connection:
        end = connection.scalar(text("SELECT pg_current_wal_flush_lsn()"))
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with create_engine(standby, poolclass=NullPool).connect() as connection:
            if connection.scalar(text("SELECT pg_last_wal_replay_lsn() >= cast(:end AS pg_lsn)"), {"end": end}):
                return
        time.sleep(0.05)
    pytest.fail("the standby does not follow")


def test_a_standby_is_rejected(replicated: Replicated, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--database-url", replicated[0], "--database-startup-timeout", "0", "--warehouse", str(tmp_path)]
    assert run(["doctor", *arguments]) == 1
    assert "error    database" in (output := capsys.readouterr().out)
    assert "is a standby, which accepts no writes: connect to the primary" in output
    start = replicated[0], tmp_path, "--database-startup-timeout", "0"
    with pytest.raises(AssertionError, match="METASTORE_READ_ONLY=true"), running(*start):
        pytest.fail("it started")


def test_a_read_only_server_serves_a_standby(replicated: Replicated, tmp_path: Path) -> None:
    _, database, name = replicated
    options = ("--read-only", "--http-port", "0", "--cleanup-interval", "1s")
    with running(replicated[0], tmp_path, *options) as server, connected(server) as client:
        assert client.get_table(database, name).owner == "me"
        assert len(client.get_partitions(database, name, -1)) == 5
        assert [each.values for each in client.get_partitions_by_filter(database, name, "ds = '3'", -1)] == [["3"]]
        with pytest.raises(Exception, match="read-only"):
            client.drop_table(database, name, True)
        address = re.search(r"metrics on (http://[^/]+)", server.ready)
        assert address
        with urlopen(f"{address[1]}/health/ready") as reply:
            assert reply.status == 200
        time.sleep(2.5)  # two runs of the background jobs
        log = server.log.read_text()
    jobs = re.findall(r"Background job failed and will be retried: ([^:]+):", log)
    assert len(jobs) == len(set(jobs)), log
    assert "accepts no writes" in log


def test_doctor_accepts_a_standby_for_reads(
    replicated: Replicated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["doctor", "--database-url", replicated[0], "--read-only", "--warehouse", str(tmp_path)])
    assert re.search(r"^ok +database .*accepts reads$", capsys.readouterr().out, re.MULTILINE)
