"""`python -m tests.bench.faults kills|commits|races|locks`: prints the number of cases, and each failure."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import boto3
import click
from moto.server import ThreadedMotoServer
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.errors import MetastoreError
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.faults.commits import CommitDroppingProxy
from tests.bench.faults.installation import Bucket, LocalDisk, RunningInstallation
from tests.bench.faults.server import FAULTS
from tests.fixtures import server as servers
from tests.fixtures.server import running
from tests.wire import test_file_races as races
from tests.wire import test_lock_order as lock_order
from tests.wire.test_file_faults import ALL, CALLS, LEFT, Installation, published
from tests.wire.test_undrop_faults import DROPS
from thrift_idl.gen.hive_metastore.ttypes import Database, DropPartitionsRequest, RequestPartsSpec
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CleanRequest, UndropRequest

STEPS = ("intended", "made", "committed", "claimed", "moved", "put away", "removed", "done")
COMMITS = 4


class Case(NamedTuple):
    """A call, its preparation, and the rows that exist after it."""

    name: str
    before: Callable[[Installation], object]
    call: Callable[[Installation], object]
    left: Set[str]


def undropping(wanted: UndropRequest) -> Callable[[Installation], object]:
    return lambda installation: installation.call("undrop", wanted)


MORE: dict[str, tuple[Callable[[Installation], object], UndropRequest]] = {
    "overwriting": (published, UndropRequest("db", "days", None, "ds=1")),
    "table, by another name": (
        lambda installation: installation.call("drop_table", "db", "days", True),
        UndropRequest("db", "days", None, None, "weeks"),
    ),
    "partitions": (
        lambda installation: installation.call(
            "drop_partitions_req", DropPartitionsRequest("db", "days", RequestPartsSpec(names=["ds=1", "ds=2"]))
        ),
        UndropRequest("db", "days"),
    ),
}
CASES = {
    "0": [Case(name, lambda _: None, call, LEFT.get(name, ALL)) for name, call in CALLS.items()],
    "3600": [Case(f"undrop {name}", drop, undropping(wanted), ALL) for name, (drop, wanted) in (DROPS | MORE).items()],
}
"""Cases by METASTORE_DROP_RETENTION, in seconds."""


def chosen(only: Sequence[str]) -> dict[str, list[Case]]:
    """Returns the calls whose names start with this text; all without one."""
    actual = {
        undrop: [case for case in those if case.name.startswith(tuple(only) or "")] for undrop, those in CASES.items()
    }
    return {undrop: those for undrop, those in actual.items() if those}


@contextmanager
def database() -> Iterator[tuple[str, Path]]:
    """Starts a PostgreSQL. Yields its address and a folder."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with EmbeddedPostgres(folder / "postgres", connections=100) as postgres:
            runner.upgrade(postgres.url)
            yield postgres.url, folder


@contextmanager
def bucket() -> Iterator[Any]:
    """Starts an S3 server with a bucket, and sets the environment of child processes for it."""
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    known = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    try:
        with patch.dict(os.environ, known):
            client: Any = boto3.client("s3")
            client.create_bucket(Bucket="bucket")
            yield client
    finally:
        server.stop()


@contextmanager
def installation(
    s3: bool, undrop: str, *, drops_commits: bool = False
) -> Iterator[tuple[RunningInstallation, Path, CommitDroppingProxy | None]]:
    """Yields an installation, the file that names the step at which the server dies, and, if requested, a proxy that
    drops COMMITs or their replies.
    """
    with ExitStack() as stack:
        url, folder = stack.enter_context(database())
        disk: LocalDisk | Bucket = LocalDisk(str(folder / "warehouse"))
        if s3:
            disk = Bucket("s3a://bucket/w", stack.enter_context(bucket()))
        control = folder / "control"
        proxy = CommitDroppingProxy(url) if drops_commits else None
        stack.enter_context(patch.dict(os.environ, {} if drops_commits else {FAULTS: str(control)}))
        program = "metastore.cli" if drops_commits else "tests.bench.faults.server"
        stack.enter_context(patch.object(servers, "PROGRAM", program))
        options = (
            "--warehouse",
            disk.uri,
            "--allowed-locations",
            "",
            "--drop-retention",
            undrop,
            "--log-level",
            "ERROR",
        )
        server = stack.enter_context(running(proxy.url if proxy else url, folder, *options))
        yield RunningInstallation(server.port, url, disk), control, proxy


def attempt(one: RunningInstallation, case: Case, tally: Counter[str]) -> None:
    """Makes the call, and counts answers other than the expected one."""
    try:
        case.call(one)
    except (TException, TExceptionBase, MetastoreError) as error:
        tally[f"{case.name}: {type(error).__name__}"] += 1


def examine(one: RunningInstallation, case: Case, at: str) -> list[str]:
    """Returns the errors that are found after all operations have finished."""
    one.settled()
    one.call("clean", CleanRequest(graceMillis=0))
    return [f"{case.name}, {at}: {text}" for text in one.wrong(case.left)]


def report(kind: str, cases: int, tally: Counter[str], wrong: list[str]) -> None:
    click.echo(f"{kind}: {cases} cases, {len(wrong)} wrong; errors answered: {dict(tally)}")
    for line in wrong:
        click.echo(f"  {line}")


@click.group()
def main() -> None:
    """Checks what happens to files in the presence of faults."""


@main.command("kills")
@click.option("--s3", is_flag=True, help="Use an object store instead of local files.")
@click.option("--only", multiple=True, help="Only calls whose names begin with this text.")
def kills(s3: bool, only: tuple[str, ...]) -> None:
    """Kills a worker (-9) at every step of every call and undrop. The client then repeats its call."""
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    cases = 0
    for undrop, those in chosen(only).items():
        with installation(s3, undrop) as (one, control, _):
            for case, step in product(those, STEPS):
                case.before(one)
                control.write_text(step)
                before = one.broken
                attempt(one, case, tally)
                control.unlink(missing_ok=True)
                if one.broken > before:
                    cases += 1
                    wrong += examine(one, case, step)
                one.renewed()
                click.echo(f"{case.name}, {step}: {cases} cases so far, {len(wrong)} wrong", err=True)
    report(f"killed workers{' on S3' if s3 else ''}", cases, tally, wrong)
    sys.exit(bool(wrong))


@main.command("commits")
@click.option("--s3", is_flag=True, help="Use an object store instead of local files.")
@click.option("--only", multiple=True, help="Only calls whose names begin with this text.")
def commits(s3: bool, only: tuple[str, ...]) -> None:
    """Drops the nth COMMIT of each call, or its reply, in a proxy in front of PostgreSQL, and closes the connection."""
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    cases = 0
    for undrop, those in chosen(only).items():
        with installation(s3, undrop, drops_commits=True) as (one, _, proxy):
            assert proxy
            for case, number, arrives in product(those, range(1, COMMITS + 1), (True, False)):
                case.before(one)
                proxy.arm(number, arrives=arrives)
                attempt(one, case, tally)
                cases += proxy.disarm()
                at = f"{'answer to ' if arrives else ''}commit {number}"
                wrong += examine(one, case, at)
                one.renewed()
                click.echo(f"{case.name}, {at}: {cases} cases so far, {len(wrong)} wrong", err=True)
    report(f"dropped commits{' on S3' if s3 else ''}", cases, tally, wrong)
    sys.exit(bool(wrong))


@main.command("races")
@click.option("--rounds", default=1000, show_default=True, help="Of each kind.")
@click.option("--undrop", default="86400", show_default=True, help="Seconds for which drops can be taken back.")
@click.option("--only", multiple=True, help="Of the kinds whose names begin so.")
def race(rounds: int, undrop: str, only: tuple[str, ...]) -> None:
    """Races DROP against CREATE of tables, partitions and databases, and renames against new partitions, on two
    servers.
    """
    kinds = {
        "tables": races.test_tables,
        "partitions": races.test_partitions,
        "a database and a table in it": races.test_a_database_and_a_table_in_it,
        "a database and itself": races.test_a_database_and_itself,
        "a rename and new partitions": races.test_a_rename_and_partitions_that_are_added,
    }
    with database() as (url, folder), patch.object(races, "ROUNDS", rounds), ExitStack() as stack:
        made = [folder / "first", folder / "second"]
        for each in made:
            each.mkdir()
        options = (
            "--warehouse",
            str(folder / "warehouse"),
            "--allowed-locations",
            "",
            "--drop-retention",
            undrop,
            "--log-level",
            "ERROR",
        )
        both = [stack.enter_context(running(url, each, *options)) for each in made]
        clients = [stack.enter_context(servers.connected(each)) for each in both]
        clients[0].create_database(Database("db"))
        pair = races.Pair(clients, folder / "warehouse", url, keeps=undrop != "0")
        for kind, run in kinds.items():
            if not kind.startswith(only or ""):
                continue
            run(pair)
            click.echo(f"{kind}: {rounds} rounds, catalog and disk agree after each")
        problems = clients[0].check_files(CheckFilesRequest()).problems
        click.echo(f"check: {len(problems)} problems")
        sys.exit(bool(problems))


@main.command("locks")
@click.option("--undrop", default=0.0, show_default=True, help="Seconds for which drops can be taken back.")
@click.option("--only", multiple=True, help="Only calls whose names begin with this text.")
def locks(undrop: float, only: tuple[str, ...]) -> None:
    """Runs each call while another one is stopped after each of its statements. No call may report a deadlock."""
    rounds, wrong = 0, list[str]()
    with database() as (url, folder), closing(lock_order.Two(url, folder, undrop)) as two:
        calls = {name: call for name, call in lock_order.CALLS.items() if name.startswith(only or "")}
        for (one, first), (other, second) in product(calls.items(), lock_order.CALLS.items()):
            for conflicts in two.meetings(first, second):
                rounds += 1
                wrong += [f"{one} beside {other}: {error}" for error in conflicts]
            click.echo(f"{one} beside {other}: {rounds} rounds so far, {len(wrong)} wrong", err=True)
    report("locks", rounds, Counter(), wrong)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
