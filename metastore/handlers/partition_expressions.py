"""Handlers of partitions by expression, and of the values of partition columns."""

from __future__ import annotations

from metastore.errors import InvalidInputError, NotFoundError
from metastore.handlers.arguments import limit, table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import operation, visible
from metastore.services.partition_expressions import PartitionExpressionService
from metastore.services.partition_specs import shaped
from metastore.services.partition_values import Order, PartitionValueService
from metastore.services.rules.partition_grouping import grouped
from thrift_idl.gen.hive_metastore.ttypes import (
    PartitionsByExprRequest,
    PartitionsByExprResult,
    PartitionsSpecByExprResult,
    PartitionValuesRequest,
    PartitionValuesResponse,
    PartitionValuesRow,
)

_REQUESTED_TABLE = TableFields("req.dbName", "req.tblName", "req.catName")


class PartitionExpressionHandlers:
    """`get_partitions*_by_expr`, `get_partition_names_req`, `get_partition_values`."""

    def __init__(self, expressions: PartitionExpressionService, values: PartitionValueService) -> None:
        self._expressions = expressions
        self._values = values

    @operation(_REQUESTED_TABLE, visible)
    def get_partitions_by_expr(self, request: PartitionsByExprRequest) -> PartitionsByExprResult:
        name = table_name(request.dbName, request.tblName, request.catName)
        selected = self._expressions.select(name, request.expr, limit(request.maxParts))
        return PartitionsByExprResult(partitions=selected.partitions, hasUnknownPartitions=selected.has_unknown)

    @operation(_REQUESTED_TABLE, visible)
    def get_partitions_spec_by_expr(self, request: PartitionsByExprRequest) -> PartitionsSpecByExprResult:
        name = table_name(request.dbName, request.tblName, request.catName)
        selected = self._expressions.select(name, request.expr, limit(request.maxParts))
        return PartitionsSpecByExprResult(grouped(selected.table, shaped(selected.partitions)), selected.has_unknown)

    @operation(_REQUESTED_TABLE, visible)
    def get_partition_names_req(self, request: PartitionsByExprRequest) -> list[str]:
        name = table_name(request.dbName, request.tblName, request.catName)
        return self._expressions.names(name, request.expr, request.order, limit(request.maxParts))

    @operation(TableFields("request.dbName", "request.tblName", "request.catName"), visible)
    def get_partition_values(self, request: PartitionValuesRequest) -> PartitionValuesResponse:
        try:
            return PartitionValuesResponse([PartitionValuesRow(row) for row in self._rows(request)])
        except NotFoundError as error:
            raise InvalidInputError(str(error)) from None  # Hive throws a MetaException

    def _rows(self, request: PartitionValuesRequest) -> list[list[str]]:
        return self._values.rows(
            table_name(request.dbName, request.tblName, request.catName),
            [column.name for column in request.partitionKeys or [] if column],
            request.filter,
            Order(
                [column.name for column in request.partitionOrder or [] if column],
                request.ascending is not False,
                limit(request.maxParts),
            ),
            distinct=request.applyDistinct is not False,
        )
