"""Accepts compaction requests: one at a time for each object (Hive's CompactFunction)."""

from __future__ import annotations

from typing import Final

from metastore.domain.compactions import INITIATED, CompactionType, write_properties
from metastore.domain.lock_rules import lower_case_columns
from metastore.domain.names import TableName
from metastore.errors import InvalidInputError
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import CompactionRequest, CompactionResponse

_REFUSED: Final = "refused"  # Hive's word
_NO_COMPACTION: Final = -1


def enqueue(work: UnitOfWork, table: TableName, request: CompactionRequest) -> CompactionResponse:
    """Queues a request, unless the object has one in the queue. Raises InvalidInputError."""
    if request.type not in set(CompactionType):
        raise InvalidInputError(f"{request.type} is not a compaction type")
    partition = lower_case_columns(request.partitionname)
    existing = work.compactions.find_equivalent(table, partition, work.write_ids.last(table))
    if existing is None:
        number = work.compactions.request(table, partition, _columns(request))
        if number is not None:
            return CompactionResponse(number, INITIATED, accepted=True)
        existing = work.compactions.find_equivalent(table, partition, 0)
    state, number = (existing.state, existing.id) if existing else (INITIATED, None)
    text = f"Compaction is already scheduled with state='{state}' and id={number}"
    return CompactionResponse(_NO_COMPACTION, _REFUSED, accepted=False, errormessage=text)


def _columns(request: CompactionRequest) -> dict[str, object]:
    return {
        "type": request.type,
        "properties": write_properties(request.properties),
        "run_as": request.runas,
        "initiator": request.initiatorId,
        "initiator_version": request.initiatorVersion,
        "pool": request.poolName or None,
        "bucket_count": request.numberOfBuckets,
        "order_by": request.orderByClause,
    }
