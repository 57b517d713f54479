"""Tasks that outlive their Spark job: after one task has failed, the others end at their next row, or later.

Until then they make directories and files in the write's directory, also after Spark has deleted it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_PAUSE = 0.2  # seconds between two looks at the running tasks
# Py4J's, its connection's, and that of a SparkContext that was stopped.
_SESSION_ENDED = (Py4JError, OSError, AttributeError)


def after_running_tasks(spark: SparkSession, action: Callable[[], object], seconds: float) -> None:
    """Runs the action at once if no task of the application runs, otherwise in a thread as soon as none runs.

    If tasks still run after `seconds`, nothing runs it.
    """
    if _runs_tasks(spark):
        # A daemon thread, so that it never keeps a process alive.
        Thread(target=_wait, args=(spark, action, seconds), name="late tasks", daemon=True).start()
    else:
        action()


def _wait(spark: SparkSession, action: Callable[[], object], seconds: float) -> None:
    never = Event()
    for _ in range(int(seconds / _PAUSE) + 1):
        never.wait(_PAUSE)
        if not _runs_tasks(spark):
            with suppress(*_SESSION_ENDED):
                action()
            return


def _runs_tasks(spark: SparkSession) -> bool:
    """Returns whether an executor runs a task. Spark's scheduler counts a cancelled task until it has ended."""
    try:
        scheduler: Any = spark.sparkContext._jsc.sc().taskScheduler()  # noqa: SLF001 - PySpark has no public API for it
        counts = scheduler.runningTasksByExecutors().valuesIterator()
        while counts.hasNext():
            if counts.next():
                return True
    except _SESSION_ENDED:
        return False
    return False
