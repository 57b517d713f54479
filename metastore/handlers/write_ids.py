"""Handlers of write IDs."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import administrator, any_of, change, from_fields, operation, visible
from metastore.operations.requirements.tables import visible_tables
from metastore.operations.requirements.transactions import own_transaction_list
from metastore.services.write_ids import WriteIdService
from thrift_idl.gen.hive_metastore.ttypes import (
    AllocateTableWriteIdsRequest,
    AllocateTableWriteIdsResponse,
    GetValidWriteIdsRequest,
    GetValidWriteIdsResponse,
    MaxAllocatedTableWriteIdRequest,
    MaxAllocatedTableWriteIdResponse,
    ReplTblWriteIdStateRequest,
    SeedTableWriteIdsRequest,
)

_REQUESTED_TABLE = TableFields("rqst.dbName", "rqst.tableName")


class WriteIdHandlers:
    """`*_write_id*`, `repl_tbl_writeid_state`."""

    def __init__(self, write_ids: WriteIdService) -> None:
        self._write_ids = write_ids

    @operation(
        _REQUESTED_TABLE,
        any_of(Right.INSERT, Right.UPDATE, Right.DELETE, Right.ALTER),
        from_fields(own_transaction_list, "rqst.txnIds"),
        served_read_only=False,
    )
    def allocate_table_write_ids(self, request: AllocateTableWriteIdsRequest) -> AllocateTableWriteIdsResponse:
        table = table_name(request.dbName, request.tableName)
        return AllocateTableWriteIdsResponse(self._write_ids.allocate(table, request))

    @operation("rqst.fullTableNames.0", from_fields(visible_tables, "rqst.fullTableNames"))
    def get_valid_write_ids(self, request: GetValidWriteIdsRequest) -> GetValidWriteIdsResponse:
        return GetValidWriteIdsResponse(self._write_ids.valid(request))

    @operation(_REQUESTED_TABLE, visible)
    def get_max_allocated_table_write_id(
        self, request: MaxAllocatedTableWriteIdRequest
    ) -> MaxAllocatedTableWriteIdResponse:
        return MaxAllocatedTableWriteIdResponse(self._write_ids.last(table_name(request.dbName, request.tableName)))

    @operation(None)
    def add_write_ids_to_min_history(self, transaction: int | None, write_ids: dict[str, int] | None) -> None:
        """Does nothing: files that an open transaction reads are kept until it ends."""

    @change(_REQUESTED_TABLE, administrator)
    def seed_write_id(self, request: SeedTableWriteIdsRequest) -> None:
        self._write_ids.seed(table_name(request.dbName, request.tableName), request.seedWriteId)

    @change(_REQUESTED_TABLE, administrator, entries="rqst.partNames")
    def repl_tbl_writeid_state(self, request: ReplTblWriteIdStateRequest) -> None:
        self._write_ids.replay(table_name(request.dbName, request.tableName), request)
