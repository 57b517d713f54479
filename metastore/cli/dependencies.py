"""`metastore dependencies`, `metastore impact` and `metastore partitions wait`: dependent tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import click
from rich.console import Console

from metastore.cli.client import connected, connected_client
from metastore.cli.dependency_formats import FORMATS, Query
from metastore.cli.names import split_table
from metastore.cli.printing import print_table, printable
from metastore.client.waiting import wait_for
from metastore.domain.dependencies import state_of
from metastore.domain.partition_ranges import leading_values
from metastore.errors import NotInTimeError
from thrift_idl.gen.metastore.ttypes import DependenciesRequest, DependencyDirection, WaitRequest

_NAMED = 5  # objects in an error
_INVALID = "{!r} is not a valid name. Write DATABASE.TABLE or DATABASE.TABLE@column=value."


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


def wait(uri: str, name: str, specs: Sequence[str], *, dependencies: bool, timeout: float | None) -> str:
    """Waits until all partitions exist. Returns a confirmation. `dependencies`: also waits for what they depend on.

    Raises NotInTimeError after `timeout` seconds, NotFoundError, InvalidInputError.
    """
    if not all(specs):
        raise click.UsageError(_INVALID.format(f"{name}@"))
    with connected_client(uri) as client:
        database, table = split_table(name)
        waited = wait_for(client, database, table, specs, dependencies=dependencies, timeout=timeout)
        full_name = f"{database}.{table}"
        if not waited.missing:
            names = [f"{full_name}@{each}" for each in waited.found]
            return f"{names[0]} exists." if len(names) == 1 else f"{len(names)} partitions of {full_name} exist."
        total = len(waited.found) + len(waited.missing)
        if total == 1:
            target = _parse_target(client.methods, f"{full_name}@{waited.missing[0]}")
            lacking = _lacking(client.methods, target, dependencies)
        else:
            lacking = f"{full_name}: {len(waited.missing)} of {total} partitions {_among(waited.missing)}"
            lacking += ", or what they depend on, do not exist" if dependencies else " do not exist"
        raise NotInTimeError(f"{lacking} after {timeout or 0:g} seconds.")


def _among(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"({', '.join(names[:_NAMED])}{more})"


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
        raise click.UsageError(_INVALID.format(name))
    if not spec:
        return Target(database, table, None, None)
    types = {key.name: key.type for key in client.get_table(database, table).partitionKeys}
    return Target(database, table, leading_values(f"{database}.{table}", types, spec), spec)
