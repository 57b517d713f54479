"""Limits for memory and files: the number of drivers that fit into the machine or container, the size of messages, and
open files."""

from __future__ import annotations

import re
import resource
from collections.abc import Mapping
from typing import Final

from metastore.machine import memory_bytes
from spark_client.errors import SessionError
from spark_client.jvm import server_settings

_MIB: Final = 2**20
_MOST: Final = 8  # drivers, unless the user sets a number
_BESIDE_HEAP: Final = 500 * _MIB  # of a driver: Java's classes, code and threads, and Python
_GATEWAY: Final = 200 * _MIB
_SHARE: Final = 0.9  # of the memory; the rest is for the kernel and file buffers
_MEMORY: Final = "spark.driver.memory"
_MESSAGE: Final = "spark.connect.grpc.maxInboundMessageSize"
_LARGEST_MESSAGE: Final = 128 * _MIB  # Spark's default
_OPEN_FILES: Final = 2**16
_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_UNITS: Final = {"k": 2**10, "m": _MIB, "g": 2**30, "t": 2**40}


def driver_limit(conf: Mapping[str, str]) -> int:
    """Returns the number of drivers that fit into the memory, at most 8.

    Raises SessionError if a single one does not fit: the kernel would kill it later.
    """
    text = conf.get(_MEMORY) or server_settings.default_setting(_MEMORY) or "1g"
    driver, available = _bytes(_MEMORY, text, _MIB) + _BESIDE_HEAP, int(memory_bytes() * _SHARE) - _GATEWAY
    if driver <= available:
        return min(available // driver, _MOST)
    raise SessionError(
        f"a driver needs {driver // _MIB} MiB ({_MEMORY}={text} and {_BESIDE_HEAP // _MIB} MiB), and "
        f"{max(0, available) // _MIB} MiB of {memory_bytes() // _MIB} MiB are available for drivers: lower {_MEMORY}, "
        "or set --max-drivers if --launch starts drivers in containers or units with memory of their own"
    )


def message_limit(conf: Mapping[str, str]) -> int:
    """Returns the largest message that clients of Spark Connect may send, in bytes. Raises SessionError."""
    text = conf.get(_MESSAGE) or server_settings.default_setting(_MESSAGE)
    limit = _bytes(_MESSAGE, text, 1) if text else _LARGEST_MESSAGE
    if limit >= 2**31:  # gRPC's limit
        raise SessionError(f"{_MESSAGE}={text} must be less than 2g")
    return limit


def allow_open_files() -> None:
    """Raises the limit of open files to 65,536, or as far as this process may: a connection of a client takes two
    or three.

    Not further: in containers it can be a thousand million, and some programs try to close each number below it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _OPEN_FILES)), hard))


def _bytes(name: str, text: str, unit: int) -> int:
    """Returns a size of Spark's settings in bytes. `unit`: of a bare number. Raises SessionError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise SessionError(f"{name}={text} is not a size: write 1g or 512m")
    return int(match[1]) * _UNITS.get(match[2].lower(), unit)
