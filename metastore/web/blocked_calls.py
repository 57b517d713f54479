"""Adds the sessions of PostgreSQL that block them to calls in execution."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

from metastore.web.probe import ProbeError

Blockers: TypeAlias = Mapping[int, Sequence[Mapping[str, Any]]]
"""Process id of a waiting session of PostgreSQL → the sessions that block it."""
_TIMEOUT: Final = 2.0  # seconds


class BlockedCalls:
    """Looks up the sessions that block calls, in a thread. Use it from one event loop only."""

    def __init__(self, read: Callable[[Sequence[int]], Blockers]) -> None:
        """`read` returns the blocking sessions of these sessions. It raises ProbeError."""
        self._read = read
        self._executor = ThreadPoolExecutor(1, "blocked calls")

    async def explain(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the calls with `blocked_by`: the blocking sessions, with the request id if it is one of the calls.

        If the database does not answer within two seconds, the calls are returned unchanged.
        """
        requests = {call["backend"]: call["request"] for call in calls if call.get("backend")}
        if not requests:
            return calls
        reading = asyncio.get_running_loop().run_in_executor(self._executor, self._read, list(requests))
        try:
            blocking = await asyncio.wait_for(asyncio.shield(reading), _TIMEOUT)
        except (ProbeError, TimeoutError):
            return calls
        for call in calls:
            if sessions := blocking.get(call.get("backend") or 0):
                call["blocked_by"] = [
                    {**each, "request": requests[each["pid"]]} if each["pid"] in requests else dict(each)
                    for each in sessions
                ]
        return calls
