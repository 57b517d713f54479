"""Handlers of partition names."""

from __future__ import annotations

from metastore.domain.partition_names import first_invalid_character, parse_name
from metastore.encoding.binary import EncodedTexts
from metastore.errors import InvalidInputError
from metastore.handlers.arguments import limit, required_table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import operation, visible
from metastore.services.partitions_read import PartitionReadService
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPartitionNamesPsRequest,
    GetPartitionNamesPsResponse,
    PartitionsRequest,
)

_TABLE = TableFields("db_name", "tbl_name")


class PartitionNameHandlers:
    """`*partition_name*`."""

    def __init__(self, partitions: PartitionReadService) -> None:
        self._partitions = partitions

    @operation(_TABLE, visible)
    def get_partition_names(self, database: str, table: str, maximum: int) -> EncodedTexts:
        name, by_hive_3 = required_table_name(database, table), database.startswith("@")
        return self._partitions.names(name, limit(maximum), must_exist=by_hive_3)

    @operation(TableFields("partitionReq.dbName", "partitionReq.tblName", "partitionReq.catName"), visible)
    def fetch_partition_names_req(self, request: PartitionsRequest) -> EncodedTexts:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        return self._partitions.names(name, limit(request.maxParts))

    @operation(_TABLE, visible)
    def get_partition_names_ps(self, database: str, table: str, values: list[str], maximum: int) -> EncodedTexts:
        return self._partitions.names_by_values(required_table_name(database, table), values or [], limit(maximum))

    @operation(TableFields("req.dbName", "req.tblName", "req.catName"), visible)
    def get_partition_names_ps_req(self, request: GetPartitionNamesPsRequest) -> GetPartitionNamesPsResponse:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        names = self._partitions.names_by_values(name, request.partValues or [], limit(request.maxParts))
        return GetPartitionNamesPsResponse(names=names)

    @operation(None)
    def partition_name_to_vals(self, name: str) -> list[str]:
        return [value for _, value in parse_name(name)] if name else []

    @operation(None)
    def partition_name_to_spec(self, name: str) -> dict[str, str]:
        return dict(parse_name(name)) if name else {}

    @operation(None)
    def partition_name_has_valid_characters(self, values: list[str], throw: bool) -> bool:
        invalid = first_invalid_character(values or [])
        if invalid is not None and throw:
            raise InvalidInputError(f"Partition value contains a character that cannot be stored: {invalid!r}")
        return invalid is None
