"""Rights from a policy engine, with the Data API of Open Policy Agent: one HTTP request for many objects.

The server sends `{"input": {"identity": {"user", "groups"}, "resources": […]}}` and expects `{"result": […]}` with a
list of rights for each resource (docs/how-to/opa.md).
"""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from metastore.bounded_fetch import fetch, make_opener
from metastore.domain.privileges import OWNER_RIGHTS, Right
from metastore.errors import ConfigurationError, UnavailableError
from metastore.policy.decisions import DecisionCache, Identity, Resource

log = logging.getLogger("metastore.security")

_BATCH: Final = 1000  # resources in one request
_MAX_ANSWER: Final = 16 * 2**20  # bytes
_KNOWN: Final = frozenset(map(str, Right))
_PAUSE: Final = 1.0  # seconds without requests to an engine that was not reached or was too slow


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
        if "@" in urlsplit(url).netloc:
            raise ConfigurationError("opa_url has a user or password, which the server cannot send: remove them")
        try:
            context = ssl.create_default_context(cafile=str(authorities) if authorities else None)
        except OSError as error:
            raise ConfigurationError(f"opa_ca {authorities} cannot be read: {error}") from error
        # No proxy of the environment: decisions come from the configured address only.
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        self._opener = make_opener(*handlers)
        self._url, self._cache_seconds, self._timeout = url, cache_seconds, timeout
        self.clock = clock
        self._cache = DecisionCache()
        self._paused_until = self._answered_at = float("-inf")

    def rights(self, user: str | None, groups: Iterable[str], resources: Collection[Resource]) -> list[frozenset[str]]:
        """Returns the rights on each resource. Raises UnavailableError if the engine does not give a valid answer."""
        identity = user, frozenset(groups)
        now = self.clock()
        wanted = list(resources)
        decided = dict(zip(wanted, self._cache.known(identity, wanted, now), strict=True))
        missing = [resource for resource, held in decided.items() if held is None]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            answers = dict(zip(batch, self._ask(identity, batch), strict=True))
            decided |= answers
            self._cache.remember(identity, answers, now + self._cache_seconds)
        return [held for resource in wanted if (held := decided[resource]) is not None]

    def known(
        self, user: str | None, groups: frozenset[str], resources: Iterable[Resource]
    ) -> list[frozenset[str] | None]:
        """Returns the remembered rights on each resource, or None if the engine has to be queried."""
        return self._cache.known((user, groups), resources, self.clock())

    def _ask(self, identity: Identity, resources: Sequence[Resource]) -> list[frozenset[str]]:
        asked_at = self.clock()
        if asked_at < self._paused_until:
            raise UnavailableError("The policy engine does not answer (METASTORE_OPA_URL); try again")
        user, groups = identity
        document = {"identity": {"user": user, "groups": sorted(groups)}, "resources": list(map(_described, resources))}
        try:
            answer = self._post({"input": document})
            self._answered_at = self.clock()
            return _parsed(answer, len(resources))
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            # An answer that is not valid may concern this caller only, and so may a slow one while the engine answers
            # others: it must not stop their calls.
            unanswered = isinstance(error, OSError) and not isinstance(error, urllib.error.HTTPError)
            if unanswered and self._answered_at < asked_at:
                self._paused_until = self.clock() + _PAUSE
            log.error("the policy engine %s does not answer, so calls are rejected: %s", self._url, error)
            raise UnavailableError(f"The policy engine does not answer (METASTORE_OPA_URL): {error}") from error

    def _post(self, document: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url, json.dumps(document).encode(), headers)  # noqa: S310 - http(s) only
        answer = fetch(self._opener, request, timeout=self._timeout, limit=_MAX_ANSWER, clock=self.clock)
        return json.loads(answer)


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
    rights = [frozenset(right.upper() for right in each) for each in result]
    if unknown := frozenset().union(*rights) - _KNOWN:  # any right makes an object visible
        raise ValueError(f"its result has rights that do not exist: {', '.join(sorted(unknown))[:100]}")
    return [each & OWNER_RIGHTS for each in rights]
