"""Read-only Thrift methods, by their names. Their calls can be retried, and their replies can be withheld."""

from __future__ import annotations

from typing import Final

_READING: Final = ("get", "fetch_", "plan_", "scan_", "show_", "wait_")
_CHANGING: Final = ("get_delegation_token", "get_lock_materialization_rebuild")


def is_read(method: str) -> bool:
    """Returns whether the name is that of a read-only method."""
    return method.startswith(_READING) and method not in _CHANGING
