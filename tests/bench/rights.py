"""Cost of the check of rights in get_table: python -m tests.bench.rights [--rounds 60] [--calls 300].

Three servers in this process use one database: without rights, with grants, and with remembered decisions of a policy
engine. A user who may read a table reads it, without a socket. Work on other cores has no effect on the numbers of
function calls, and little on the processor time of the thread. The servers take turns; the ratios are those of
neighbouring rounds.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import click

from metastore.app import make_application
from metastore.protocol.dispatch import CallSession
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.load import encode
from tests.bench.profile import answered
from tests.bench.workload import Workload
from tests.wire.authorization.granting import bag, on_table
from tests.wire.authorization.test_policy import Policy

USER = "reader"
OFF, GRANTS, POLICY = "off", "grants", "opa"


@click.command(help=__doc__)
@click.option("--rounds", default=60, show_default=True)
@click.option("--calls", default=300, show_default=True, help="Calls in a round.")
def main(rounds: int, calls: int) -> None:
    """Prints a line for each setting of METASTORE_AUTHORIZATION."""
    logging.basicConfig(level=logging.INFO, filename=os.devnull)  # as in the server, calls are logged
    with tempfile.TemporaryDirectory() as folder, Policy() as policy:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        threading.Thread(target=policy.serve_forever, daemon=True).start()
        with EmbeddedPostgres(Path(folder) / "postgres") as postgres:
            runner.upgrade(postgres.url)
            settings: dict[str, Any] = {"warehouse": f"{folder}/warehouse", "admins": "root", "group_mapping": "none"}
            engine = {"opa_url": policy.url, "opa_cache": 86_400.0}
            applications = {
                kind: make_application(Settings(**settings, authorization=kind, **more), postgres.url)
                for kind, more in ((OFF, {}), (GRANTS, {}), (POLICY, engine))
            }
            workload = Workload(f"file:{folder}/warehouse/wide", 1, 40, 1)
            root = applications[GRANTS].open_session("root:1")
            grant = bag(on_table(workload.database, workload.table), "SELECT", USER)
            for request in (encode("set_ugi", "root", []), *workload.create(), encode("grant_privileges", grant)):
                answered(root, request)
            policy.answer = {"result": [["SELECT"]]}
            sessions = {kind: application.open_session("reader:1") for kind, application in applications.items()}
            request, _ = workload.reads()["get_table, 16 connections"]
            for session in sessions.values():
                answered(session, encode("set_ugi", USER, []))
                _spent(session, request, calls)
            _tell(sessions, request, rounds, calls)
            for application in applications.values():
                application.close()
        policy.shutdown()


def _tell(sessions: Mapping[str, CallSession], request: bytes, rounds: int, calls: int) -> None:
    spent: dict[str, list[float]] = {kind: [] for kind in sessions}
    for number in range(rounds):
        for kind in list(sessions) if number % 2 else reversed(list(sessions)):
            spent[kind].append(_spent(sessions[kind], request, calls))
    for kind, session in sessions.items():
        ratios = [a / b for a, b in zip(spent[kind], spent[OFF], strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        click.echo(
            f"{kind:7} {_function_calls(session, request):4} function calls, {1e6 * median(spent[kind]):4.0f} us, "
            f"x {middle:.3f} ({low:.2f} to {high:.2f})"
        )


def _spent(session: CallSession, request: bytes, calls: int) -> float:
    """Returns the seconds of processor time of this thread for one call."""
    begun = time.thread_time()
    for _ in range(calls):
        answered(session, request)
    return (time.thread_time() - begun) / calls


def _function_calls(session: CallSession, request: bytes) -> int:
    """Returns the number of Python functions that one call executes."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        answered(session, request)
    finally:
        sys.setprofile(None)
    return count


if __name__ == "__main__":
    main()
