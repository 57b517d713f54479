"""Requests about dependent tables, as clients send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.wire.builders import partition
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import (
    CreateDependentTableRequest,
    Dependencies,
    DependenciesRequest,
    DependencyDirection,
    SetDependencyRequest,
)

DS, HR, MIN = ("ds", "string"), ("hr", "string"), ("min", "string")
UP, DOWN = DependencyDirection.UP, DependencyDirection.DOWN


def create(client: Any, database: str, name: str, base: str, *keys: str, **fields: Any) -> None:
    given = [FieldSchema(key, None, None) for key in keys or ("ds",)]
    client.create_dependent_table(CreateDependentTableRequest(database, name, given, database, base, **fields))


def depend(client: Any, database: str, name: str, base: str, *partitions: Sequence[str]) -> None:
    chosen = [list(sequence) for sequence in partitions] or None
    client.set_dependency(SetDependencyRequest(database, name, database, base, partitions=chosen))


def add(client: Any, database: str, name: str, *values: Sequence[str]) -> None:
    client.add_partitions([partition(database, name, value) for value in values])


def add_to_dependent(client: Any, database: str, name: str, *values: Sequence[str]) -> None:
    """Creates a dependent table in the way of plain clients."""
    client.add_partitions([partition(database, name, value, sd=None) for value in values])


def asked(
    client: Any, database: str, name: str, direction: int, values: Sequence[str] | None = None, **fields: Any
) -> Dependencies:
    given = None if values is None else list(values)
    return client.get_dependencies(DependenciesRequest(database, name, direction, values=given, **fields))


def bases(client: Any, database: str, name: str, direction: int = UP, **fields: Any) -> list[tuple[str, str]]:
    actual_tables = asked(client, database, name, direction, **fields).tables
    return [(dependency.tableName, dependency.baseTableName) for dependency in actual_tables]


def reads(client: Any, database: str, name: str, values: Sequence[str] | None = None) -> dict[str, Any]:
    """Returns for each dependent partition the base table and base partitions."""
    actual_partitions = asked(client, database, name, UP, values, transitive=False).partitions
    return {
        dependency.partitionName: (dependency.baseTableName, dependency.basePartitions)
        for dependency in actual_partitions
    }


def fresh(client: Any, database: str, name: str) -> dict[str, bool]:
    return {
        dependency.partitionName: dependency.fresh
        for dependency in asked(client, database, name, UP, transitive=False).partitions
    }


def text(client: Any, database: str, name: str = "tdep") -> str:
    view = client.get_table(database, name)
    assert view.viewExpandedText == view.viewOriginalText
    return str(view.viewExpandedText).replace(f"`{database}`.", "")
