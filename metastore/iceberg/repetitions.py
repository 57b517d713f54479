"""Requests that their clients repeat because an answer was lost (`Idempotency-Key`).

The transaction that makes the change of a request records its key: any server answers the repetition from there. A
request that has failed for certain is recorded in a transaction of its own, because its client has been told so, and
has deleted its files: neither a repetition nor the same request in another server may succeed afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec

from metastore.context import RequestKey, request_key
from metastore.errors import AlreadyExistsError, MetastoreError
from metastore.iceberg.errors import BAD_REQUEST, UNAVAILABLE, RestError, rest_error
from metastore.iceberg.reading import Loaded, Reader, loaded

HEADER: Final = "idempotency-key"
LIFETIME: Final = "PT1H"
"""The time for which keys are kept, as an ISO 8601 duration. `storage.repositories.request_keys` has the same."""

_FINAL: Final = (400, 404, 409, 422)
"""The statuses of failures that are recorded. The others depend on who asks and when: login, rights, quotas."""

Answer: TypeAlias = "dict[str, Any] | Loaded | None"


class Repetitions:
    """Answers requests with a key at most once."""

    def __init__(
        self,
        find: Callable[[str, str], RequestKey | None],
        record: Callable[[RequestKey], None],
        user: Callable[[], str | None],
        reader: Reader,
    ) -> None:
        """`find`: returns a recorded request of a user. `record`: records a failed one; raises AlreadyExistsError if
        its key is recorded. `user`: returns the name of the caller.
        """
        self._find, self._record, self._user, self._reader = find, record, user, reader

    def answer(self, key: str, parts: tuple[str, bytes], action: Callable[[], Answer]) -> Answer:
        """Returns the answer of an action, or of the earlier request with this key.

        `parts`: the line and the body of the request. Raises RestError, 422 if another request has had the key.
        """
        line, body = parts
        request = RequestKey(self._user() or "", _checked(key), hashlib.sha256(line.encode() + b"\n" + body).digest())
        if (known := self._recorded(request)) is not None:
            return self._repeated(known)
        token = request_key.set(request)
        try:
            return action()
        except RestError as error:
            failure = error
        finally:
            request_key.reset(token)
        known = self._recorded(request)  # at the same time by another server, or before a connection broke
        if known is None and failure.status in _FINAL:
            known = self._recorded_failure(request, failure)
        if known is None:
            raise failure
        return self._repeated(known)

    def _recorded_failure(self, request: RequestKey, failure: RestError) -> RequestKey | None:
        """Records a failure. Returns the request if another server has recorded it meanwhile.

        Raises RestError, 503 if it cannot be recorded: the same request may still succeed in another server.
        """
        request.location, request.body = None, msgspec.json.encode({"error": failure.body}).decode()
        try:
            self._record(request)
        except AlreadyExistsError:
            return self._recorded(request)
        except MetastoreError as error:
            raise RestError(UNAVAILABLE, "ServiceUnavailableException", str(error)) from error
        return None

    def _recorded(self, request: RequestKey) -> RequestKey | None:
        try:
            known = self._find(request.user, request.key)
        except MetastoreError as error:
            raise rest_error(error) from error
        if known is not None and known.digest != request.digest:
            text = f"{request.key} was the Idempotency-Key of another request: choose a new one"
            raise RestError(422, "UnprocessableEntityException", text)
        return known

    def _repeated(self, known: RequestKey) -> Answer:
        if known.location is not None:
            return loaded(known.location, self._reader.metadata(known.location))
        if known.body is not None:
            body: dict[str, Any] = msgspec.json.decode(known.body)
            if error := body.get("error"):
                raise RestError(error["code"], error["type"], error["message"])
            return body
        return None


def note_location(location: str) -> None:
    """Records that the current request is answered with this metadata file."""
    if (request := request_key.get()) is not None:
        request.location = location


def note_body(body: dict[str, Any]) -> None:
    """Records the answer of the current request."""
    if (request := request_key.get()) is not None:
        request.body = msgspec.json.encode(body).decode()


def _checked(key: str) -> str:
    try:
        return str(UUID(key))
    except ValueError:
        raise RestError(400, BAD_REQUEST, f"Idempotency-Key is not a UUID: {key[:100]}") from None
