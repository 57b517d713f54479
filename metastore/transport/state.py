"""The states of a connection: the event that ends each one, its timer and its memory.

    accept ─► HANDSHAKE ─► AUTHENTICATING ─► RECEIVING ─► QUEUED ─► EXECUTING ─► SENDING ─► RECEIVING …
                 │  ▲            ▲                │  ▲       ▲          │            │
                 ▼  │            │                ▼  │       └──────────┘            ▼
            TLS_HANDSHAKE      QUEUED      AWAITING_MEMORY    (no memory yet)    DRAINING ─► CLOSED

| state           | waits for                       | timer                             | memory                      |
| --------------- | ------------------------------- | --------------------------------- | --------------------------- |
| HANDSHAKE       | the client's first bytes        | read_timeout from accept, if the  | 64 KiB until the client has |
|                 |                                 | listener requires TLS or a user   | authenticated               |
| TLS_HANDSHAKE   | its turn in `TlsScheduler`      | read_timeout, same clock          | in OpenSSL, some KiB        |
| AUTHENTICATING  | a SASL message or an HTTP head  | read_timeout, same clock          | 64 KiB                      |
| VERIFYING       | another thread that checks the  | none: the checks are bounded      | 64 KiB                      |
|                 | password; then QUEUED           |                                   |                             |
| RECEIVING       | the rest of a request           | none before its first byte; then  | up to max_message_bytes     |
|                 |                                 | read_timeout + bytes / min rate   |                             |
| AWAITING_MEMORY | free memory; nothing is read    | queue_timeout, then rejected      | the part that has arrived   |
| QUEUED          | a thread, and memory            | queue_timeout, then rejected      | the whole request           |
| EXECUTING       | the call, in its thread         | none                              | request, objects, reply     |
| SENDING         | the client to read the reply    | write_timeout + bytes / min rate  | unsent part of the reply    |
| DRAINING        | the client to close             | read_timeout                      | none: input is discarded    |
| CLOSED          | nothing                         | none                              | none                        |

A request that arrives whole goes from RECEIVING through SENDING to RECEIVING in one thread without waiting. Pipelined
requests stay in the buffer until the reply before them is sent. A SASL message or a JWT passes through QUEUED, because
checking it needs a thread. A connection that is closed after an error reply passes through DRAINING: if the server
closed the socket with unread input, the kernel would send a reset, and the client would lose the end of the reply.
"""

from __future__ import annotations

import enum


class State(enum.IntEnum):
    """The state of one connection; IntEnum because its hash is faster than Enum's, and each request looks states up."""

    HANDSHAKE = enum.auto()
    TLS_HANDSHAKE = enum.auto()
    AUTHENTICATING = enum.auto()
    RECEIVING = enum.auto()
    AWAITING_MEMORY = enum.auto()
    QUEUED = enum.auto()
    EXECUTING = enum.auto()
    SENDING = enum.auto()
    DRAINING = enum.auto()
    VERIFYING = enum.auto()
    CLOSED = enum.auto()
