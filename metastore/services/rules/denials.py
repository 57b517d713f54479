"""The error of a call whose caller lacks a right."""

from __future__ import annotations

from metastore.context import caller
from metastore.domain.privileges import denied
from metastore.errors import PermissionDeniedError


def denial(right: str, on: object, reason: str = "") -> PermissionDeniedError:
    """Returns the error for the caller of the current call."""
    current = caller.get()
    text = denied(current.user if current else None, right, on)
    return PermissionDeniedError(f"{text}: {reason}" if reason else text)
