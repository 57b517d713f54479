"""The process of a driver: its command, its environment and its directory."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

import spark_client
from spark_client.gateway.relay import RelayToken
from spark_client.jvm import class_cache

_CACHE: Final = "cache"  # for compiled classes
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_PORT: Final = 10000  # lower ports belong to well-known services
_NOT_INHERITED: Final = (
    "METASTORE_",
    "HADOOP_USER_NAME",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE",
)  # prefixes of variables


def directory(folder: Path) -> Path:
    """Returns the directory that the driver may write. The gateway's own files are next to it."""
    return folder / "files"


def cache(folder: Path) -> Path:
    """Returns the directory of the driver's compiled classes."""
    return directory(folder) / _CACHE


async def execute(
    folder: Path, arguments: Sequence[str], paths: Sequence[str], environment: Mapping[str, str], output: int
) -> asyncio.subprocess.Process:
    """Starts a driver. `arguments` of `spark_client.commands.driver`. `paths`: other directories that it may use.
    `output`: descriptor of a file for its output.
    """
    sandbox = [f"--sandbox={path}" for path in (str(directory(folder)), *paths)]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-m", "spark_client.commands.driver", *arguments, *sandbox),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=output,
        cwd=directory(folder),
        env=environment,
    )


def environment(user: str, token: RelayToken, folder: Path) -> dict[str, str]:
    """Returns the environment of a driver, and creates its directory.

    The user's name is a system property: with the environment variable HADOOP_USER_NAME, Spark's Thrift server would
    run statements as a proxy user without tokens.
    """
    own = directory(folder)
    own.mkdir()
    quoted = user.replace("\\", "\\\\").replace('"', '\\"')
    options = f'-Djava.io.tmpdir={own} -XX:-UsePerfData "-DHADOOP_USER_NAME={quoted}"'
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    packages = str(Path(spark_client.__file__).parents[1])
    class_cache.copy_to(cache(folder))  # a user must not write to classes of other drivers
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH")))),
        "METASTORE_CLIENT_TOKEN": token.text,
        "SPARK_USER": user,
        "TMPDIR": str(own),
        "HOME": str(own),
        "XDG_CACHE_HOME": str(cache(folder)),
        "SPARK_SUBMIT_OPTS": options,
    }


def free_port() -> int:
    """Returns a free port outside the kernel's range of ephemeral ports, if possible above it: services listen below.

    Python functions of users can bind ephemeral ports only (`sandbox`), so none gets the port of a driver that has
    ended. If the range leaves no other ports, it returns an ephemeral one.
    """
    low, high = map(int, _EPHEMERAL.read_text().split())
    above, below = range(high + 1, 2**16), range(_FIRST_PORT, low)
    shuffled = (random.SystemRandom().sample(ports, len(ports)) for ports in (above, below))
    for port in (*chain.from_iterable(shuffled), 0):
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise OSError(errno.EADDRINUSE, "no TCP port is free")
