"""Handlers that change partitions."""

from __future__ import annotations

from typing import TypeAlias

from metastore.domain.names import TableName
from metastore.domain.privileges import Right
from metastore.errors import InvalidInputError
from metastore.handlers.arguments import properties, required, required_table_name, table_name, table_of
from metastore.operations.audit_details import parameters
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, any_of, change, from_fields
from metastore.operations.requirements.partitions import new_partitions, partition_location, partition_locations
from metastore.services.partition_expressions import PartitionExpressionService
from metastore.services.partitions_alter import PartitionAlterService
from metastore.services.partitions_write import PartitionWriteService
from metastore.services.rules.table_data import purges
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    AddPartitionsResult,
    AlterPartitionsRequest,
    AlterPartitionsResponse,
    AppendPartitionsRequest,
    DropPartitionRequest,
    DropPartitionsRequest,
    DropPartitionsResult,
    EnvironmentContext,
    Partition,
    RenamePartitionRequest,
    RenamePartitionResponse,
)

Context: TypeAlias = "EnvironmentContext | None"

_NEW_PARTITION_TABLE = TableFields("new_part.dbName", "new_part.tableName", "new_part.catName")
_TABLE = TableFields("db_name", "tbl_name")
_REQUESTED_TABLE = TableFields("req.dbName", "req.tableName", "req.catName")
_ADD_PARTITION = change(
    _NEW_PARTITION_TABLE,
    any_of(Right.INSERT, Right.ALTER),
    from_fields(partition_location, TARGET, "new_part"),
    audit_detail=from_fields(parameters, "new_part.parameters"),
)
_ALTER_PARTITION = change(
    _TABLE,
    any_of(Right.INSERT, Right.ALTER),
    from_fields(partition_location, TARGET, "new_part"),
    audit_detail=from_fields(parameters, "new_part.parameters"),
)
_ALTER_PARTITIONS = change(
    _TABLE,
    any_of(Right.INSERT, Right.ALTER),
    from_fields(partition_locations, TARGET, "new_parts"),
    entries="new_parts",
)


class PartitionWriteHandlers:
    """`add_`, `append_`, `drop_`, `alter_` and `rename_partition*`."""

    def __init__(
        self,
        partitions: PartitionWriteService,
        alter: PartitionAlterService,
        expressions: PartitionExpressionService,
    ) -> None:
        self._partitions = partitions
        self._alter = alter
        self._expressions = expressions

    @_ADD_PARTITION
    def add_partition(self, new: Partition) -> Partition:
        return self.add_partition_with_environment_context(new, None)

    @_ADD_PARTITION
    def add_partition_with_environment_context(self, new: Partition, context: Context) -> Partition:
        name = required_table_name(new.dbName, new.tableName, new.catName)
        return self._partitions.add(name, [new], context=properties(context))[0]

    @change(
        TableFields("new_parts.0.dbName", "new_parts.0.tableName", "new_parts.0.catName"),
        from_fields(new_partitions, "new_parts"),
        entries="new_parts",
    )
    def add_partitions(self, new: list[Partition]) -> int:
        return len(self._partitions.add(table_of(new), new)) if required("new_parts", new) else 0

    @change(
        TableFields("request.dbName", "request.tblName", "request.catName"),
        any_of(Right.INSERT, Right.ALTER),
        from_fields(partition_locations, TARGET, "request.parts"),
        entries="request.parts",
    )
    def add_partitions_req(self, request: AddPartitionsRequest) -> AddPartitionsResult:
        name = table_name(request.dbName, request.tblName, request.catName)
        context = properties(request.environmentContext)
        added = self._partitions.add(
            name, request.parts or [], if_not_exists=bool(request.ifNotExists), context=context
        )
        return AddPartitionsResult(partitions=added if request.needResult is not False else None)

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def append_partition(self, database: str, table: str, values: list[str]) -> Partition:
        return self._partitions.append(required_table_name(database, table), values=values or [])

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def append_partition_with_environment_context(
        self, database: str, table: str, values: list[str], _: Context
    ) -> Partition:
        return self.append_partition(database, table, values)

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def append_partition_by_name(self, database: str, table: str, name: str) -> Partition:
        return self._partitions.append(required_table_name(database, table), name=name)

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def append_partition_by_name_with_environment_context(
        self, database: str, table: str, name: str, _: Context
    ) -> Partition:
        return self.append_partition_by_name(database, table, name)

    @change(
        TableFields("appendPartitionsReq.dbName", "appendPartitionsReq.tableName", "appendPartitionsReq.catalogName"),
        any_of(Right.INSERT, Right.ALTER),
    )
    def append_partition_req(self, request: AppendPartitionsRequest) -> Partition:
        name = table_name(request.dbName, request.tableName, request.catalogName)
        return self._partitions.append(name, values=request.partVals, name=request.name)

    @change(_TABLE, any_of(Right.DELETE, Right.DROP))
    def drop_partition(self, database: str, table: str, values: list[str], delete_data: bool) -> bool:
        return self.drop_partition_with_environment_context(database, table, values, delete_data, None)

    @change(_TABLE, any_of(Right.DELETE, Right.DROP))
    def drop_partition_with_environment_context(
        self, database: str, table: str, values: list[str], delete_data: bool, context: Context
    ) -> bool:
        deleting, purge = bool(delete_data), purges(properties(context))
        self._partitions.drop(
            required_table_name(database, table), values=values or [], delete_data=deleting, purge=purge
        )
        return True

    @change(_TABLE, any_of(Right.DELETE, Right.DROP))
    def drop_partition_by_name(self, database: str, table: str, name: str, delete_data: bool) -> bool:
        return self.drop_partition_by_name_with_environment_context(database, table, name, delete_data, None)

    @change(_TABLE, any_of(Right.DELETE, Right.DROP))
    def drop_partition_by_name_with_environment_context(
        self, database: str, table: str, name: str, delete_data: bool, context: Context
    ) -> bool:
        deleting, purge = bool(delete_data), purges(properties(context))
        self._partitions.drop(required_table_name(database, table), name=name, delete_data=deleting, purge=purge)
        return True

    @change(
        TableFields("dropPartitionReq.dbName", "dropPartitionReq.tblName", "dropPartitionReq.catName"),
        any_of(Right.DELETE, Right.DROP),
    )
    def drop_partition_req(self, request: DropPartitionRequest) -> bool:
        name = table_name(request.dbName, request.tblName, request.catName)
        deleting, purge = bool(request.deleteData), purges(properties(request.environmentContext))
        self._partitions.drop(name, values=request.partVals, name=request.partName, delete_data=deleting, purge=purge)
        return True

    @change(
        TableFields("req.dbName", "req.tblName", "req.catName"),
        any_of(Right.DELETE, Right.DROP),
        entries="req.parts.names",
    )
    def drop_partitions_req(self, request: DropPartitionsRequest) -> DropPartitionsResult:
        name = table_name(request.dbName, request.tblName, request.catName)
        names, if_exists = self._named(name, request)
        deleting, purge = bool(request.deleteData), purges(properties(request.environmentContext))
        dropped = self._partitions.drop_by_names(name, names, if_exists=if_exists, delete_data=deleting, purge=purge)
        return DropPartitionsResult(partitions=dropped if request.needResult is not False else None)

    @_ALTER_PARTITION
    def alter_partition(self, database: str, table: str, new: Partition) -> None:
        self._alter.alter(required_table_name(database, table), [new], {})

    @_ALTER_PARTITION
    def alter_partition_with_environment_context(
        self, database: str, table: str, new: Partition, context: Context
    ) -> None:
        self._alter.alter(required_table_name(database, table), [new], properties(context))

    @_ALTER_PARTITIONS
    def alter_partitions(self, database: str, table: str, new: list[Partition]) -> None:
        self._alter.alter(required_table_name(database, table), required("new_parts", new), {})

    @_ALTER_PARTITIONS
    def alter_partitions_with_environment_context(
        self, database: str, table: str, new: list[Partition], context: Context
    ) -> None:
        self._alter.alter(required_table_name(database, table), required("new_parts", new), properties(context))

    @change(
        _REQUESTED_TABLE,
        any_of(Right.INSERT, Right.ALTER),
        from_fields(partition_locations, TARGET, "req.partitions"),
        entries="req.partitions",
    )
    def alter_partitions_req(self, request: AlterPartitionsRequest) -> AlterPartitionsResponse:
        name = table_name(request.dbName, request.tableName, request.catName)
        self._alter.alter(name, request.partitions or [], properties(request.environmentContext))
        return AlterPartitionsResponse()

    @change(
        _TABLE,
        any_of(Right.ALTER),
        from_fields(partition_location, TARGET, "new_part"),
        audit_detail=from_fields(parameters, "new_part.parameters"),
    )
    def rename_partition(self, database: str, table: str, values: list[str], new: Partition) -> None:
        self._alter.rename(required_table_name(database, table), values or [], new)

    @change(_REQUESTED_TABLE, any_of(Right.ALTER), from_fields(partition_location, TARGET, "req.newPart"))
    def rename_partition_req(self, request: RenamePartitionRequest) -> RenamePartitionResponse:
        name = table_name(request.dbName, request.tableName, request.catName)
        self._alter.rename(name, request.partVals or [], required("newPart", request.newPart))
        return RenamePartitionResponse()

    def _named(self, table: TableName, request: DropPartitionsRequest) -> tuple[list[str], bool]:
        """Returns the names of the partitions to drop, and whether some may be missing. Partitions that match an
        expression may be missing, because another call may drop them first.
        """
        if_exists = request.ifExists is not False
        if request.parts is None or (request.parts.names is None and request.parts.exprs is None):
            raise InvalidInputError("drop_partitions_req needs the names of partitions")
        if request.parts.names is not None:
            return request.parts.names, if_exists
        expressions = [expr.expr for expr in request.parts.exprs]
        return self._expressions.names_to_drop(table, expressions, if_exists=if_exists), True
