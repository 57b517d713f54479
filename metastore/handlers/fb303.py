"""The base service fb303, which every Hive client expects in addition to the metastore's own."""

from __future__ import annotations

import time
from collections.abc import Callable

from metastore.operations.operation import administrator, operation
from thrift_idl.gen.fb303.ttypes import fb_status


class FacebookHandlers:
    """Answers for this process. The counters are its calls by method since it started."""

    def __init__(
        self, version: str, database_answers: Callable[[], bool], call_counts: Callable[[], dict[str, int]]
    ) -> None:
        self._version = version
        self._database_answers = database_answers
        self._call_counts = call_counts
        self._since = int(time.time())

    @operation(None, quota_exempt=True)
    def getName(self) -> str:  # noqa: N802 - the wire's names, here and below
        return "metastore"

    @operation(None, quota_exempt=True)
    def getVersion(self) -> str:  # noqa: N802
        return self._version

    @operation(None, quota_exempt=True)
    def getStatus(self) -> int:  # noqa: N802
        """Returns WARNING while the database does not answer, so that load balancers choose another server."""
        return int(fb_status.ALIVE if self._database_answers() else fb_status.WARNING)

    @operation(None, quota_exempt=True)
    def getStatusDetails(self) -> str:  # noqa: N802
        return "alive" if self._database_answers() else "the database does not answer"

    @operation(None, administrator, quota_exempt=True)
    def getCounters(self) -> dict[str, int]:  # noqa: N802
        return self._call_counts()

    @operation(None, administrator, quota_exempt=True)
    def getCounter(self, key: str) -> int:  # noqa: N802
        return self._call_counts().get(key, 0)

    @operation(None, administrator, quota_exempt=True)
    def setOption(self, _key: str, _value: str) -> None:  # noqa: N802
        """Does nothing: there are no options."""

    @operation(None, administrator, quota_exempt=True)
    def getOption(self, _key: str) -> str:  # noqa: N802
        return ""

    @operation(None, administrator, quota_exempt=True)
    def getOptions(self) -> dict[str, str]:  # noqa: N802
        return {}

    @operation(None, administrator, quota_exempt=True)
    def getCpuProfile(self, _seconds: int) -> str:  # noqa: N802
        return ""

    @operation(None, quota_exempt=True)
    def aliveSince(self) -> int:  # noqa: N802
        return self._since

    @operation(None, quota_exempt=True)
    def reinitialize(self) -> None:
        """Does nothing: there is no state to initialize again."""

    @operation(None, quota_exempt=True)
    def shutdown(self) -> None:
        """Does nothing. Clients call it when they disconnect; the server keeps running."""
