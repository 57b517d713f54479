"""Transactional tables at Hive's servers: transactions that are committed, aborted and open, and their marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.wire.builders import descriptor, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AllocateTableWriteIdsRequest,
    CommitTxnRequest,
    CreateTableRequest,
    Database,
    GetValidWriteIdsRequest,
    OpenTxnRequest,
    Table,
)

DATABASE, TABLE = "transactions", "acid"
_ORC = "org.apache.hadoop.hive.ql.io.orc"

Marks = Callable[[Any], Any]
"""Reads the marks from a server: of the source, or of this server after the import."""


def of_hive_2(client: Any) -> Marks:
    """Fills a server of Hive 2, which has no write ids of tables."""
    formats = {"inputFormat": f"{_ORC}.OrcInputFormat", "outputFormat": f"{_ORC}.OrcOutputFormat"}
    sd = descriptor(**formats, numBuckets=2, bucketCols=["a"])
    sd.serdeInfo.serializationLib = f"{_ORC}.OrcSerde"
    _create(client, table(DATABASE, TABLE, sd=sd, parameters={"transactional": "true"}))
    _end(client, _open(client))
    high = client.get_open_txns().txn_high_water_mark
    return lambda side: side.get_open_txns().txn_high_water_mark >= high


def of_hive_3(client: Any, *, is_4: bool = False) -> Marks:
    """Fills a server of Hive 3 or later: a write id is committed, one is aborted, and the others are open.

    The standalone server lacks the classes that tables for updates need, so the table is for inserts only.
    """
    parameters = {"transactional": "true", "transactional_properties": "insert_only"}
    _create(client, table(DATABASE, TABLE, parameters=parameters), is_4=is_4)
    numbers = _open(client)
    client.allocate_table_write_ids(AllocateTableWriteIdsRequest(DATABASE, TABLE, txnIds=numbers))
    _end(client, numbers)
    return _write_ids


def of_hive_4(client: Any) -> Marks:
    """Fills a server of Hive 4."""
    return of_hive_3(client, is_4=True)


def _create(client: Any, made: Table, *, is_4: bool = False) -> None:
    client.create_database(Database(DATABASE))
    if is_4:
        client.create_table_req(CreateTableRequest(made, processorCapabilities=["HIVEMANAGEDINSERTWRITE"]))
    else:
        client.create_table(made)


def _open(client: Any) -> list[int]:
    return sorted(client.open_txns(OpenTxnRequest(5, "me", "host")).txn_ids)


def _end(client: Any, numbers: list[int]) -> None:
    client.commit_txn(CommitTxnRequest(numbers[0]))
    client.abort_txn(AbortTxnRequest(numbers[1]))


def _write_ids(side: Any) -> Any:
    request = GetValidWriteIdsRequest([f"{DATABASE}.{TABLE}"], validTxnList=_transactions(side))  # Hive 3.1 requires it
    (marks,) = side.get_valid_write_ids(request).tblValidWriteIds
    return marks.writeIdHighWaterMark, sorted(marks.invalidWriteIds)


def _transactions(side: Any) -> str:
    """Returns the state of all transactions as Hive's ValidReadTxnList writes it."""
    now = side.get_open_txns()
    ended = {number for index, number in enumerate(now.open_txns) if now.abortedBits[index // 8] >> index % 8 & 1}
    states = [sorted(set(now.open_txns) - ended), sorted(ended)]
    first = min(states[0], default=2**63 - 1)
    return ":".join([str(now.txn_high_water_mark), str(first), *(",".join(map(str, each)) for each in states)])
