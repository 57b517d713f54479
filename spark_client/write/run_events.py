"""Run events of OpenLineage for INSERTs, if OPENLINEAGE_URL is set: which tables a write has read and written.

A thread sends them with OpenLineage's own client, whose variables (`OPENLINEAGE_…`) configure the rest. A collector
that is slow or dead delays no write: events that it does not take in time are dropped, with one warning.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.jvm.plans import analyzed_plan, kind, nodes_and_subqueries, tables_of
from spark_client.table.dependent import MARK
from spark_client.write.result import WriteResult

_log = logging.getLogger(__name__)

_URL: Final = "OPENLINEAGE_URL"
_NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
_MOST_WAITING: Final = 1000  # events
_LAST_WAIT: Final = 5.0  # seconds that the end of the program waits for the thread
_warned: Final = set[str]()
Results = Sequence[WriteResult]


@contextmanager
def run_events(context: Context, written: Sequence[tuple[str, DataFrame]]) -> Iterator[Callable[[Results], None]]:
    """Sends START, then COMPLETE or FAIL. Yields the function that takes the results of the INSERTs.

    `written`: the table of each INSERT, and its rows.
    """
    url = os.environ.get(_URL)
    run = _run(context, written) if url else None
    if url is None or run is None:
        yield lambda _: None
        return
    results = list[WriteResult]()
    _tell(url, run, "START", ())
    try:
        yield results.extend
    except BaseException:
        _tell(url, run, "FAIL", ())
        raise
    _tell(url, run, "COMPLETE", results)


def _tell(url: str, run: Callable[[str, Results], Any], state: str, results: Results) -> None:
    """Sends an event later. Raises nothing: a write does not fail by it."""
    try:
        _sender(url).put(run(state, results))
    except Exception as error:  # noqa: BLE001 - also of the client, if the variables that configure it are wrong
        _warn_once(f"events cannot be sent to {_URL}", error)


def _run(context: Context, written: Sequence[tuple[str, DataFrame]]) -> Callable[[str, Results], Any] | None:
    """Returns a function that makes the events of one run; None, with a warning, if that is impossible."""
    try:
        from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
        from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet
        from openlineage.client.uuid import generate_new_uuid

        address = context.metastore.addresses[0]
        hive = f"hive://{address.host}:{address.port}"
        targets = [table.lower() for table, _ in written]
        inputs = [InputDataset(hive, name) for name in dict.fromkeys(_read_tables(written))]
        job = Job(os.environ.get(_NAMESPACE) or hive, f"{context.spark.sparkContext.appName}.{'.'.join(targets)}")
        run = Run(str(generate_new_uuid()))
    except ImportError:
        _warn_once(f"{_URL} is set, but its client is missing. Run: pip install 'metastore[openlineage]'")
        return None
    except Exception as error:  # noqa: BLE001 - the write must not fail
        _warn_once(f"the tables of a write could not be found for {_URL}", error)
        return None
    producer = f"urn:metastore:{version('metastore')}"

    def event(state: str, results: Results) -> Any:
        outputs = []
        for number, name in enumerate(targets):
            facets = {}
            if results:
                parts = results[number].partitions
                facets["outputStatistics"] = OutputStatisticsOutputDatasetFacet(
                    rowCount=sum(part.rows for part in parts),
                    size=sum(part.bytes for part in parts),
                    fileCount=sum(part.files for part in parts),
                    producer=producer,
                )
            outputs.append(OutputDataset(hive, name, outputFacets=facets))
        now = datetime.now(UTC).isoformat()
        return RunEvent(
            eventTime=now,
            producer=producer,
            run=run,
            job=job,
            eventType=RunState[state],
            inputs=inputs,
            outputs=outputs,
        )

    return event


def _read_tables(written: Sequence[tuple[str, DataFrame]]) -> Iterator[str]:
    """Yields the tables that the rows come from, dependent ones and those on which they depend."""
    for _, rows in written:
        nodes = list(nodes_and_subqueries(analyzed_plan(rows)))
        yield from tables_of(nodes)
        for node in nodes:
            if kind(node) == "View" and node.desc().properties().contains(MARK):
                yield str(node.desc().identifier().unquotedString()).removeprefix("spark_catalog.")


class _Sender:
    """A thread that sends events to one collector."""

    def __init__(self) -> None:
        from openlineage.client import OpenLineageClient

        self._client = OpenLineageClient()
        self._waiting: queue.Queue[Any] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._send, name="openlineage", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, event: Any) -> None:
        """Sends an event later, or drops it if too many wait."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            _warn_once(f"events for {_URL} are dropped: it takes them too slowly")

    def close(self) -> None:
        """Waits for the events that are left, at most some seconds."""
        self.put(None)
        self._thread.join(_LAST_WAIT)

    def _send(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                self._client.emit(event)
            except Exception as error:  # noqa: BLE001 - the thread goes on
                _warn_once(f"events could not be sent to {_URL}", error)


@cache
def _sender(_url: str) -> _Sender:
    return _Sender()


def _warn_once(text: str, error: object = "") -> None:
    """Logs a text once, with its first error: those that follow differ, by the address of an object at least."""
    if text not in _warned:
        _warned.add(text)
        _log.warning("%s%s", text, f": {error}" if error else "")
