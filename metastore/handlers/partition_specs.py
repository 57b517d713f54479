"""Handlers of partition specs."""

from __future__ import annotations

from metastore.errors import InvalidInputError, UndeclaredError
from metastore.handlers.arguments import limit, required_table_name, table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import change, from_fields, operation, visible
from metastore.operations.requirements.partitions import partition_specs
from metastore.services.partition_specs import PartitionSpecService, Specs
from metastore.services.partitions_write import PartitionWriteService
from metastore.services.rules.partition_grouping import ungrouped
from thrift_idl.gen.hive_metastore.ttypes import GetPartitionsRequest, GetPartitionsResponse, PartitionSpec

_TABLE = TableFields("db_name", "tbl_name")


class PartitionSpecHandlers:
    """`*_pspec`, `get_part_specs_by_filter`, `get_partitions_with_specs`."""

    def __init__(self, specs: PartitionSpecService, partitions: PartitionWriteService) -> None:
        self._specs = specs
        self._partitions = partitions

    @change(
        TableFields("new_parts.0.dbName", "new_parts.0.tableName", "new_parts.0.catName"),
        from_fields(partition_specs, "new_parts"),
        entries="new_parts",
    )
    def add_partitions_pspec(self, specs: list[PartitionSpec]) -> int:
        new = [partition for spec in specs or [] for partition in ungrouped(spec)]
        owners = {table_name(spec.dbName, spec.tableName, spec.catName) for spec in specs or []}
        if len(owners) > 1:
            raise InvalidInputError(
                f"The partition specs name {len(owners)} tables: add the partitions of one table in each call"
            )
        return sum(len(self._partitions.add(owner, new)) for owner in owners)

    @operation(_TABLE, visible)
    def get_partitions_pspec(self, database: str, table: str, maximum: int) -> Specs:
        if table is None:
            raise UndeclaredError("Table name cannot be null")
        return self._specs.select(required_table_name(database, table), None, limit(maximum))

    @operation(_TABLE, visible)
    def get_part_specs_by_filter(self, database: str, table: str, text: str, maximum: int) -> Specs:
        return self._specs.select(required_table_name(database, table), text, limit(maximum))

    @operation(TableFields("request.dbName", "request.tblName", "request.catName"), visible)
    def get_partitions_with_specs(self, request: GetPartitionsRequest) -> GetPartitionsResponse:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        return GetPartitionsResponse(self._specs.select_parts(name, request.projectionSpec, request.filterSpec))
