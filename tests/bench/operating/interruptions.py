"""Interruptions of a catalog under eight writers that repeat a failed call once.

- `pooler`: PgBouncer in transaction mode is killed and started again. `session-pooler`: the same in session mode.
- `rotation`: the password of the role changes, the file follows later, and all connections are cut.
- `failover`: the primary is killed and its synchronous standby promoted. The database URL names both.
- `switchover`: the same with one address, which leads to a standby for a while.
- `rolling`: first the schema and then two servers of an older commit are upgraded.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy.engine import make_url

from migrations import runner
from tests.bench.operating.once import WriterOnce
from tests.bench.operating.rolling import Servers, checked_out
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import free_port, installed_postgres, unprivileged
from tests.fixtures.proxy import Proxy
from tests.fixtures.server import Server, connected, running
from tests.fixtures.standby import control, hot_standby
from tests.wire.builders import new_table

WRITERS: Final = 8
INTERVAL: Final = 3.0  # seconds between two interruptions
TIMES: Final = 3
OUTAGE: Final = 1.0  # seconds without a primary in a fail-over
Wrong = list[str]


def interrupt(kind: str, commit: str) -> int:
    """Runs one kind of interruption. Returns the exit status: 1 if a change was lost or a call failed twice."""
    with ExitStack() as stack:
        folder = stack.enter_context(reachable_folder())
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wrong = _rolling(folder, home, commit) if kind == "rolling" else KINDS[kind](folder, home)
    sys.stdout.writelines(f"    {line}\n" for line in wrong[:5])
    return int(bool(wrong))


def _pooler(folder: Path, home: Path, mode: str = "transaction") -> Wrong:
    with installed_postgres(folder, tls=False) as url:
        runner.upgrade(url)
        target, port, file = make_url(url), free_port(), folder / "pgbouncer.ini"
        sessions = 4 if mode == "transaction" else 40  # in session mode, each connection of a server needs its own
        file.write_text(
            f"[databases]\n* = host=127.0.0.1 port={target.port} user={target.username} password={target.password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = {mode}\n"
            f"unix_socket_dir =\ndefault_pool_size = {sessions}\n"
        )
        folder.chmod(0o755)
        poolers = [_start_pooler(file)]
        pooled = f"postgresql+psycopg2://any@127.0.0.1:{port}/{target.database}"

        def restart() -> None:
            poolers[-1].send_signal(signal.SIGKILL)
            poolers[-1].wait()
            poolers.append(_start_pooler(file))

        try:
            with running(pooled, home, "--database-pooler", mode, "--workers", "2") as server:
                return _load([server], restart, TIMES)
        finally:
            poolers[-1].kill()
            poolers[-1].wait()


def _start_pooler(file: Path) -> subprocess.Popen[bytes]:
    command = ["/usr/sbin/pgbouncer", "--quiet", str(file)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, **unprivileged())  # type: ignore[call-overload,no-any-return]


def _rotation(folder: Path, home: Path) -> Wrong:
    with installed_postgres(folder, tls=False) as url:
        execute(url, "CREATE ROLE rotating LOGIN PASSWORD 'first'")
        execute(url, "CREATE DATABASE catalog OWNER rotating")
        file = home / "password"
        file.write_text("first")
        role = f"postgresql+psycopg2://rotating@127.0.0.1:{make_url(url).port}/catalog"
        runner.upgrade(role.replace("rotating@", "rotating:first@"))
        passwords = iter(("second", "third", "fourth"))

        def rotate() -> None:
            password = next(passwords)
            execute(url, f"ALTER ROLE rotating PASSWORD '{password}'")
            execute(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rotating'")
            file.write_text("")
            time.sleep(OUTAGE)
            file.write_text(password)

        with running(role, home, "--database-password-file", str(file), "--workers", "2") as server:
            return _load([server], rotate, TIMES)


@contextmanager
def _pair(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the URLs of a primary and its synchronous standby."""
    with installed_postgres(folder, tls=False) as primary:
        runner.upgrade(primary)
        with hot_standby(folder, primary) as standby:
            execute(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
            execute(primary, "SELECT pg_reload_conf()")
            yield primary, standby


def _failover(folder: Path, home: Path) -> Wrong:
    with _pair(folder) as (primary, standby):
        first, second = make_url(primary), make_url(standby)
        account = f"{first.username}:{first.password}"
        url = f"postgresql://{account}@127.0.0.1:{first.port},127.0.0.1:{second.port}/{first.database}"

        def fail_over() -> None:
            control(folder, "data", "--mode=immediate", "stop")
            time.sleep(OUTAGE)
            control(folder, "standby", "promote")

        try:
            with running(url, home, "--workers", "2") as server:
                return _load([server], fail_over, 1)
        finally:
            control(folder, "data", "start")  # the fixture stops it


def _switchover(folder: Path, home: Path) -> Wrong:
    with _pair(folder) as (primary, standby):
        address, other = Proxy(primary), make_url(standby)

        def switch_over() -> None:
            control(folder, "data", "--mode=fast", "stop")
            address.cut()
            address._target = other  # the address leads to the standby before it is promoted
            address.restore()
            time.sleep(OUTAGE)
            control(folder, "standby", "promote")

        try:
            with running(address.url, home, "--workers", "2") as server:
                return _load([server], switch_over, 1)
        finally:
            address.cut()
            control(folder, "data", "start")  # the fixture stops it


def _rolling(folder: Path, home: Path, commit: str) -> Wrong:
    with checked_out(commit) as old, installed_postgres(folder, tls=False) as url:
        servers = Servers(url, old, home / "warehouse", home / "log")
        servers.command("old", "db", "upgrade").check_returncode()
        steps = iter(
            (
                lambda: servers.command("new", "db", "upgrade").check_returncode(),
                lambda: _replace(servers, 0),
                lambda: _replace(servers, 1),
            )
        )
        try:
            for which in range(2):
                servers.start("old", which)
            both = [Server(*address, url, "", None, home / "log") for address in servers.addresses]  # type: ignore[arg-type]
            return _load(both, lambda: next(steps)(), TIMES)
        finally:
            servers.stop_all()


def _replace(servers: Servers, which: int) -> None:
    servers.stop(which)
    servers.start("new", which)


def _load(servers: list[Server], interrupt: Callable[[], object], times: int) -> Wrong:
    """Interrupts the writers, prints the figures, and returns the errors."""
    with connected(servers[0]) as client:
        table = new_table(client, [("ds", "string")])
    addresses = [(server.host, server.port) for server in servers]
    writers = [WriterOnce(addresses if number % 2 else addresses[::-1], table, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(times):
            time.sleep(INTERVAL)
            interrupt()
        time.sleep(INTERVAL)
    finally:
        for writer in writers:
            writer.end()
    with connected(servers[0]) as client:
        stored = {name.removeprefix("ds=") for name in client.get_partition_names(*table, -1)}
    acknowledged = {value for writer in writers for value in writer.acknowledged}
    failed = [text for writer in writers for text in writer.failed]
    lost = sorted(acknowledged - stored)
    sys.stdout.write(
        f"{len(acknowledged)} acknowledged, {len(lost)} lost; {sum(writer.repeated for writer in writers)} repeated, "
        f"{len(failed)} failed twice; the longest call took {max(writer.longest for writer in writers):.1f} s\n"
    )
    return [*(f"lost: {value}" for value in lost), *failed]


KINDS: Final = {
    "pooler": _pooler,
    "session-pooler": partial(_pooler, mode="session"),
    "rotation": _rotation,
    "failover": _failover,
    "switchover": _switchover,
}
