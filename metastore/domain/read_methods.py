"""Which methods of the wire change nothing, by their names: such a call may be repeated, and its answer withheld."""

from __future__ import annotations

from typing import Final

_READING: Final = ("get", "fetch_", "plan_", "scan_", "show_", "wait_")
_CHANGING: Final = ("get_delegation_token", "get_lock_materialization_rebuild")


def is_read(method: str) -> bool:
    """Tells whether a method is named as one that only reads."""
    return method.startswith(_READING) and method not in _CHANGING
