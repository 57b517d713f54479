"""The tables of transactions and compactions.

An open transaction is exported as aborted: its client cannot continue it elsewhere. A running compaction is exported as
waiting for a worker, for the same reason."""

from __future__ import annotations

from typing import Final

from metastore.exporting.tables import Exported

_ABORTED: Final = """SELECT 'a' AS "TXN_STATE", v.* FROM hive."TXNS" v"""


_QUEUE: Final = """
    SELECT CASE "CQ_STATE" WHEN 'w' THEN 'i' ELSE "CQ_STATE" END AS "CQ_STATE", NULL::text AS "CQ_WORKER_ID",
           NULL::bigint AS "CQ_START", NULL::text AS "CQ_HADOOP_JOB_ID", v.*
    FROM hive."COMPACTION_QUEUE" v
"""


def _counter(name: str) -> Exported:
    return Exported(name, f'SELECT v.* FROM hive."{name}" v', seeded=True, transactional=True)


def _rows(name: str) -> Exported:
    query = f'SELECT v.* FROM hive."{name}" v'
    return Exported(name, query, since="3.1", transactional=True)


BEFORE_4: Final = (
    _counter("NEXT_TXN_ID"),
    Exported("TXNS", _ABORTED, since="3.1", transactional=True),
    _rows("TXN_COMPONENTS"),
    _rows("COMPLETED_TXN_COMPONENTS"),
    _rows("TXN_TO_WRITE_ID"),
    _rows("NEXT_WRITE_ID"),
    _counter("NEXT_LOCK_ID"),
    _counter("NEXT_COMPACTION_QUEUE_ID"),
    Exported("COMPACTION_QUEUE", _QUEUE, since="3.1", transactional=True),
    _rows("COMPLETED_COMPACTIONS"),
)

SINCE_4: Final = (
    # The row with the highest id replaces NEXT_TXN_ID: Hive continues to count from it.
    Exported(
        "TXNS",
        _ABORTED
        + """ UNION ALL SELECT 'c', "NTXN_NEXT" - 1, 'c', 0, 0, '', '', NULL, NULL, NULL, NULL FROM hive."NEXT_TXN_ID"
              WHERE NOT EXISTS (SELECT FROM hive."TXNS" WHERE "TXN_ID" = "NTXN_NEXT" - 1)""",
        seeded=True,
        transactional=True,
    ),
    *(each for each in BEFORE_4 if each.name not in ("NEXT_TXN_ID", "TXNS")),
)
