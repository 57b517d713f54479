"""Appends to an Iceberg table until its commits succeed: a separate process, for tests of concurrent writers.

python -m tests.clients.iceberg_writer thrift://host:port DATABASE.TABLE WRITER APPENDS
"""

from __future__ import annotations

import sys

import pyarrow as pa
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import CommitFailedException

# A writer that cannot get the lock retries soon, and often enough to outlast the others.
PATIENCE = {
    "lock-check-min-wait-time": "0.02",
    "lock-check-max-wait-time": "0.1",
    "lock-check-retries": "300",
}


def append(uri: str, table: str, writer: int, appends: int) -> int:
    """Appends one row at a time. Returns the number of repeated commits."""
    catalog, again = HiveCatalog("test", uri=uri, **PATIENCE), 0
    for number in range(appends):
        row = pa.table({"id": pa.array([writer * 1000 + number], pa.int64()), "name": [f"writer {writer}"]})
        while True:
            try:
                catalog.load_table(table).append(row)
                break
            except CommitFailedException:
                again += 1  # another writer was faster: the table is read again
    return again


if __name__ == "__main__":
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    print(append(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))  # noqa: T201
