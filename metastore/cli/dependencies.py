"""`metastore dependencies`, `metastore impact` and `metastore partitions wait`: what depends on what."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import click
from rich.console import Console

from metastore.cli.client import connected
from metastore.cli.dependency_formats import FORMATS, Query
from metastore.cli.printing import print_table
from metastore.domain.names import fold
from metastore.domain.partition_names import parse_name
from metastore.errors import InvalidInputError, NotFoundError
from thrift_idl.gen.metastore.ttypes import DependenciesRequest, DependencyDirection, WaitRequest

_WAIT = 10.0  # seconds a call, as servers have it
_PAUSE = 1.0  # seconds until a server is query again on which too many wait


class Target(NamedTuple):
    """A table, or what a specification of its first partition columns means."""

    database: str
    table: str
    values: list[str] | None
    spec: str | None

    def __str__(self) -> str:
        name = f"{self.database}.{self.table}"
        return f"{name}@{self.spec}" if self.spec else name


def show_dependencies(uri: str, name: str, *, up: bool, form: str) -> None:
    """What a table or partition depends on, or (not `up`) what depends on it, as a tree or for programs."""
    with connected(uri) as client:
        target = _parse_target(client, name)
        result = _fetch(client, target, up=up, base_partitions=up or form == "tree")
    query = Query(str(target), f"{target.database}.{target.table}", target.spec, up, uri)
    Console(soft_wrap=True, highlight=False, markup=False).print(FORMATS[form](query, result))


def show_impact(uri: str, name: str) -> None:
    """Every partition that depends on a table or partition, transitively, and whether it is fresh."""
    with connected(uri) as client:
        target = _parse_target(client, name)
        result = _fetch(client, target, up=False, base_partitions=False)
    rows = [
        (
            f"{partition.dbName}.{partition.tableName}@{partition.partitionName}",
            "fresh" if partition.fresh else "stale",
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
    print_table(f"What depends on {target}", ("dependent", "state", "reads"), rows)


def wait(uri: str, name: str, spec: str, *, dependencies: bool, timeout: float | None) -> str:
    """Returns when the partition is there; servers tell, nothing is looked up again and again.

    Raises NotFoundError after `timeout` seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    with connected(uri) as client:
        target = _parse_target(client, f"{name}@{spec}")
        while True:
            started = time.monotonic()
            left = _WAIT if deadline is None else max(0.0, min(_WAIT, deadline - started))
            request = WaitRequest(target.database, target.table, target.values, None, dependencies, int(left * 1000))
            if client.wait_for_partition(request):
                return f"{target} is there"
            if deadline is not None and time.monotonic() >= deadline:
                raise NotFoundError(f"{target} is not there after {timeout:g} seconds")
            if time.monotonic() - started < left / 2:
                time.sleep(_PAUSE)


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
    """`database.table`, `table` (of the database default), with `@a=1/b=2` behind it or not.

    Raises InvalidInputError where the values are not those of the first partition columns, and what the server answers.
    """
    whole, at, spec = name.partition("@")
    database, _, table = whole.rpartition(".")
    database = database or "default"
    if not table or (at and not spec):
        raise click.UsageError(f"{name!r} is no name; write DATABASE.TABLE or DATABASE.TABLE@column=value")
    if not spec:
        return Target(database, table, None, None)
    keys = [key.name for key in client.get_table(database, table).partitionKeys]
    if not keys:
        raise InvalidInputError(f"{database}.{table} has no partitions")
    pairs = parse_name(spec)
    given = {fold(column): value for column, value in pairs}
    columns = keys[: len(given)]
    if not given or set(columns) != given.keys():
        raise InvalidInputError(
            f"{spec} does not name the first partition columns of {database}.{table}, which are {', '.join(keys)}"
        )
    return Target(database, table, [given[column] for column in columns], spec)
