"""Creates the condition of each alert on a running server, reads the metrics, and lets promtool evaluate the rules.

The samples are real. promtool extrapolates them, because some rules wait for an hour.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import trustme
import yaml
from sqlalchemy import create_engine, text

from metastore.app import Application
from metastore.client import Credentials, connect
from metastore.security.passwords import PasswordFile
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.application import called
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.proxy import Proxy
from tests.fixtures.server import Server, connected, running
from tests.image.test_alerts import ALERTS, FILE, promtool
from tests.wire.builders import descriptor, new_table, partition, table
from tests.wire.dependencies.requests import DS, HR, add_to_dependent, create
from tests.wire.monitoring.pages import HTTP, samples
from thrift_idl.gen.hive_metastore.ttypes import Database

STEP: Final = 2  # seconds between two samples
COUNT: Final = 12  # samples of a condition
_LASTS: Final = 2 * 3600 // STEP  # samples by which a series is continued
_NAMES: Final = sorted({name for rule in ALERTS.values() for name in re.findall(r"metastore_\w+", rule["expr"])})


@dataclass
class Rehearsal:
    """A server and its metrics. `series`: the samples of each series, oldest first."""

    server: Server
    proxy: Proxy
    database_url: str
    home: Path
    series: dict[str, list[float]] = field(default_factory=dict)

    def sample(self) -> None:
        """Reads the metrics of the rules, a few times."""
        match = HTTP.search(self.server.ready)
        assert match
        for number in range(COUNT):
            with suppress(OSError):
                for name, found in samples(match[1]).items():
                    if name in _NAMES or name == "metastore_call_seconds_count":
                        for one in found:
                            labels = ",".join(
                                f'{key}="{value}"' for key, value in {**one.labels, "instance": "a"}.items()
                            )
                            values = self.series.setdefault(f"{name}{{{labels}}}", [0.0] * number)
                            values.append(one.value)
            time.sleep(STEP)

    def firing(self) -> set[str]:
        """Returns the alerts that fire if the condition persists."""
        written = {}
        for name, values in self.series.items():
            slope = max(0.0, (values[-1] - values[len(values) // 2]) / max(1, len(values) - 1 - len(values) // 2))
            written[name] = " ".join(f"{value:g}" for value in values) + f" {values[-1] + slope:g}+{slope:g}x{_LASTS}"
        test = {
            "rule_files": [str(FILE)],
            "evaluation_interval": "1m",
            "tests": [
                {
                    "interval": f"{STEP}s",
                    "input_series": [{"series": name, "values": values} for name, values in written.items()],
                    "alert_rule_test": [{"eval_time": "2h", "alertname": name, "exp_alerts": []} for name in ALERTS],
                }
            ],
        }
        file = self.home / "test.yaml"
        file.write_text(yaml.safe_dump(test))
        result = promtool("test", "rules", file)
        return set(re.findall(r"alertname: (\w+)", result.stdout + result.stderr))

    def command(self, *arguments: str) -> str:
        """Runs a command of the runbook, and returns its output."""
        command = [sys.executable, "-m", "metastore.cli", *arguments]
        options = ("--uri", self.server.uri) if arguments[0] not in ("db", "calls") else ()
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=120)
        return f"$ metastore {' '.join(arguments)}\n{done.stdout}{done.stderr}(status {done.returncode})\n"


@contextmanager
def rehearsal(*options: str) -> Iterator[Rehearsal]:
    """Starts PostgreSQL, a proxy to it, and a server with an HTTP port."""
    with ExitStack() as stack:
        folder = stack.enter_context(reachable_folder())
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(EmbeddedPostgres(folder / "data", 100))
        runner.upgrade(postgres.url)
        proxy = Proxy(postgres.url)
        given = ("--http-port", "0", "--http-token-file", str(home / "token"), *options)
        server = stack.enter_context(running(proxy.url, home, *given))
        yield Rehearsal(server, proxy, postgres.url, home)


@contextmanager
def _busy(here: Rehearsal, clients: int, deed: Callable[[Any, int], object]) -> Iterator[None]:
    """Runs clients that repeat a call after any reply."""
    ended = threading.Event()

    def run(number: int) -> None:
        while not ended.is_set():
            with suppress(Exception), connected(here.server) as client:
                while not ended.is_set():
                    deed(client, number)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(30)


def file_operations_fail() -> tuple[set[str], str]:
    """A file is at the path of the trash."""
    with rehearsal() as here, connected(here.server) as client:
        database, name = new_table(client)
        (here.home / "warehouse" / ".metastore_trash").write_text("")
        client.drop_table(database, name, True)
        time.sleep(1)
        execute(here.database_url, "UPDATE file_operations SET failing_since = failing_since - interval '20 minutes'")
        here.sample()
        fired, shown = here.firing(), here.command("check")
        (here.home / "warehouse" / ".metastore_trash").unlink()
        return fired, shown + here.command("check", "--repair") + here.command("check")


def parked_operations() -> tuple[set[str], str]:
    """A server died while it renamed a table in a location that the next server may not use."""

    def die(step: str) -> None:
        if step == "committed":
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(dir="/var/tmp") as other, rehearsal() as here:
        settings = Settings(
            warehouse=str(here.home / "warehouse"), database_url=here.database_url, allowed_locations=other
        )
        dying = Application(settings, here.database_url, on_step=die)
        called(dying, "create_database", Database("far", locationUri=f"file:{other}/far.db"))
        called(dying, "create_table", table("far", "t"))
        renamed = table("far", "u", sd=descriptor(f"file:{other}/far.db/t"))
        with suppress(KeyboardInterrupt):
            called(dying, "alter_table", "far", "t", renamed)
        dying.close()
        execute(here.database_url, "UPDATE file_operations SET lease_ends_at = NULL")
        time.sleep(15)  # the timer that finishes the operations of dead servers
        here.sample()
        return here.firing(), here.command("check") + here.command("check", "--repair")


def groups_fail() -> tuple[set[str], str]:
    """A line of the file of groups is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        passwords, groups, pem = (Path(folder) / name for name in ("passwords", "groups", "certificate.pem"))
        PasswordFile(passwords).add("alice", "wonder")
        groups.write_text("analysts: alice\n")
        authority = trustme.CA()
        authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(pem))
        authority.cert_pem.write_to_path(f"{folder}/ca.pem")
        options = ["--authentication", "password", "--password-file", str(passwords), "--group-mapping", str(groups)]
        with rehearsal("--tls", "allowed", "--tls-certificate", str(pem), *options) as here:
            shown = Credentials(tls=True, ca=f"{folder}/ca.pem", user="alice", password="wonder")
            with connect(f"thrift://localhost:{here.server.port}", credentials=shown) as client:
                client.methods.get_all_databases()
            groups.write_text("analysts: alice\nno colon\n")
            ended = threading.Event()

            def call() -> None:
                while not ended.wait(0.5):
                    with connect(f"thrift://localhost:{here.server.port}", credentials=shown) as client:
                        client.methods.get_all_databases()

            thread = threading.Thread(target=call)
            thread.start()
            time.sleep(62)  # groups are cached for a minute
            here.sample()
            ended.set()
            thread.join()
            lines = [line for line in here.server.log.read_text().splitlines() if "has no groups for now" in line]
            return here.firing(), lines[-1]


def unreconciled() -> tuple[set[str], str]:
    """The database has lost commits."""
    with rehearsal() as here, connected(here.server) as client:
        client.create_database(Database("db"))
        time.sleep(12)  # the server writes the state of the catalog to the warehouse
        execute(here.database_url, "UPDATE notification_sequence SET last_event_id = 0")
        time.sleep(12)
        here.sample()
        fired, shown = here.firing(), here.command("check")
        given = ("--database-url", here.database_url, "--warehouse", str(here.home / "warehouse"))
        return fired, shown + here.command("db", "restored", *given) + here.command("check")


def waiting_for_threads() -> tuple[set[str], str]:
    """A session holds a row, and more calls wait for it than there are threads."""
    with rehearsal("--max-threads", "2", "--lock-timeout", "5s") as here, connected(here.server) as client:
        database, name = new_table(client)
        stored = client.get_table(database, name)
        engine = create_engine(here.database_url)
        with engine.connect() as blocker, _busy(here, 8, lambda one, _: one.alter_table(database, name, stored)):
            blocker.execute(text("SELECT 1 FROM tables FOR UPDATE"))
            here.sample()
            shown = here.command("calls", "--now", *_http(here))
        engine.dispose()
        return here.firing(), shown


def memory() -> tuple[set[str], str]:
    """Clients read all partitions of a large table, in a worker with little memory."""
    with rehearsal("--memory-limit", "220MiB", "--slow-call-threshold", "100ms") as here:
        with connected(here.server) as client:
            client.create_database(Database("large"))
            client.create_table(table("large", "t", [("ds", "string")]))
            for start in range(0, 20_000, 1000):
                rows = [
                    partition("large", "t", [str(n)], parameters={"p": "x" * 500}) for n in range(start, start + 1000)
                ]
                client.add_partitions(rows)
        with _busy(here, 8, lambda one, _: one.get_partitions("large", "t", -1)):
            here.sample()
            shown = here.command("calls", "--slow", *_http(here))
        shares = [max(values) / (220 * 2**20) for name, values in here.series.items() if "resident_bytes" in name]
        return here.firing(), f"resident at most {max(shares):.2f} of the limit\n" + shown[:3000]


def stale_dependents() -> tuple[set[str], str]:
    """A base partition changed two days ago, and its dependent partition did not follow."""
    with rehearsal() as here, connected(here.server) as client:
        client.create_database(Database("db"))
        client.create_table(table("db", "base", [DS, HR]))
        client.add_partitions([partition("db", "base", ["1", "1"])])
        create(client, "db", "daily", "base")
        add_to_dependent(client, "db", "daily", ["1"])
        client.add_partitions([partition("db", "base", ["1", "2"])])
        execute(
            here.database_url,
            "UPDATE partitions SET parameters = jsonb_set(parameters::jsonb, '{transient_lastDdlTime}', to_jsonb("
            "((parameters ->> 'transient_lastDdlTime')::bigint - 2 * 86400)::text))",
        )
        time.sleep(65)
        here.sample()
        shown = here.command("dependencies", "db.daily@ds=1", "--up") + here.command("impact", "db.base")
        ages = [values[-1] for name, values in here.series.items() if "oldest_stale" in name]
        return here.firing(), f"age {ages}\n{shown}"


def error_budget() -> tuple[set[str], str]:
    """PostgreSQL is away."""
    with rehearsal() as here:
        with connected(here.server) as client:
            database, name = new_table(client)
        with _busy(here, 2, lambda one, _: (one.get_table(database, name), time.sleep(0.05))):
            time.sleep(3)
            here.proxy.cut()
            time.sleep(11)  # calls wait for the end of a short outage
            here.sample()
            shown = here.command("calls", "--now", *_http(here))
            here.proxy.restore()
        return here.firing(), shown


def latency_budget() -> tuple[set[str], str]:
    """Each call waits for half a second."""
    with rehearsal("--slow-call-threshold", "100ms") as here:
        with connected(here.server) as client:
            database, name = new_table(client)
        engine, ended = create_engine(here.database_url), threading.Event()

        def block() -> None:
            while not ended.is_set():
                with engine.begin() as connection:
                    connection.execute(text("LOCK TABLE tables IN ACCESS EXCLUSIVE MODE"))
                    time.sleep(0.5)

        thread = threading.Thread(target=block)
        thread.start()
        with _busy(here, 4, lambda one, _: one.get_table(database, name)):
            here.sample()
            shown = here.command("calls", "--slow", *_http(here))
        ended.set()
        thread.join()
        engine.dispose()
        return here.firing(), shown[:2000]


def _http(here: Rehearsal) -> tuple[str, ...]:
    match = HTTP.search(here.server.ready)
    assert match
    return ("--url", match[1], "--http-token-file", str(here.home / "token"))


CONDITIONS: Final = {
    "MetastoreParkedFileOperations": parked_operations,
    "MetastoreCannotReadGroups": groups_fail,
    "MetastoreFileOperationsFail": file_operations_fail,
    "MetastoreUnreconciled": unreconciled,
    "MetastoreWaitsForThreads": waiting_for_threads,
    "MetastoreMemory": memory,
    "MetastoreStaleDependents": stale_dependents,
    "MetastoreErrorBudgetFast": error_budget,
    "MetastoreLatencyBudgetFast": latency_budget,
}


def rehearse(only: str) -> int:
    """Creates each condition, prints the output of the runbook's commands, and returns the exit status."""
    missing = 0
    for alert, condition in CONDITIONS.items():
        if only in ("all", alert):
            fired, shown = condition()
            missing += alert not in fired
            sys.stdout.write(
                f"== {alert}: {'fires' if alert in fired else 'DOES NOT FIRE'}, with {sorted(fired)}\n{shown}\n"
            )
            sys.stdout.flush()
    return int(missing > 0)
