"""Who asks: known to everything that runs inside one call, passed by nobody."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class AuditNote:
    """What the audit trail will have of a call. The first transaction that commits for the call writes it."""

    request: str  # as the log names the call
    user: str | None
    real_user: str | None
    address: str
    method: str
    objects: list[str]
    outcome: str = "done"
    detail: dict[str, str] = field(default_factory=dict)
    is_written: bool = False


@dataclass(slots=True)
class Caller:
    """One connection's client."""

    peer: str
    user: str | None = None
    groups: list[str] = field(default_factory=list)
    authentication: str = ""  # how the user's name was proved (a method of METASTORE_AUTHENTICATION); empty: it was not
    real_user: str | None = None  # who was authenticated, where it is another one that acts for `user`
    connection: int = 0  # its number in this process
    wire_format: str = "binary"  # how its messages come
    encrypted: bool = False
    client: str = ""  # of domain.client_kinds: told by its first message
    hive_version: int = 0  # whose client it is, where its calls tell: 2 or 3, what came before Hive 4
    meta_confs: dict[str, str] = field(default_factory=dict)  # what it has set, under Hive 3's names
    max_partitions: int | None = None  # that a call may read, where there is a quota
    grants_cache: object = None  # what is remembered of its rights
    # Of the call that it makes now:
    database_seconds: float = 0.0  # with a connection to the database
    waiting_seconds: float = 0.0  # for one
    statements: list[float] = field(default_factory=list)  # seconds of each
    statement: str = ""  # the last one, without its values
    request: int = 0  # its number in this process
    note: AuditNote | None = None  # where it is to be audited


caller: ContextVar[Caller | None] = ContextVar("caller", default=None)
