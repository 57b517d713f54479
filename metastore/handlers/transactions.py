"""Transactions on the wire."""

from __future__ import annotations

from metastore.domain.transactions import TransactionType
from metastore.handlers.arguments import table_name
from metastore.services.entry.transactions import TransactionService
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AbortTxnsRequest,
    AddDynamicPartitions,
    CommitTxnRequest,
    GetOpenTxnsInfoResponse,
    GetOpenTxnsRequest,
    GetOpenTxnsResponse,
    HeartbeatTxnRangeRequest,
    HeartbeatTxnRangeResponse,
    OpenTxnRequest,
    OpenTxnsResponse,
    SeedTxnIdRequest,
)


class TransactionHandlers:
    """`*_txn*`, `add_dynamic_partitions`."""

    def __init__(self, transactions: TransactionService) -> None:
        self._transactions = transactions

    def open_txns(self, request: OpenTxnRequest) -> OpenTxnsResponse:
        return OpenTxnsResponse(self._transactions.open(request))

    def commit_txn(self, request: CommitTxnRequest) -> None:
        self._transactions.commit(request)

    def abort_txn(self, request: AbortTxnRequest) -> None:
        self._transactions.abort(request.txnid or 0)

    def abort_txns(self, request: AbortTxnsRequest) -> None:
        self._transactions.abort_many(request.txn_ids or [])

    def get_open_txns(self) -> GetOpenTxnsResponse:
        return self._transactions.snapshot([TransactionType.READ_ONLY])

    def get_open_txns_req(self, request: GetOpenTxnsRequest) -> GetOpenTxnsResponse:
        return self._transactions.snapshot(request.excludeTxnTypes or [])

    def get_open_txns_info(self) -> GetOpenTxnsInfoResponse:
        return self._transactions.info()

    def heartbeat_txn_range(self, request: HeartbeatTxnRangeRequest) -> HeartbeatTxnRangeResponse:
        return self._transactions.heartbeat_range(request.min, request.max)

    def add_dynamic_partitions(self, request: AddDynamicPartitions) -> None:
        table = table_name(request.dbname, request.tablename)
        names = request.partitionnames or []
        self._transactions.add_partitions(table, request.txnid or 0, names, request.operationType)

    def get_latest_txnid_in_conflict(self, transaction: int | None) -> int:
        return self._transactions.latest_conflict(transaction or 0)

    def seed_txn_id(self, request: SeedTxnIdRequest) -> None:
        self._transactions.seed(request.seedTxnId or 0)
