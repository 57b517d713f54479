"""Handlers of our own service for dependent tables."""

from __future__ import annotations

from metastore.context import caller
from metastore.domain.names import TableName
from metastore.errors import InvalidInputError
from metastore.handlers.arguments import table_name
from metastore.operations.answer_filters import dependencies
from metastore.operations.assignments import set_dependent_owner
from metastore.operations.audit_details import parameters
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, change, from_fields, operation, visible
from metastore.operations.requirements.tables import changed_dependency, dependent_table
from metastore.services.dependencies import DependencyService
from metastore.services.partition_waiting import PartitionWaitingService
from thrift_idl.gen.metastore.ttypes import (
    CreateDependentTableRequest,
    Dependencies,
    DependenciesRequest,
    DependencyDirection,
    SetDependencyRequest,
    WaitRequest,
)

_REQUESTED_TABLE = TableFields("request.dbName", "request.tableName", "request.catName")
_BASE = TableFields("request.baseDbName", "request.baseTableName", "request.catName")


class DependencyHandlers:
    """`create_dependent_table`, `set_dependency`, `get_dependencies`, `wait_for_partition`."""

    def __init__(self, dependencies: DependencyService, waiting: PartitionWaitingService) -> None:
        self._dependencies = dependencies
        self._waiting = waiting

    @change(
        _REQUESTED_TABLE,
        from_fields(dependent_table, TARGET, _BASE, "request"),
        assignments=from_fields(set_dependent_owner, "request"),
        audit_detail=from_fields(parameters, "request.parameters"),
    )
    def create_dependent_table(self, request: CreateDependentTableRequest) -> None:
        current = caller.get()
        owner = request.owner or (current.user if current else None)
        keys = [key for key in request.partitionKeys or [] if key is not None]
        parameters, if_not_exists = request.parameters or {}, bool(request.ifNotExists)
        self._dependencies.create(
            *_tables(request), keys, parameters=parameters, owner=owner, if_not_exists=if_not_exists
        )

    @change(_REQUESTED_TABLE, from_fields(changed_dependency, TARGET, _BASE))
    def set_dependency(self, request: SetDependencyRequest) -> None:
        self._dependencies.set_base(*_tables(request), request.partitions)

    @operation(_REQUESTED_TABLE, visible, answer_filter=from_fields(dependencies, TARGET))
    def get_dependencies(self, request: DependenciesRequest) -> Dependencies:
        if request.direction not in (DependencyDirection.UP, DependencyDirection.DOWN):
            raise InvalidInputError(f"The direction is {request.direction}, but must be UP or DOWN")
        up = request.direction == DependencyDirection.UP
        find = self._dependencies.upwards if up else self._dependencies.downwards
        with_bases, transitive = request.basePartitions is not False, request.transitive is not False
        name = table_name(request.dbName, request.tableName, request.catName)
        return find(name, request.values, transitive=transitive, base_partitions=with_bases)

    @operation(_REQUESTED_TABLE, visible)
    def wait_for_partition(self, request: WaitRequest) -> bool:
        name = table_name(request.dbName, request.tableName, request.catName)
        seconds = (10_000 if request.timeoutMillis is None else request.timeoutMillis) / 1000
        return self._waiting.wait(name, request.values or [], dependencies=bool(request.dependencies), seconds=seconds)


def _tables(request: CreateDependentTableRequest | SetDependencyRequest) -> tuple[TableName, TableName]:
    """Returns the dependent table and its base. Raises InvalidInputError if they are in different catalogs."""
    dependent = table_name(request.dbName, request.tableName, request.catName)
    base = table_name(request.baseDbName, request.baseTableName, request.catName)
    if dependent.catalog != base.catalog:
        raise InvalidInputError(
            f"Table {dependent} of catalog {dependent.catalog} cannot depend on a table of catalog {base.catalog}"
        )
    return dependent, base
