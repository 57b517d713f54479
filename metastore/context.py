"""Who asks: known to everything that runs inside one call, passed by nobody."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class Caller:
    """One connection's client."""

    peer: str
    user: str | None = None
    groups: list[str] = field(default_factory=list)


caller: ContextVar[Caller | None] = ContextVar("caller", default=None)
