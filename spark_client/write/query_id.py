"""The name of a write: in its staging directory, its files and its partitions, so that leftovers are traceable."""

from __future__ import annotations

import itertools
import secrets
from datetime import UTC, datetime

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_numbers = itertools.count()
_process = "".join(secrets.choice(_ALPHABET) for _ in range(5))


def new_query_id() -> str:
    """`20260131_235959_00007_x7k2p`: UTC time, number in this process, and the process: sortable and unique."""
    return f"{datetime.now(UTC):%Y%m%d_%H%M%S}_{next(_numbers) % 100000:05d}_{_process}"
