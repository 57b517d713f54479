"""Write ids on the wire."""

from __future__ import annotations

from metastore.handlers.arguments import table_name
from metastore.services.entry.write_ids import WriteIdService
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


class WriteIdHandlers:
    """`*_write_id*`, `repl_tbl_writeid_state`."""

    def __init__(self, write_ids: WriteIdService) -> None:
        self._write_ids = write_ids

    def allocate_table_write_ids(self, request: AllocateTableWriteIdsRequest) -> AllocateTableWriteIdsResponse:
        table = table_name(request.dbName, request.tableName)
        return AllocateTableWriteIdsResponse(self._write_ids.allocate(table, request))

    def get_valid_write_ids(self, request: GetValidWriteIdsRequest) -> GetValidWriteIdsResponse:
        return GetValidWriteIdsResponse(self._write_ids.valid(request))

    def get_max_allocated_table_write_id(
        self, request: MaxAllocatedTableWriteIdRequest
    ) -> MaxAllocatedTableWriteIdResponse:
        return MaxAllocatedTableWriteIdResponse(self._write_ids.last(table_name(request.dbName, request.tableName)))

    def add_write_ids_to_min_history(self, transaction: int | None, write_ids: dict[str, int] | None) -> None:
        """Does nothing: what a transaction reads is kept for as long as it is open."""

    def seed_write_id(self, request: SeedTableWriteIdsRequest) -> None:
        self._write_ids.seed(table_name(request.dbName, request.tableName), request.seedWriteId)

    def repl_tbl_writeid_state(self, request: ReplTblWriteIdStateRequest) -> None:
        self._write_ids.replay(table_name(request.dbName, request.tableName), request)
