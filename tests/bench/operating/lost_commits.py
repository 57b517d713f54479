"""An asynchronous standby that lags is promoted: the database loses acknowledged commits, whose file operations were
carried out. Files are counted by their texts before and after clean-up, repair and `metastore db restored`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from sqlalchemy.engine import make_url

from metastore.warehouse.paths import TRASH
from migrations import runner
from tests.bench.operating.changer import Changer
from tests.bench.operating.interruptions import OUTAGE
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.server import OTHER_ROOTS, Server, connected, running
from tests.fixtures.standby import control, cut_off, hot_standby
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CleanRequest

CHANGERS: Final = 8
CALM: Final = 3.0  # seconds of changes before the standby falls behind, and after the fail-over
TIMERS: Final = 25.0  # seconds in which each background job of the server runs at least once
Wrong = list[str]


def lose_commits(rounds: int, lag: float) -> int:
    """Runs fail-overs whose standby is up to `lag` seconds behind. Returns the exit status."""
    failed = 0
    for number in range(rounds):
        behind = lag * random.uniform(0.3, 1)
        with ExitStack() as stack:
            folder = stack.enter_context(reachable_folder())
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            figures, wrong = _round(folder, home, behind)
        sys.stdout.write("\n    ".join([f"{number + 1}: {behind:.1f} s behind: {figures}", *wrong[:8]]) + "\n")
        sys.stdout.flush()
        failed += bool(wrong)
    return int(failed > 0)


def _round(folder: Path, home: Path, behind: float) -> tuple[str, Wrong]:
    with ExitStack() as stack:
        primary = stack.enter_context(installed_postgres(folder, tls=False))
        runner.upgrade(primary)
        standby = stack.enter_context(hot_standby(folder, primary))
        first, second = make_url(primary), make_url(standby)
        account = f"{first.username}:{first.password}"
        url = f"postgresql://{account}@127.0.0.1:{first.port},127.0.0.1:{second.port}/{first.database}"
        stack.callback(control, folder, "data", "start")  # the fixture stops it
        server = stack.enter_context(running(url, home, "--workers", "2"))
        changers = [Changer(number, (server.host, server.port), _warehouse(server)) for number in range(CHANGERS)]
        for changer in changers:
            changer.start()
        time.sleep(CALM)
        cut_off(primary, standby)
        cut = time.monotonic()
        time.sleep(behind)
        control(folder, "data", "--mode=immediate", "stop")
        time.sleep(OUTAGE)
        control(folder, "standby", "promote")
        promoted = time.monotonic()
        time.sleep(CALM)
        for changer in changers:
            changer.end()
        figures = _figures(changers, cut, promoted)
        return figures, _verify(server, url, changers)


def _warehouse(server: Server) -> Path:
    return Path(server.warehouse.removeprefix("file:"))


def _figures(changers: list[Changer], cut: float, promoted: float) -> str:
    acknowledged = [moment for changer in changers for moment, *_ in changer.acknowledged]
    lost = sum(cut < moment < promoted - OUTAGE for moment in acknowledged)
    return (
        f"{len(acknowledged)} changes acknowledged, about {lost} of them lost, "
        f"{sum(changer.repeated for changer in changers)} repeated, "
        f"{sum(changer.rejected for changer in changers)} rejected, "
        f"{sum(changer.blocked for changer in changers)} blocked until the reconciliation, "
        f"{sum(len(changer.failed) for changer in changers)} failed twice, "
        f"{sum(len(changer.written) for changer in changers)} files"
    )


def _verify(server: Server, url: str, changers: list[Changer]) -> Wrong:
    wrong = [line for changer in changers for line in changer.failed]
    written = set[str]().union(*(changer.written for changer in changers))
    wrong += _compare(server, written, "after the fail-over")
    time.sleep(TIMERS)
    wrong += _compare(server, written, "after the timers")
    if "metastore db restored" not in server.log.read_text():
        wrong.append("the loss was not noticed")
    with connected(server) as client:
        client.check_files(CheckFilesRequest(repair=True))
        try:
            client.clean(CleanRequest(graceMillis=0))
            wrong.append("clean ran before the reconciliation")
        except Exception as error:  # noqa: BLE001 - it must be rejected
            if "db restored" not in str(error):
                wrong.append(f"clean: {error}")
    wrong += _compare(server, written, "after repair")
    command = [sys.executable, "-m", "metastore.cli", "db", "restored", "--warehouse", str(_warehouse(server))]
    done = subprocess.run(
        [*command, "--allowed-locations", ",".join((str(_warehouse(server).parents[1]), *OTHER_ROOTS))],
        capture_output=True,
        text=True,
        env={**os.environ, "METASTORE_DATABASE_URL": url},
        check=False,
    )
    if os.environ.get("FINDINGS"):
        sys.stdout.write(done.stdout + done.stderr)
    wrong += [f"db restored: {done.stderr}"] if done.returncode else []
    wrong += _compare(server, written, "after db restored")
    time.sleep(TIMERS)
    wrong += _compare(server, written, "in the end")
    with connected(server) as client:
        wrong += _rows(client, changers, _warehouse(server))
        problems = client.check_files(CheckFilesRequest()).problems
    if os.environ.get("FINDINGS"):
        sys.stdout.writelines(f"{problem.location}: {problem.problem} ({problem.owner})\n" for problem in problems)
    kinds = [problem.problem.partition(":")[0] for problem in problems]
    sys.stdout.writelines(f"    check: {kinds.count(kind)} {kind}\n" for kind in sorted(set(kinds)))
    log = server.log.read_text().splitlines()
    return wrong + [line for line in log if "Traceback" in line or "outcome=failed" in line][:5]


def _compare(server: Server, written: set[str], when: str) -> Wrong:
    stored = {file.read_text() for file in _warehouse(server).rglob("part-0*") if file.is_file()}
    return [f"{when}: lost {line}" for line in sorted(written - stored)[:5]]


def _rows(client: Any, changers: list[Changer], warehouse: Path) -> Wrong:
    """Returns tables that have files of others, and partitions without files that are in the trash."""
    wrong, trashed = [], {file.read_text() for file in (warehouse / TRASH).rglob("part-0*")}
    for changer in changers:
        for name in client.get_all_tables(changer.database):
            full, folder = f"{changer.database}.{name}", warehouse / f"{changer.database}.db" / name
            texts = {file.read_text() for file in folder.rglob("part-0*")}
            wrong += [f"{full} has {line}" for line in texts if not line.startswith(f"{full}:")]
            for each in client.get_partitions(changer.database, name, -1):
                if not list(Path(each.sd.location.removeprefix("file:")).glob("part-0*")) and any(
                    line.startswith(f"{full}:") for line in trashed
                ):
                    sys.stdout.write(f"    {full} has no file; the trash has some of that name\n")
    return wrong
