"""The process of a driver: its command, its environment, and what the gateway and the driver tell each other.

The command line and the environment hold no secret, and no text of a user: all of it is in the first line of the
standard input. Programs such as sudo remove variables, and pass standard input on. The driver answers with one line.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import spark_client

_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_PORT: Final = 10000  # lower ports belong to well-known services
_PROGRAM: Final = ("-W", "ignore", "-m", "spark_client.commands.driver")
_READY: Final = "ready "
_LARGEST: Final = 2**20  # bytes of a line
# Variables that the launch command gets, by name or prefix. Others may hold credentials of the gateway.
_PASSED: Final = (
    *("HOME", "LANG", "LC_", "PATH", "TZ"),
    *("HADOOP_CONF_DIR", "HIVE_CONF_DIR", "JAVA_HOME", "SPARK_CONF_DIR", "SPARK_HOME"),
)


@dataclass(frozen=True, slots=True)
class Order:
    """What a driver reads from its standard input.

    Attributes:
        user: of the metastore.
        uri: address of the relay, where the driver reaches the metastore.
        token: delegation token for the relay.
        secret: which clients of the driver must present.
        connect, thrift: whether the driver has these servers.
        master, warehouse, conf: as of `spark_client.serve`.
    """

    user: str
    uri: str
    token: str
    secret: str
    connect: bool
    thrift: bool
    master: str | None
    warehouse: str | None
    conf: Mapping[str, str]

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: str) -> Order:
        """Raises ValueError if the gateway has ended."""
        return cls(**json.loads(line))


def ready_line(connect: int | None, thrift: int | None) -> str:
    """Returns the answer of a driver: the ports on which its servers listen."""
    return f"{_READY}{connect or 0} {thrift or 0}\n"


async def read_ports(output: asyncio.StreamReader) -> tuple[int, int] | None:
    """Returns the ports in the answer of a driver, or None if it ends before. Launch programs may write other lines."""
    async for line in output:
        if line.startswith(_READY.encode()):
            connect, thrift = map(int, line.split()[1:])
            return connect, thrift
    return None


async def execute(launch: Sequence[str], output: int) -> asyncio.subprocess.Process:
    """Starts a driver. `launch`: first words of the command. `output`: descriptor of a file for its messages.

    The directory is one that every user can enter. Raises OSError.
    """
    return await asyncio.create_subprocess_exec(
        *(*launch, sys.executable, *_PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=output,
        limit=_LARGEST,
        cwd="/",
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED)}
    packages = str(Path(spark_client.__file__).parents[1])
    return {**passed, "PYTHONPATH": os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))}


def free_port() -> int:
    """Returns a free port outside the kernel's range of ephemeral ports, which connections of other programs use, and
    if possible above it: services listen below. If the range leaves no other ports, it returns an ephemeral one.
    """
    low, high = map(int, _EPHEMERAL.read_text().split())
    above, below = range(high + 1, 2**16), range(_FIRST_PORT, low)
    shuffled = (random.SystemRandom().sample(ports, len(ports)) for ports in (above, below))
    for port in (*chain.from_iterable(shuffled), 0):
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise OSError(errno.EADDRINUSE, "no TCP port is free")
