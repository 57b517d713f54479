"""The time of day, as services are given it."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], int]
"""Seconds since 1970."""
