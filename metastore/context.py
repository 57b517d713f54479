"""The current call as context variables: its caller, and the memory for its reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class AuditNote:
    """The audit record of a call. The first transaction that commits during the call writes it."""

    request: str  # request id, as in the log
    user: str | None
    real_user: str | None
    address: str
    method: str
    objects: list[str]
    outcome: str = "done"
    detail: dict[str, str] = field(default_factory=dict)
    is_written: bool = False


@dataclass(slots=True)
class CurrentCall:
    """A call while it runs: what it costs, and its audit record.

    Attributes:
        request: number of the call in this process.
        note: audit record, if the call is audited.
        database_seconds: seconds with a database connection.
        waiting_seconds: seconds spent waiting for a database connection.
        statements: duration of each SQL statement, in seconds.
        statement: the last SQL statement, without its parameters.
        slowest: the SQL statement that took longest, without its parameters.
        backend: process id of the PostgreSQL session that runs a statement; 0 if none runs.
        blocked_by: sessions of PostgreSQL that were seen blocking it.
    """

    request: int = 0
    note: AuditNote | None = None
    database_seconds: float = 0.0
    waiting_seconds: float = 0.0
    statements: list[float] = field(default_factory=list)
    statement: str = ""
    slowest: str = ""
    slowest_seconds: float = 0.0
    backend: int = 0
    blocked_by: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Caller:
    """The client of one connection, and its current call."""

    peer: str
    user: str | None = None
    groups: list[str] = field(default_factory=list)
    authentication: str = ""  # method of METASTORE_AUTHENTICATION that proved the user name; empty: not authenticated
    real_user: str | None = None  # the authenticated proxy user, if it acts for `user`
    connection: int = 0  # number of the connection in this process
    wire_format: str = "binary"
    encrypted: bool = False
    client: str = ""  # one of domain.client_kinds, detected from the first message
    hive_version: int = 0  # 2 or 3 if the calls reveal a client older than Hive 4, else 0
    meta_confs: dict[str, str] = field(default_factory=dict)  # set by setMetaConf; keys are Hive 3's names
    max_partitions: int | None = None  # quota: partitions that one call may read
    grants_cache: object = None  # private to services.authorization
    privileges_version: int | None = None  # the version of all privileges, if the call has read it already
    call: CurrentCall = field(default_factory=CurrentCall)  # replaced when a call begins


caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


@dataclass(frozen=True, slots=True)
class Claim:
    """Locations that the caller may register because no other object uses them or a location below them.

    `locations`: each canonical location with the directories above it that no other object may use, either.
    `table_id`: of the table whose own locations do not count; 0 for none. `error`: returns the error for a location
    that is used.
    """

    locations: Mapping[str, Sequence[str]]
    table_id: int
    error: Callable[[str], Exception]


@dataclass(slots=True)
class AuthorizationBasis:
    """The facts on which the authorization of the current call rests. Its transaction must find the same.

    `ids`: the ids of tables and databases by name; None for one that does not exist. `version`: of the table to alter,
    if the caller's right to do so depends on its content. `whole`: the databases of which `ids` has all tables.
    `held`: the caller's rights on the tables and databases that the call must have rights on. `is_outdated`:
    the call has found another object.
    """

    ids: dict[object, int | None] = field(default_factory=dict)
    version: int | None = None
    claims: list[Claim] = field(default_factory=list)
    whole: set[object] = field(default_factory=set)
    held: dict[object, frozenset[str]] = field(default_factory=dict)
    is_outdated: bool = False

    def is_same(self, name: object, number: int) -> bool:
        """Returns whether this id belongs to the object that was authorized under the name. Sets `is_outdated`."""
        same = self.ids.get(name, number) == number
        self.is_outdated = self.is_outdated or not same
        return same


authorization_basis: ContextVar[AuthorizationBasis | None] = ContextVar("authorization_basis", default=None)
"""None: authorization is off, no call is running, or an administrator who creates no table or database."""


def lacks(name: object, *rights: str) -> bool:
    """Returns whether the caller has none of these rights on a table or database for which the call requires others."""
    basis = authorization_basis.get()
    return basis is not None and name in basis.held and basis.held[name].isdisjoint(rights)


def is_authorized(name: object, number: int) -> bool:
    """Returns whether an object is the one that the current call was authorized for, not one that replaced it."""
    basis = authorization_basis.get()
    return basis is None or basis.is_same(name, number)


def covers_all(database: object, tables: Mapping[Any, int]) -> bool:
    """Returns whether the current call was authorized for all of these tables, which are those of the database now."""
    basis = authorization_basis.get()
    if basis is None or database not in basis.whole:
        return True
    return all(basis.ids.get(name) == number for name, number in tables.items())


@dataclass(slots=True)
class RequestKey:
    """A request that its client can repeat (`Idempotency-Key`), with its answer.

    Attributes:
        user: name of the caller; empty without authentication.
        key: a UUID that the client has chosen.
        digest: of the request: another one must not have the same key.
        location: of the metadata file with which it is answered, if any.
        body: of the answer, if any other; for a failed request, the protocol's object `error`.
    """

    user: str
    key: str
    digest: bytes
    location: str | None = None
    body: str | None = None


request_key: ContextVar[RequestKey | None] = ContextVar("request_key", default=None)
"""The key of the current request. The transaction that makes its change records it."""


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """Parameters to set and to remove, whatever the others are by now."""

    updates: Mapping[str, str]
    removals: Sequence[str]

    def applied(self, present: Mapping[str, str]) -> dict[str, str]:
        """Returns the parameters after the change."""
        return {key: value for key, value in {**present, **self.updates}.items() if key not in self.removals}


parameter_change: ContextVar[ParameterChange | None] = ContextVar("parameter_change", default=None)
"""The change of a database's parameters that the current call makes. None: the call has all parameters."""


reply_memory: ContextVar[Callable[[int], None] | None] = ContextVar("reply_memory", default=None)
"""The function that `claim_reply_memory` calls. None: the call is not limited, because it must not be repeated."""


class CallDeferredError(BaseException):
    """The call has to wait, for memory or its turn, and is executed again later. It is not a subclass of Exception, so
    that no layer reports it as an error."""


def claim_reply_memory(size: int) -> None:
    """Claims memory for the reply of the current call. `size`: the bytes that are known so far.

    Call it before the reply is complete. Raises CallDeferredError if too many large replies are being made.
    """
    claim = reply_memory.get()
    if claim is not None:
        claim(size)
