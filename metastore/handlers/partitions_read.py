"""Handlers that read partitions. A call that names a user or groups gets their privileges too, if the table stores
privileges of partitions.
"""

from __future__ import annotations

from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.handlers.arguments import limit, required, required_table_name
from metastore.operations.assignments import set_viewer, set_viewer_arguments
from metastore.operations.fields import ARGUMENTS, TableFields
from metastore.operations.operation import from_fields, operation, visible
from metastore.services.partitions_read import PartitionReadService
from metastore.services.rules.privileges import Viewer
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPartitionRequest,
    GetPartitionResponse,
    GetPartitionsByFilterRequest,
    GetPartitionsByNamesRequest,
    GetPartitionsByNamesResult,
    GetPartitionsPsWithAuthRequest,
    GetPartitionsPsWithAuthResponse,
    Partition,
    PartitionsRequest,
    PartitionsResponse,
)

Partitions = EncodedList[Partition]

_TABLE = TableFields("db_name", "tbl_name")
_REQUESTED_TABLE = TableFields("req.dbName", "req.tblName", "req.catName")


class PartitionReadHandlers:
    """`get_partition*` methods that return partitions."""

    def __init__(self, partitions: PartitionReadService) -> None:
        self._partitions = partitions

    @operation(_TABLE, visible)
    def get_partition(self, database: str, table: str, values: list[str]) -> EncodedStruct[Partition]:
        return self._partitions.get(required_table_name(database, table), values or [])

    @operation(_TABLE, visible, assignments=from_fields(set_viewer_arguments, ARGUMENTS))
    def get_partition_with_auth(
        self, database: str, table: str, values: list[str], user: str | None, groups: list[str] | None
    ) -> EncodedStruct[Partition]:
        return self._partitions.get(required_table_name(database, table), values or [], _viewer(user, groups))

    @operation(_REQUESTED_TABLE, visible)
    def get_partition_req(self, request: GetPartitionRequest) -> GetPartitionResponse:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        return GetPartitionResponse(partition=self._partitions.get(name, request.partVals or []))

    @operation(_TABLE, visible)
    def get_partition_by_name(self, database: str, table: str, name: str) -> EncodedStruct[Partition]:
        return self._partitions.get_by_name(required_table_name(database, table), name or "")

    @operation(_TABLE, visible)
    def get_partitions(self, database: str, table: str, maximum: int) -> Partitions:
        return self._partitions.select(required_table_name(database, table), limit(maximum))

    @operation(_TABLE, visible, assignments=from_fields(set_viewer_arguments, ARGUMENTS))
    def get_partitions_with_auth(
        self, database: str, table: str, maximum: int, user: str | None, groups: list[str] | None
    ) -> Partitions:
        return self._partitions.select(required_table_name(database, table), limit(maximum), _viewer(user, groups))

    @operation(_REQUESTED_TABLE, visible)
    def get_partitions_req(self, request: PartitionsRequest) -> PartitionsResponse:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        return PartitionsResponse(partitions=self._partitions.select(name, limit(request.maxParts)))

    @operation(_TABLE, visible)
    def get_partitions_ps(self, database: str, table: str, values: list[str], maximum: int) -> Partitions:
        return self._partitions.select_by_values(required_table_name(database, table), values or [], limit(maximum))

    @operation(_TABLE, visible, assignments=from_fields(set_viewer_arguments, ARGUMENTS))
    def get_partitions_ps_with_auth(
        self, database: str, table: str, values: list[str], maximum: int, user: str | None, groups: list[str] | None
    ) -> Partitions:
        name, viewer = required_table_name(database, table), _viewer(user, groups)
        return self._partitions.select_by_values(name, values or [], limit(maximum), viewer)

    @operation(_REQUESTED_TABLE, visible, entries="req.partNames", assignments=from_fields(set_viewer, "req"))
    def get_partitions_ps_with_auth_req(
        self, request: GetPartitionsPsWithAuthRequest
    ) -> GetPartitionsPsWithAuthResponse:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        viewer = _viewer(request.userName, request.groupNames)
        if request.partNames is not None:
            partitions = self._partitions.select_by_names(name, request.partNames, viewer)
        elif request.partVals is not None:
            partitions = self._partitions.select_by_values(name, request.partVals, limit(request.maxParts), viewer)
        else:
            partitions = self._partitions.select(name, limit(request.maxParts), viewer)
        return GetPartitionsPsWithAuthResponse(partitions=partitions)

    @operation(_TABLE, visible)
    def get_partitions_by_filter(self, database: str, table: str, text: str, maximum: int) -> Partitions:
        return self._partitions.select_by_filter(required_table_name(database, table), text, limit(maximum))

    @operation(_REQUESTED_TABLE, visible)
    def get_partitions_by_filter_req(self, request: GetPartitionsByFilterRequest) -> Partitions:
        name = required_table_name(request.dbName, request.tblName, request.catName)
        return self._partitions.select_by_filter(name, request.filter, limit(request.maxParts))

    @operation(_TABLE, visible)
    def get_num_partitions_by_filter(self, database: str, table: str, text: str) -> int:
        return self._partitions.count_by_filter(required_table_name(database, table), text)

    @operation(_TABLE, visible, entries="names")
    def get_partitions_by_names(self, database: str, table: str, names: list[str]) -> Partitions:
        return self._partitions.select_by_names(required_table_name(database, table), required("names", names))

    @operation(TableFields("req.db_name", "req.tbl_name"), visible, entries="req.names")
    def get_partitions_by_names_req(self, request: GetPartitionsByNamesRequest) -> GetPartitionsByNamesResult:
        partitions = self.get_partitions_by_names(request.db_name, request.tbl_name, request.names)
        return GetPartitionsByNamesResult(partitions=partitions)


def _viewer(user: str | None, groups: list[str] | None) -> Viewer | None:
    return Viewer(user, tuple(groups or ())) if user is not None or groups else None
