"""Processor time of the parts of the benchmark: source, follower, server, their PostgreSQL sessions, and writers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import psutil
import psycopg2  # type: ignore[import-untyped] # it has no types

from tests.fixtures.server import Server

PLAIN = "postgresql+psycopg2:", "postgresql:"


def processor_times(urls: Mapping[str, str], source: Server, target: Server) -> dict[str, float]:
    """Returns the seconds that each part has used so far. Sessions of PostgreSQL that have ended are left out."""
    first = psutil.Process(source.process.pid)
    second = psutil.Process(target.process.pid)
    *workers, follower = second.children()
    sessions = {f"PostgreSQL of the {name}": _sessions(url) for name, url in urls.items()}
    parts = {
        "source": [first, *first.children()],
        "follower": [follower],
        "server": [second, *workers],
        "writers": [psutil.Process()],
        **sessions,
    }
    return {name: _spent(processes) for name, processes in parts.items()}


def _sessions(url: str) -> list[psutil.Process]:
    """Returns the processes of the sessions of a database."""
    link = psycopg2.connect(url.replace(*PLAIN))
    try:
        with link.cursor() as cursor:
            cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
            return [psutil.Process(pid) for (pid,) in cursor.fetchall()]
    finally:
        link.close()


def _spent(processes: Iterable[psutil.Process]) -> float:
    total = 0.0
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system
    return total
