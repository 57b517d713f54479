"""`metastore dependencies`, `metastore impact` and `metastore partitions wait`: dependent tables."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import click
from rich.console import Console

from metastore.cli.client import connected
from metastore.cli.dependency_formats import FORMATS, Query
from metastore.cli.printing import print_table, printable
from metastore.domain.dependencies import state_of
from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.names import fold_column
from metastore.domain.partition_names import DEFAULT_PARTITION, parse_name
from metastore.errors import InvalidInputError, NotFoundError
from thrift_idl.gen.metastore.ttypes import DependenciesRequest, DependencyDirection, WaitRequest

_WAIT = 10.0  # seconds that one call waits, as servers limit it
_NAMED = 5  # bases in an error
_PAUSE = 1.0  # seconds before the next call to a server that has too many waiting calls and returns at once


class Target(NamedTuple):
    """A table, or its partitions with given values of the first partition columns."""

    database: str
    table: str
    values: list[str] | None
    spec: str | None

    def __str__(self) -> str:
        name = f"{self.database}.{self.table}"
        return f"{name}@{self.spec}" if self.spec else name


def show_dependencies(uri: str, name: str, *, up: bool, form: str) -> None:
    """Prints the bases of a table or partition or, unless `up`, its dependents.

    `form`: a key of FORMATS.
    """
    with connected(uri) as client:
        target = _parse_target(client, name)
        result = _fetch(client, target, up=up, base_partitions=up or form == "tree")
    query = Query(str(target), f"{target.database}.{target.table}", target.spec, up, uri)
    console = Console(soft_wrap=True, highlight=False, markup=False, color_system=None)
    with console.capture() as captured:
        console.print(FORMATS[form](query, result))
    for line in captured.get().rstrip("\n").split("\n"):
        click.echo(printable(line))  # names of partitions are chosen by others


def show_impact(uri: str, name: str) -> None:
    """Prints every partition that depends on a table or partition, directly or not, its state, and views on them."""
    with connected(uri) as client:
        target = _parse_target(client, name)
        result = _fetch(client, target, up=False, base_partitions=False)
    rows = [
        (
            f"{partition.dbName}.{partition.tableName}@{partition.partitionName}",
            state_of(partition.basePartitionsTotal, unchanged=partition.fresh),
            f"{partition.baseDbName}.{partition.baseTableName}@{partition.baseSpec}",
        )
        for partition in result.partitions
    ]
    if target.spec is None:
        rows += [
            (f"{table.dbName}.{table.tableName}", "no partitions", f"{table.baseDbName}.{table.baseTableName}")
            for table in result.tables
            if not table.partitions
        ]
    rows += [
        (
            f"{view.dbName}.{view.tableName}",
            "materialized view" if view.materialized else "view",
            f"{view.baseDbName}.{view.baseTableName}",
        )
        for view in result.views or ()
    ]
    rows += [
        (name, "unknown", "a text that cannot be parsed, or was not read yet") for name in result.unknownViews or ()
    ]
    print_table(f"Dependents of {target}", ("dependent", "state", "reads"), rows)


def wait(uri: str, name: str, spec: str, *, dependencies: bool, timeout: float | None) -> str:
    """Waits until a partition exists. Returns a confirmation.

    Each call blocks in the server until the partition is added, so nothing is polled. `dependencies`: also wait for all
    partitions that it depends on. Raises NotFoundError after `timeout` seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    with connected(uri) as client:
        target = _parse_target(client, f"{name}@{spec}")
        while True:
            started = time.monotonic()
            left = _WAIT if deadline is None else max(0.0, min(_WAIT, deadline - started))
            request = WaitRequest(target.database, target.table, target.values, None, dependencies, int(left * 1000))
            if client.wait_for_partition(request):
                return f"{target} exists."
            if deadline is not None and time.monotonic() >= deadline:
                raise NotFoundError(f"{_lacking(client, target, dependencies)} after {timeout:g} seconds.")
            if time.monotonic() - started < left / 2:
                time.sleep(_PAUSE)


def _lacking(client: Any, target: Target, dependencies: bool) -> str:
    """Returns what does not exist: the partition, or bases that it depends on, directly or not."""
    alone = WaitRequest(target.database, target.table, target.values, None, dependencies=False, timeoutMillis=0)
    if not dependencies or not client.wait_for_partition(alone):
        return f"{target} does not exist"
    edges = _fetch(client, target, up=True, base_partitions=False).partitions
    lacking = [edge for edge in edges if not edge.basePartitionsTotal]
    names = list(dict.fromkeys(f"{edge.baseDbName}.{edge.baseTableName}@{edge.baseSpec}" for edge in lacking))
    if not names:
        return f"{target} exists, but a partition that it depends on did not exist"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    verb = "do" if len(names) > 1 else "does"
    return f"{target} exists, but {', '.join(names[:_NAMED])}{more}, which it depends on, {verb} not exist"


def _fetch(client: Any, target: Target, *, up: bool, base_partitions: bool) -> Any:
    request = DependenciesRequest(
        target.database,
        target.table,
        DependencyDirection.UP if up else DependencyDirection.DOWN,
        values=target.values,
        basePartitions=base_partitions,
    )
    return client.get_dependencies(request)


def _parse_target(client: Any, name: str) -> Target:
    """Parses DATABASE.TABLE or DATABASE.TABLE@a=1/b=2. Without DATABASE, the table is in the database `default`.

    Raises InvalidInputError if the specification does not name the first partition columns, and the server's errors.
    """
    full_name, at, spec = name.partition("@")
    database, _, table = full_name.rpartition(".")
    database = database or "default"
    if not table or (at and not spec):
        raise click.UsageError(f"{name!r} is not a valid name. Write DATABASE.TABLE or DATABASE.TABLE@column=value.")
    if not spec:
        return Target(database, table, None, None)
    types = {key.name: key.type for key in client.get_table(database, table).partitionKeys}
    keys = list(types)
    if not keys:
        raise InvalidInputError(f"Table {database}.{table} is not partitioned.")
    pairs = parse_name(spec)
    values = {fold_column(column): value for column, value in pairs}
    columns = keys[: len(values)]
    if not values or set(columns) != values.keys():
        raise InvalidInputError(
            f"{spec} does not name the first partition columns of {database}.{table}. They are: {', '.join(keys)}."
        )
    for column in columns:
        kind = kind_of(types[column])
        if kind is not KeyKind.OTHER and values[column] != DEFAULT_PARTITION and sort_key(kind, values[column]) is None:
            raise InvalidInputError(
                f"{column}={values[column]} names no partition of {database}.{table}: the column {column} has the type "
                f"{types[column]}"
            )
    return Target(database, table, [values[column] for column in columns], spec)
