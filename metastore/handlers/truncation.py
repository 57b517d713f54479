"""Handlers that truncate tables and partitions."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.errors import NotFoundError, UndeclaredError, VersionDependentError
from metastore.handlers.arguments import properties, table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import any_of, change
from metastore.services.rules.table_data import purges
from metastore.services.truncation import TruncationService
from thrift_idl.gen.hive_metastore.ttypes import TruncateTableRequest, TruncateTableResponse


class TruncationHandlers:
    """`truncate_table*`."""

    def __init__(self, truncation: TruncationService) -> None:
        self._truncation = truncation

    @change(TableFields("dbName", "tableName"), any_of(Right.DELETE), entries="partNames")
    def truncate_table(self, database: str, name: str, partitions: list[str] | None) -> None:
        try:
            self._truncation.truncate(table_name(database, name), partitions)
        except NotFoundError as error:
            raise VersionDependentError(str(error), UndeclaredError) from error

    @change(TableFields("req.dbName", "req.tableName"), any_of(Right.DELETE), entries="req.partNames")
    def truncate_table_req(self, request: TruncateTableRequest) -> TruncateTableResponse:
        context = properties(request.environmentContext)
        skip = context.get("truncateSkipDataDeletion", "").lower() == "true"
        name = table_name(request.dbName, request.tableName)
        self._truncation.truncate(name, request.partNames, delete_data=not skip, purge=purges(context))
        return TruncateTableResponse()
