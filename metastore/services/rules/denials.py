"""The error of a call whose caller lacks a right, as far as only its transaction can tell."""

from __future__ import annotations

from metastore.context import caller
from metastore.domain.privileges import denied
from metastore.errors import PermissionDeniedError


def denial(right: str, on: object) -> PermissionDeniedError:
    """Returns the error for the caller of the current call."""
    current = caller.get()
    return PermissionDeniedError(denied(current.user if current else None, right, on))
