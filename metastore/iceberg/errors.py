"""Errors of Iceberg's REST protocol: status, type and message (specification of the REST catalog, `ErrorModel`).

Clients decide by status and type what they do next. A status from 500 on means that the outcome is unknown, or that the
request can be repeated.
"""

from __future__ import annotations

from typing import Any, Final

from metastore.errors import (
    ConflictError,
    MetastoreError,
    NotFoundError,
    PermissionDeniedError,
    QuotaExceededError,
    UnavailableError,
    UnknownOutcomeError,
)

NO_NAMESPACE: Final = "NoSuchNamespaceException"
NO_TABLE: Final = "NoSuchTableException"
NO_VIEW: Final = "NoSuchViewException"
NO_WAREHOUSE: Final = "NoSuchWarehouseException"
NOT_FOUND: Final = "NotFoundException"
BAD_REQUEST: Final = "BadRequestException"
FORBIDDEN: Final = "ForbiddenException"
NOT_AUTHORIZED: Final = "NotAuthorizedException"
VALIDATION: Final = "ValidationException"
COMMIT_FAILED: Final = "CommitFailedException"
UNKNOWN_STATE: Final = "CommitStateUnknownException"
NOT_EMPTY: Final = "NamespaceNotEmptyException"
ALREADY_EXISTS: Final = "AlreadyExistsException"
UNSUPPORTED: Final = "UnsupportedOperationException"

_LONGEST: Final = 4000  # characters of a message: it may quote the request, and is recorded with its Idempotency-Key

UNAVAILABLE: Final = 503
"""The status if the database or a file system does not answer, and nothing was changed."""

_KINDS: Final[tuple[tuple[type[MetastoreError], int, str], ...]] = (  # the first one that fits
    (PermissionDeniedError, 403, FORBIDDEN),
    (QuotaExceededError, 429, "TooManyRequestsException"),
    (UnknownOutcomeError, 500, UNKNOWN_STATE),
    (UnavailableError, UNAVAILABLE, "ServiceUnavailableException"),
    (ConflictError, 409, COMMIT_FAILED),
    (NotFoundError, 404, NOT_FOUND),
    (MetastoreError, 400, BAD_REQUEST),
)


class RestError(Exception):
    """An error that the client receives. `status`: of HTTP; `kind`: the name of Java's exception."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        text = " ".join(message.split())
        super().__init__(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
        self.status = status
        self.kind = kind

    @property
    def body(self) -> dict[str, Any]:
        """The protocol's object `error`."""
        return {"message": str(self), "type": self.kind, "code": self.status}


def rest_error(error: MetastoreError, missing: str = NOT_FOUND) -> RestError:
    """Returns the error of the protocol. `missing`: the type of the object that a NotFoundError is about."""
    status, kind = next((status, kind) for of, status, kind in _KINDS if isinstance(error, of))
    return RestError(status, missing if status == 404 else kind, str(error))


def invalid(message: str) -> RestError:
    """Returns the error for a request that cannot be carried out as it is."""
    return RestError(400, VALIDATION, message)


def commit_failed(message: str) -> RestError:
    """Returns the error for a commit that has certainly failed: the client reads the table again and repeats it."""
    return RestError(409, COMMIT_FAILED, message)
