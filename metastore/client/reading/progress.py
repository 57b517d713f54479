"""A progress bar on standard error, for reads that take long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

_AFTER: Final = 2.0  # seconds before the first line: short reads show nothing
_EVERY: Final = 0.2
_WIDTH: Final = 30


def progress_bar(name: str, wanted: Callable[[int, int], None] | bool | None) -> Callable[[int, int], None]:
    """Returns a function that receives the number of finished steps and their total.

    `wanted`: that function itself, or whether a bar is shown. None: if standard error is a terminal.
    """
    if callable(wanted):
        return wanted
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return lambda _, __: None
    return _Bar(name).show


class _Bar:
    def __init__(self, name: str) -> None:
        self._name = name
        self._started = self._shown = time.monotonic()

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._started < _AFTER or (now - self._shown < _EVERY and done < total):
            return
        self._shown = now
        full = _WIDTH * done // max(total, 1)
        end = "\n" if done >= total else ""
        sys.stderr.write(f"\r{self._name} [{'#' * full}{' ' * (_WIDTH - full)}] {done:,} of {total:,}{end}")
        sys.stderr.flush()
