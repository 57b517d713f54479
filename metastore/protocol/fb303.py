"""The base service that every Hive client expects beside the metastore's own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from thrift_idl.gen.fb303.ttypes import fb_status


class FacebookHandlers:
    """Of this process. Counters count calls by method since its start."""

    def __init__(self, version: str, database_answers: Callable[[], bool] = lambda: True) -> None:
        self._version = version
        self._database_answers = database_answers
        self._since = int(time.time())
        self._counters: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, method: str) -> None:
        with self._lock:
            self._counters[method] += 1

    def getName(self) -> str:  # noqa: N802 - the wire's names, here and below
        return "metastore"

    def getVersion(self) -> str:  # noqa: N802
        return self._version

    def getStatus(self) -> int:  # noqa: N802
        """WARNING while the database does not answer: whoever balances load takes another server."""
        return int(fb_status.ALIVE if self._database_answers() else fb_status.WARNING)

    def getStatusDetails(self) -> str:  # noqa: N802
        return "alive" if self._database_answers() else "the database does not answer"

    def getCounters(self) -> dict[str, int]:  # noqa: N802
        with self._lock:
            return dict(self._counters)

    def getCounter(self, key: str) -> int:  # noqa: N802
        with self._lock:
            return self._counters[key]

    def setOption(self, _key: str, _value: str) -> None:  # noqa: N802
        """Does nothing: there are no options."""

    def getOption(self, _key: str) -> str:  # noqa: N802
        return ""

    def getOptions(self) -> dict[str, str]:  # noqa: N802
        return {}

    def getCpuProfile(self, _seconds: int) -> str:  # noqa: N802
        return ""

    def aliveSince(self) -> int:  # noqa: N802
        return self._since

    def reinitialize(self) -> None:
        """Does nothing: nothing is kept that could be made anew."""

    def shutdown(self) -> None:
        """Does nothing. Clients say it when they hang up; the server goes on."""
