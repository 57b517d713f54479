"""The numbers that bound what clients may do to the server, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass

from metastore.transport.listener import Listener


@dataclass(frozen=True, kw_only=True)
class TransportOptions:
    """Where to listen, with how many processes, and every limit.

    Attributes:
        host: name or address to listen on; "0.0.0.0" or "::" for all.
        port: TCP port; 0 takes any free one (`serve` tells which).
        listeners: what is listened on, in place of these two.
        workers: processes.
        max_connections: connections a worker keeps; one more is accepted and closed at once.
        max_connections_per_address: the same, of one address.
        max_threads: calls that a worker works on at once. Messages that arrive and replies that leave need no thread.
        max_calls_per_address: the same, of one address; those of several addresses come in turn.
        queue_timeout: seconds that a call waits for a thread or for memory, before it is refused.
        memory: resident memory of a worker, bytes; what would need more waits or is refused. One address may
            take three quarters of what there is for requests and replies; several share it.
        max_message_bytes: size of the largest message that is read, its frame included.
        max_container_length: elements of one list, set or map of a message. An element of a few bytes on the wire
            is a few hundred in memory; this keeps one field from asking for all of it.
        read_timeout: seconds for the whole of a message, from its first byte. Between messages there is no limit.
        write_timeout: seconds for the whole of a reply.
        min_transfer_rate: bytes a second that extend both: a large message on a slow line is no fault.
        drain_timeout: seconds that calls in flight have to finish after SIGTERM.
        hung_after: seconds without a sign of life, after which a worker is killed, and another one started.
        spare_thread_timeout: seconds after which a thread that had nothing to do ends, if another one waits.
    """

    host: str = "127.0.0.1"
    port: int = 9083
    listeners: tuple[Listener, ...] = ()
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
    drain_timeout: float = 20.0
    hung_after: float = 10.0
    spare_thread_timeout: float = 30.0
