"""Which line of whose program made an expression: Spark 4 notes it for each, for its error messages.

For those that this library makes there is nobody to tell, and noting takes longer than making: some twenty calls of the
JVM's each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from pyspark.errors import utils as noting

_here = threading.local()


def install() -> None:
    """Lets PySpark ask whether it is to note, in this thread; it has one switch for all. Once, however often called."""
    theirs: Callable[[], bool] | None = getattr(noting, "is_debugging_enabled", None)  # not in Spark 3.5
    if theirs is None or getattr(theirs, "of_spark_client", False):
        return

    @wraps(theirs)
    def is_enabled() -> bool:
        return not getattr(_here, "unnoted", False) and theirs()

    replaced: Any = is_enabled
    replaced.of_spark_client = True
    noting.is_debugging_enabled = replaced


@contextmanager
def unnoted() -> Iterator[None]:
    """Nothing is noted of the expressions that this thread makes within."""
    before, _here.unnoted = getattr(_here, "unnoted", False), True
    try:
        yield
    finally:
        _here.unnoted = before
