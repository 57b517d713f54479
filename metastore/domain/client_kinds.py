"""Which client calls, as far as its first message tells: it says no name, and may say another one than its own."""

from __future__ import annotations

from typing import Final

JAVA: Final = "java"
PYICEBERG: Final = "pyiceberg"
OURS: Final = "metastore"  # metastore.client, and with it the commands and spark_client
OTHER: Final = "other"
CLIENTS: Final = (JAVA, PYICEBERG, OURS, OTHER)

SEQUENCE: Final = int.from_bytes(b"mstr", "big")
"""Number of every message of our client. Thrift leaves it to clients, and has it sent back: Java's count from 1, other
Python clients write 0.
"""
_FIRST_CALLS: Final = {"set_ugi": JAVA, "getVersion": PYICEBERG}


def kind_of(method: str, sequence: int) -> str:
    """Returns the kind (of CLIENTS) of who calls `method` first, in a message of that number."""
    return OURS if sequence == SEQUENCE else _FIRST_CALLS.get(method, OTHER)
