"""Options of the transport: addresses, processes and limits."""

from __future__ import annotations

from dataclasses import dataclass

from metastore.transport.listener import Listener


@dataclass(frozen=True, kw_only=True)
class TransportOptions:
    """Addresses, processes and limits.

    Attributes:
        listeners: addresses to listen on.
        workers: number of processes.
        max_connections: connections of a worker.
        max_connections_per_address: the same for one client address.
        max_threads: calls that a worker executes at once. Incomplete requests and unsent replies need no thread.
        max_calls_per_address: the same for one client address.
        queue_timeout: seconds that a call waits for a thread or for memory before it is rejected.
        memory_limit: resident memory of a worker, in bytes. Calls that would exceed it are queued, then rejected. One
            address may use three quarters of the memory for requests and replies; several addresses share it.
        max_message_bytes: size of the largest request, with its frame.
        max_container_length: elements of one list, set or map in a request. An element of a few bytes on the wire takes
            a few hundred bytes in memory.
        read_timeout: seconds for a whole request, from its first byte. There is no limit between requests.
        write_timeout: seconds for a whole reply.
        min_transfer_rate: bytes a second. Both timeouts are extended as long as a client is faster.
        session_max_age: seconds after which the connection of an authenticated user is closed; 0: no limit.
        drain_timeout: seconds for unfinished calls after SIGTERM.
        hung_after: seconds without a heartbeat after which a worker is killed and replaced.
        spare_thread_timeout: seconds after which an idle thread ends, if another one waits.
    """

    listeners: tuple[Listener, ...] = (Listener(),)
    workers: int = 2
    max_connections: int = 10_000
    max_connections_per_address: int = 8_000
    max_threads: int = 64
    max_calls_per_address: int = 48
    queue_timeout: float = 20.0
    memory_limit: int = 400 * 2**20
    min_transfer_rate: int = 64 * 2**10
    max_message_bytes: int = 100 * 2**20
    max_container_length: int = 1_000_000
    read_timeout: float = 30.0
    write_timeout: float = 60.0
    session_max_age: float = 86_400.0
    drain_timeout: float = 20.0
    hung_after: float = 10.0
    spare_thread_timeout: float = 30.0
