"""Key sets of JWTs (RFC 7517), in files or at URLs. Keys from a URL are fetched periodically."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from metastore.bounded_fetch import fetch, make_opener
from metastore.errors import ConfigurationError

log = logging.getLogger("metastore.security")

_LIFETIME: Final = 300.0  # seconds until a key set is fetched again; an unknown key id triggers a fetch at once
_MAX_AGE: Final = 600.0  # seconds for which keys are used if the set cannot be fetched again
_FETCH_INTERVAL: Final = 10.0  # seconds between fetches: any client can invent key ids
_TIMEOUT: Final = 10.0  # seconds for one fetch
_MAX_BYTES: Final = 2**20  # of a key set
_ERRORS: Final = (OSError, http.client.HTTPException, ValueError, TypeError, LookupError, RecursionError)
"""The errors of a fetch, and of JSON that is no key set."""


class KeySet:
    """One key set, at a URL or in a file."""

    def __init__(self, jwt: Any, location: str) -> None:
        """`jwt`: the module. Raises ConfigurationError."""
        self.location = location
        self._keys: Callable[[bool], list[Any]]
        url = urlsplit(location)
        if url.scheme == "https" or (url.scheme == "http" and url.hostname in ("localhost", "127.0.0.1", "::1")):
            self._keys = _FetchedKeys(jwt, location)
        elif url.scheme in ("", "file"):
            self._keys = partial(_read_keys, jwt, Path(url.path).expanduser())
            try:
                self.find(None)
            except jwt.PyJWTError as error:
                raise ConfigurationError(f"jwt_keys: {error}") from error
        else:
            raise ConfigurationError(
                f"jwt_keys: {location} must be an https URL or a file: an attacker could replace keys in transit"
            )

    def all(self) -> list[Any]:
        """Lists the keys. Raises PyJWKClientConnectionError."""
        return self._keys(False)  # noqa: FBT003 - `refresh`

    def find(self, name: str | None) -> Any:
        """Returns the key with this id, or None. An unknown id triggers a fetch. Raises PyJWKClientConnectionError."""
        return self._named(name, refresh=False) or self._named(name, refresh=True)

    def _named(self, name: str | None, *, refresh: bool) -> Any:
        return next((key for key in self._keys(refresh) if key.key_id == name), None)


class _FetchedKeys:
    """The keys at a URL. One thread at a time fetches them; the others continue with the keys that are known, so that a
    server that hangs does not occupy all threads."""

    def __init__(self, jwt: Any, url: str) -> None:
        self._jwt = jwt
        self._opener, self._request = make_opener(), urllib.request.Request(url)  # noqa: S310 - http(s) only
        self._lock = threading.Lock()
        self._keys: list[Any] = []
        self._fetched = self._tried = float("-inf")
        self._has_failed = False  # the last fetch

    def __call__(self, refresh: bool) -> list[Any]:
        """Lists the keys. `refresh`: fetches them even if they are new. Raises PyJWKClientConnectionError."""
        # Without usable keys (at first, or after a pause), all logins wait for a fetch, unless the last one has failed.
        if self._is_due(refresh) and self._lock.acquire(blocking=self._is_stale() and not self._has_failed):
            try:
                if self._is_due(refresh):
                    self._fetch()
            finally:
                self._lock.release()
        if self._is_stale():
            raise self._jwt.PyJWKClientConnectionError("the key set has not been fetched")
        return self._keys

    def _is_stale(self) -> bool:
        return time.monotonic() - self._fetched > _MAX_AGE

    def _is_due(self, refresh: bool) -> bool:
        now = time.monotonic()
        return now - self._tried > _FETCH_INTERVAL and (refresh or now - self._fetched > _LIFETIME)

    def _fetch(self) -> None:
        try:
            answer = json.loads(fetch(self._opener, self._request, timeout=_TIMEOUT, limit=_MAX_BYTES))
            self._keys = [key for key in _signing(self._jwt.PyJWKSet(answer["keys"])) if key.key_id]
            self._fetched, self._has_failed = time.monotonic(), False
        except (*_ERRORS, self._jwt.PyJWTError) as error:
            self._has_failed = True
            log.warning("the key set %s cannot be fetched: %s", self._request.full_url, error)
        finally:
            self._tried = time.monotonic()


def _read_keys(jwt: Any, path: Path, _refresh: bool) -> list[Any]:
    """Reads the keys of a file."""
    try:
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            raise TypeError("it is not a JSON object")
        return _signing(jwt.PyJWKSet(content.get("keys")))
    except (*_ERRORS, jwt.PyJWTError) as error:
        raise jwt.PyJWKClientConnectionError(f"{path} cannot be read as a key set: {error}") from error


def _signing(key_set: Any) -> list[Any]:
    """Returns the keys of a set that are not for encryption only."""
    return [key for key in key_set.keys if key.public_key_use in ("sig", None)]
