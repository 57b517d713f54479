"""Rights from a policy engine, in the form of Open Policy Agent's Data API: one HTTP request for many objects.

The server sends `{"input": {"identity": {"user", "groups"}, "resources": […]}}` and expects `{"result": […]}` with a
list of rights for each resource (docs/how-to/opa.md).
"""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from metastore.errors import ConfigurationError, UnavailableError

log = logging.getLogger("metastore.security")

_BATCH: Final = 1000  # resources in one request
_MAX_CACHED: Final = 100_000  # decisions of a worker
_MAX_ANSWER: Final = 16 * 2**20  # bytes
_PAUSE: Final = 1.0  # seconds after a failure in which the engine is not asked


class Resource(NamedTuple):
    """The object of a decision: a table, a database (no table), a catalog (no database), or everything (no catalog).

    The owner is None for an object that does not exist.
    """

    catalog: str | None = None
    database: str | None = None
    table: str | None = None
    owner: str | None = None
    owner_kind: int | None = None


_Identity = tuple[str | None, tuple[str, ...]]


class PolicyEngine:
    """Asks the engine, and remembers its decisions for some seconds."""

    def __init__(
        self,
        url: str,
        *,
        cache_seconds: float,
        timeout: float,
        authorities: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises ConfigurationError for an invalid URL or file."""
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"authorization=opa needs opa_url, the URL of a rule, not {url!r}: http://127.0.0.1:8181/v1/data/metastore/rights"
            )
        try:
            context = ssl.create_default_context(cafile=str(authorities) if authorities else None)
        except OSError as error:
            raise ConfigurationError(f"opa_ca {authorities} cannot be read: {error}") from error
        # No proxy of the environment: decisions come from the configured address only.
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        self._opener = urllib.request.build_opener(*handlers)
        self._url, self._cache_seconds, self._timeout = url, cache_seconds, timeout
        self.clock = clock
        self._cache: dict[tuple[_Identity, Resource], tuple[float, frozenset[str]]] = {}
        self._lock = threading.Lock()
        self._paused_until = float("-inf")

    def rights(self, user: str | None, groups: Iterable[str], resources: Collection[Resource]) -> list[frozenset[str]]:
        """Returns the rights on each resource. Raises UnavailableError if the engine does not give a valid answer."""
        identity = user, tuple(sorted(groups))
        now = self.clock()
        remembered = {resource: self._cached(identity, resource, now) for resource in resources}
        missing = [resource for resource, held in remembered.items() if held is None]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            answers = self._ask(identity, batch)
            remembered |= zip(batch, answers, strict=True)
            self._remember(identity, batch, answers, now)
        return [held for resource in resources if (held := remembered[resource]) is not None]

    def known(
        self, user: str | None, groups: Iterable[str], resources: Iterable[Resource]
    ) -> list[frozenset[str] | None]:
        """Returns the remembered rights on each resource; None: the engine must be asked."""
        identity, now = (user, tuple(sorted(groups))), self.clock()
        return [self._cached(identity, resource, now) for resource in resources]

    def valid_until(self, user: str | None, groups: Iterable[str], resource: Resource) -> float:
        """Returns until when a decision is remembered, by the engine's clock."""
        return self._cache.get(((user, tuple(sorted(groups))), resource), (float("-inf"), None))[0]

    def _cached(self, identity: _Identity, resource: Resource, now: float) -> frozenset[str] | None:
        expires, held = self._cache.get((identity, resource), (float("-inf"), None))
        return held if expires > now else None

    def _remember(
        self, identity: _Identity, resources: Sequence[Resource], answers: Sequence[frozenset[str]], now: float
    ) -> None:
        with self._lock:
            if len(self._cache) + len(resources) > _MAX_CACHED:
                self._cache.clear()
            expires = now + self._cache_seconds
            self._cache |= {
                (identity, resource): (expires, held) for resource, held in zip(resources, answers, strict=True)
            }

    def _ask(self, identity: _Identity, resources: Sequence[Resource]) -> list[frozenset[str]]:
        if self.clock() < self._paused_until:
            raise UnavailableError("The policy engine does not answer (METASTORE_OPA_URL); try again")
        user, groups = identity
        document = {"identity": {"user": user, "groups": groups}, "resources": list(map(_described, resources))}
        try:
            answer = self._post({"input": document})
            return _parsed(answer, len(resources))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._paused_until = self.clock() + _PAUSE
            log.error("the policy engine %s does not answer, so calls are rejected: %s", self._url, error)
            raise UnavailableError(f"The policy engine does not answer (METASTORE_OPA_URL): {error}") from error

    def _post(self, document: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url, json.dumps(document).encode(), headers)  # noqa: S310 - http(s) only
        with self._opener.open(request, timeout=self._timeout) as response:
            return json.loads(response.read(_MAX_ANSWER))


def _described(resource: Resource) -> dict[str, Any]:
    """Returns the fields that are set."""
    return {name: value for name, value in resource._asdict().items() if value is not None}


def _parsed(answer: Any, count: int) -> list[frozenset[str]]:
    """Returns the rights of each resource, in upper case. Raises ValueError for any other answer."""
    result = answer.get("result") if isinstance(answer, dict) else None
    if result is None:
        raise ValueError("its answer has no result: no rule has this name, or it is undefined for this input")
    if not isinstance(result, list) or len(result) != count or not all(isinstance(each, list) for each in result):
        raise ValueError(f"its result is not a list of {count} lists of rights")
    if not all(isinstance(right, str) for each in result for right in each):
        raise ValueError("its result has rights that are not texts")
    return [frozenset(right.upper() for right in each) for each in result]
