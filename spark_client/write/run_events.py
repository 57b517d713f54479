"""Run events of OpenLineage, if OPENLINEAGE_URL is set: which tables a statement has read and written.

A statement is one run, whatever it consists of: `run_events` surrounds each part that writes, and only the outermost
one tells. The tables read are those in the plans of the rows, so that no kind of statement needs rules of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final

from pyspark.sql import DataFrame

from metastore.client.structs import PartitionDependency
from metastore.domain.partition_names import parse_name
from spark_client.context import Context
from spark_client.errors import first_line
from spark_client.jvm.plans import analyzed_plan, kind, nodes_and_subqueries, tables_of
from spark_client.jvm.streams import running_batch
from spark_client.table.dependent import MARK
from spark_client.write.event_sender import URL, sender, warn_once
from spark_client.write.result import WriteResult

_NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
CREATE, OVERWRITE, TRUNCATE = "CREATE", "OVERWRITE", "TRUNCATE"
"""OpenLineage's names of what happens to a table, besides new rows."""
INSERT: Final = "INSERT"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that changes tables.

    Attributes:
        kind: What it is: INSERT, MERGE.
        changes: The tables that it changes, as `database.table`, with CREATE, OVERWRITE, TRUNCATE or None.
        rows: Returns the rows that it writes, and all others that it reads. Is called only if somebody listens.
        bases: Returns the tables that it reads otherwise. As `rows`.
    """

    kind: str
    changes: Mapping[str, str | None]
    rows: Callable[[], Sequence[DataFrame]] = tuple
    bases: Callable[[], Sequence[str]] = tuple


@contextmanager
def run_events(context: Context, statement: Statement) -> Iterator[Context]:
    """Sends START, then COMPLETE or FAIL. Yields the context in which the statement's writes report their results.

    A statement that is part of another one sends nothing: its results are those of the other.
    """
    url = os.environ.get(URL)
    run = _run(context, statement) if url and not context.is_reporting else None
    if url is None or run is None:
        yield context
        return
    facts = list[tuple[str, Any]]()
    _tell(url, run, "START")
    try:
        yield replace(context, report=lambda table, fact: facts.append((table, fact)))
    except BaseException as error:
        _tell(url, run, "FAIL", error=error)
        raise
    _tell(url, run, "COMPLETE", facts)


def _tell(
    url: str, run: _Run, state: str, facts: Sequence[tuple[str, Any]] = (), error: BaseException | None = None
) -> None:
    """Sends an event later. Raises nothing: a write does not fail by it."""
    try:
        sender(url).put(run.event(state, facts, error))
    except Exception as problem:  # noqa: BLE001 - also of the client, if the variables that configure it are wrong
        warn_once(f"events cannot be sent to {URL}", problem)


def _run(context: Context, statement: Statement) -> _Run | None:
    """Returns the run of a statement; None, with a warning, if that is impossible."""
    try:
        return _Run(context, statement)
    except ImportError:
        warn_once(f"{URL} is set, but its client is missing. Run: pip install 'metastore[openlineage]'")
    except Exception as error:  # noqa: BLE001 - the write must not fail
        warn_once(f"the tables of a write could not be found for {URL}", error)
    return None


class _Run:
    """Makes the events of one run."""

    def __init__(self, context: Context, statement: Statement) -> None:
        from openlineage.client.event_v2 import Job
        from openlineage.client.generated.job_type_job import JobTypeJobFacet
        from openlineage.client.uuid import generate_new_uuid

        self._producer = f"urn:metastore:{version('metastore')}"
        address = context.metastore.addresses[0]
        self._hive = f"hive://{address.host}:{address.port}"
        self._changes = {table.lower(): change for table, change in statement.changes.items()}
        self._inputs = list(dict.fromkeys([*statement.bases(), *_tables_read(statement.rows())]))
        self._id = str(generate_new_uuid())
        names = [str(context.spark.sparkContext.appName), *self._changes]
        if statement.kind != INSERT:
            names.append(statement.kind.lower().replace(" ", "_"))
        processing = "BATCH" if running_batch(context.spark) is None else "STREAMING"
        type_ = JobTypeJobFacet(processing, "SPARK", statement.kind, producer=self._producer)
        namespace = os.environ.get(_NAMESPACE) or self._hive
        self._job = Job(namespace, ".".join(names), facets={"jobType": type_})

    def event(self, state: str, facts: Sequence[tuple[str, Any]], error: BaseException | None) -> Any:
        """Returns an event. `facts`: what was reported about tables."""
        from openlineage.client.event_v2 import InputDataset, OutputDataset, Run, RunEvent, RunState
        from openlineage.client.generated.error_message_run import ErrorMessageRunFacet

        facets = {}
        if error is not None:
            text = first_line(error) or type(error).__name__
            facets["errorMessage"] = ErrorMessageRunFacet(text, "PYTHON", producer=self._producer)
        edges = [fact for _, fact in facts if isinstance(fact, PartitionDependency)]
        return RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=self._producer,
            run=Run(self._id, facets=facets),
            job=self._job,
            eventType=RunState[state],
            inputs=[InputDataset(self._hive, name, inputFacets=self._read(name, edges)) for name in self._inputs],
            outputs=[
                OutputDataset(self._hive, name, facets=self._changed(name), outputFacets=self._written(name, facts))
                for name in self._changes
            ],
        )

    def _changed(self, name: str) -> dict[str, Any]:
        """Returns the facet of what happens to a table, if something does besides new rows."""
        from openlineage.client.generated.lifecycle_state_change_dataset import (
            LifecycleStateChange,
            LifecycleStateChangeDatasetFacet,
        )

        change = self._changes[name]
        if change is None:
            return {}
        state = LifecycleStateChange[change]
        return {"lifecycleStateChange": LifecycleStateChangeDatasetFacet(state, producer=self._producer)}

    def _read(self, name: str, edges: Sequence[PartitionDependency]) -> dict[str, Any]:
        """Returns the facet of the partitions of a base on which dependent partitions rest."""
        from openlineage.client.generated.base_subset_dataset import InputSubsetInputDatasetFacet

        names = [name_ for edge in edges if edge.base == name for name_ in edge.base_partitions or (edge.base_spec,)]
        if not names:
            return {}
        return {"subset": InputSubsetInputDatasetFacet(_subset(names), producer=self._producer)}

    def _written(self, name: str, facts: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        """Returns the facets of the rows, files and bytes that a table has got, and of its dependent partitions."""
        from openlineage.client.generated.base_subset_dataset import OutputSubsetOutputDatasetFacet
        from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet

        only = next(iter(self._changes)) if len(self._changes) == 1 else None  # CREATE TABLE fills a temporary table
        own = [fact for table, fact in facts if (only or table.lower()) == name]
        facets: dict[str, Any] = {}
        if results := [fact for fact in own if isinstance(fact, WriteResult)]:
            parts = [part for result in results for part in result.partitions]
            facets["outputStatistics"] = OutputStatisticsOutputDatasetFacet(
                rowCount=sum(part.rows for part in parts),
                size=sum(part.bytes for part in parts),
                fileCount=sum(part.files for part in parts),
                producer=self._producer,
            )
        if edges := [fact for fact in own if isinstance(fact, PartitionDependency)]:
            names = [edge.partition for edge in edges]
            facets["subset"] = OutputSubsetOutputDatasetFacet(_subset(names), producer=self._producer)
        return facets


def _subset(names: Sequence[str]) -> Any:
    """Returns OpenLineage's condition for partitions with these names."""
    from openlineage.client.generated.base_subset_dataset import Partition, PartitionSubsetCondition

    return PartitionSubsetCondition([Partition(dict(parse_name(name)), name) for name in dict.fromkeys(names)])


def _tables_read(rows: Sequence[DataFrame]) -> Iterator[str]:
    """Yields the tables that the rows come from, dependent ones and those on which they depend."""
    for frame in rows:
        nodes = list(nodes_and_subqueries(analyzed_plan(frame)))
        yield from tables_of(nodes)
        for node in nodes:
            if kind(node) == "View" and node.desc().properties().contains(MARK):
                yield str(node.desc().identifier().unquotedString()).removeprefix("spark_catalog.")
