"""Detection of the client software from its first message. The protocol has no field for it, so this is a guess."""

from __future__ import annotations

from typing import Final

JAVA: Final = "java"
PYICEBERG: Final = "pyiceberg"
OURS: Final = "metastore"  # metastore.client, and with it the commands and spark_client
OTHER: Final = "other"
CLIENTS: Final = (JAVA, PYICEBERG, OURS, OTHER)

SEQUENCE: Final = int.from_bytes(b"mstr", "big")
"""Sequence number of every message of `metastore.client`.

Thrift lets clients choose the number and returns it in the reply. Java clients count from 1, other Python clients
write 0.
"""
_FIRST_CALLS: Final = {"set_ugi": JAVA, "getVersion": PYICEBERG}


def kind_of(method: str, sequence: int) -> str:
    """Returns the client kind (one of CLIENTS) from the method and the sequence number of the first message."""
    return OURS if sequence == SEQUENCE else _FIRST_CALLS.get(method, OTHER)
