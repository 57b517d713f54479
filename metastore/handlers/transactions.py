"""Handlers of transactions."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.domain.transactions import TransactionType
from metastore.handlers.arguments import table_name
from metastore.operations.answer_filters import transactions
from metastore.operations.assignments import set_user
from metastore.operations.fields import TableFields
from metastore.operations.operation import administrator, any_of, change, from_fields, operation
from metastore.operations.requirements.transactions import opens_to_read, own_transactions
from metastore.services.transactions import TransactionService
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

    @operation(None, assignments=from_fields(set_user, "rqst"), served_read_only=from_fields(opens_to_read, "rqst"))
    def open_txns(self, request: OpenTxnRequest) -> OpenTxnsResponse:
        return OpenTxnsResponse(self._transactions.open(request))

    @change(None, from_fields(own_transactions, "rqst.txnid"), served_read_only=True, quota_exempt=True)
    def commit_txn(self, request: CommitTxnRequest) -> None:
        self._transactions.commit(request)

    @change(None, from_fields(own_transactions, "rqst.txnid"), served_read_only=True, quota_exempt=True)
    def abort_txn(self, request: AbortTxnRequest) -> None:
        self._transactions.abort(request.txnid or 0)

    @change(None, checked_by_service=True, served_read_only=True)
    def abort_txns(self, request: AbortTxnsRequest) -> None:
        self._transactions.abort_many(request.txn_ids or [])

    @operation(None)
    def get_open_txns(self) -> GetOpenTxnsResponse:
        return self._transactions.snapshot([TransactionType.READ_ONLY])

    @operation(None)
    def get_open_txns_req(self, request: GetOpenTxnsRequest) -> GetOpenTxnsResponse:
        return self._transactions.snapshot(request.excludeTxnTypes or [])

    @operation(None, answer_filter=transactions)
    def get_open_txns_info(self) -> GetOpenTxnsInfoResponse:
        return self._transactions.info()

    @operation(None, checked_by_service=True, quota_exempt=True)
    def heartbeat_txn_range(self, request: HeartbeatTxnRangeRequest) -> HeartbeatTxnRangeResponse:
        return self._transactions.heartbeat_range(request.min, request.max)

    @change(
        TableFields("rqst.dbname", "rqst.tablename"),
        any_of(Right.INSERT, Right.UPDATE, Right.DELETE),
        from_fields(own_transactions, "rqst.txnid"),
        entries="rqst.partitionnames",
    )
    def add_dynamic_partitions(self, request: AddDynamicPartitions) -> None:
        table = table_name(request.dbname, request.tablename)
        names = request.partitionnames or []
        self._transactions.add_partitions(table, request.txnid or 0, names, request.operationType)

    @operation(None, from_fields(own_transactions, "txnId"))
    def get_latest_txnid_in_conflict(self, transaction: int | None) -> int:
        return self._transactions.latest_conflict(transaction or 0)

    @change(None, administrator)
    def seed_txn_id(self, request: SeedTxnIdRequest) -> None:
        self._transactions.seed(request.seedTxnId or 0)
