"""Run events of statements that let a dependent table, or partitions of it, rest on a base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from spark_client.context import Context
from spark_client.errors import SparkClientError
from spark_client.write.event_sender import URL, warn_once
from spark_client.write.run_events import Statement, run_events

TableName = tuple[str, str]


@contextmanager
def dependency_events(
    context: Context,
    kind: str,
    dependent: TableName,
    *,
    base: TableName | None = None,
    partitions: Sequence[Sequence[str]] = (),
    change: str | None = None,
) -> Iterator[None]:
    """Surrounds a change of a dependent table. The base is the input, and the dependent table the output.

    `partitions`: those that get a base, by their values. `base`: None for the base of new partitions. `change` and
    `kind`: as in `Statement`.
    """

    def bases() -> list[str]:
        if base is not None:
            return [".".join(base)]
        tables = context.metastore.get_dependencies(*dependent, transitive=False).tables
        return [edge.base for edge in tables if edge.current]

    with run_events(context, Statement(kind, {".".join(dependent): change}, bases=bases)) as running:
        yield
        if running.is_reporting:
            _report(running, dependent, partitions)


def _report(context: Context, dependent: TableName, partitions: Sequence[Sequence[str]]) -> None:
    """Reports on which base partitions these partitions rest now. The change is made: it does not fail any more."""
    try:
        for values in partitions:
            for edge in context.metastore.get_dependencies(*dependent, values, transitive=False).partitions:
                context.report(edge.dependent, edge)
    except SparkClientError as error:
        warn_once(f"the partitions of a dependent table could not be found for {URL}", error)
