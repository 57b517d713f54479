"""Switches off the origins of expressions: Spark 4 records the Python line that created each one, for error messages.

This library's expressions never appear in such messages, and recording an origin takes about twenty Py4J calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from pyspark.errors import utils as error_utils

_thread = threading.local()


def install() -> None:
    """Makes PySpark check a switch of the current thread, in addition to its global one. Repeated calls have no
    effect.
    """
    original: Callable[[], bool] | None = getattr(error_utils, "is_debugging_enabled", None)  # not in Spark 3.5
    if original is None or getattr(original, "of_spark_client", False):
        return

    @wraps(original)
    def is_enabled() -> bool:
        return not getattr(_thread, "disabled", False) and original()

    replaced: Any = is_enabled
    replaced.of_spark_client = True
    error_utils.is_debugging_enabled = replaced


@contextmanager
def without_origins() -> Iterator[None]:
    """Records no origins of the expressions that this thread creates within the block."""
    before, _thread.disabled = getattr(_thread, "disabled", False), True
    try:
        yield
    finally:
        _thread.disabled = before
