"""Limits and timeouts whose defaults suit almost every server."""

from __future__ import annotations

from dataclasses import dataclass

from metastore.settings.kinds import duration, number, size
from metastore.settings.sections import Section


@dataclass(frozen=True, kw_only=True)
class Advanced(Section):
    """Limits and timeouts. Defaults that depend on the machine are None here; `Settings` derives them."""

    title = "Advanced"
    table = "advanced"

    max_connections: int = number(
        None,
        "Maximum number of client connections per worker. Unset: as many as `ulimit -n` allows, at most 10000.",
    )
    max_connections_per_address: int = number(
        None,
        "Maximum number of client connections per worker from one IP address or IPv6 /64 network. "
        "Unset: four fifths of max_connections.",
    )
    max_threads: int = number(64, "Maximum number of concurrent calls per worker.", high=1024)
    max_calls_per_address: int = number(
        None,
        "Maximum number of concurrent calls per worker from one IP address or IPv6 /64 network. "
        "Unset: three quarters of max_threads.",
    )
    max_open_transactions: int = number(10_000, "Maximum number of open transactions, and of open writes, of one user.")
    max_locks: int = number(10_000, "Maximum number of objects that one user can lock.")
    max_tokens_per_owner: int = number(10_000, "Maximum number of unexpired delegation tokens of one owner.")
    max_message_bytes: int = size(100 * 2**20, "Maximum size of a message from a client.", low=1024, high=2**31 - 1)
    max_container_length: int = number(
        1_000_000, "Maximum number of elements of a list, set or map in a message.", low=1000, high=2**31 - 1
    )
    queue_timeout: float = duration(
        20.0, "Maximum time that a call waits for a thread or for memory. Then it is rejected."
    )
    read_timeout: float = duration(
        30.0, "Maximum time to receive one message, plus the size of the message divided by min_transfer_rate."
    )
    write_timeout: float = duration(
        60.0, "Maximum time to send one reply, plus the size of the reply divided by min_transfer_rate."
    )
    min_transfer_rate: int = size(
        64 * 2**10,
        "Minimum transfer rate of a message or reply, per second. Slower connections are closed.",
        low=1,
    )
    database_startup_timeout: float = duration(
        60.0, "Time that `metastore serve` waits for an unreachable database at startup.", low=0
    )
    pool_timeout: float = duration(60.0, "Maximum time that a call waits for a database connection.")
    lock_timeout: float = duration(30.0, "Maximum time that a statement waits for a database lock.")
    statement_timeout: float = duration(300.0, "Maximum run time of one SQL statement.")
    s3_timeout: float = duration(15.0, "Maximum time for an S3 endpoint to answer a request.")
    cleanup_interval: float = duration(600.0, "Interval between two background cleanups.", low=1)
    txn_timeout: float = duration(300.0, "Time after which a lock or transaction without a heartbeat expires.")
    scan_record_interval: float = duration(
        60.0, "Interval at which a worker adds its scans to the record. Scans of a killed worker are lost.", low=0.1
    )
