"""Drivers that are not Spark, and logins without a metastore."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from metastore.client import Credentials, parse_uris
from spark_client.gateway.driver_log import DriverLog
from spark_client.gateway.drivers import Driver, DriverOptions, Drivers
from spark_client.gateway.launch import Launch
from spark_client.gateway.logins import Login
from spark_client.gateway.relay import Relay, new_token

LIMIT = 2


class Connection:
    """A connection that a test closes."""

    is_alive = True

    def close(self) -> None:
        self.is_alive = False


class Logins:
    """Accepts everybody until `error` is set. Notes the logins."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.made: list[Login] = []

    def log_in(self, credentials: Credentials) -> Login:
        if self.error is not None:
            raise self.error
        connection: Any = Connection()
        self.made.append(Login(str(credentials.user), credentials, connection))
        return self.made[-1]


class SleepingDrivers(Drivers):
    """Drivers whose processes only sleep."""

    def __init__(self, logins: Any, folder: Path, idle_timeout: float = 1000) -> None:
        relay = Relay(parse_uris("thrift://127.0.0.1:1"))
        super().__init__(logins, relay, options(idle_timeout))
        self.folder = folder

    async def _start(self, user: str) -> Driver:
        await asyncio.sleep(0)
        process = await asyncio.create_subprocess_exec("sleep", "600")
        return Driver(user, "secret", new_token(user), self.folder / user, process, DriverLog(self.folder))

    async def of(self, user: str, password: str = "x") -> Driver:
        return await self.driver_of(await self.log_in(Credentials(user=user, password=password)))


class StartingDrivers(SleepingDrivers):
    """Drivers that are ready when the file `go` exists in `folder`."""

    _start = Drivers._start

    def __init__(self, logins: Any, folder: Path) -> None:
        super().__init__(logins, folder)
        self.started: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
        self.program = "read -r order; until [ -e go ]; do sleep 0.01; done; echo hello; echo ready 1 2; exec cat"

    async def _execute(self, *_: object) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", self.program),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=self.folder,
        )
        self.started.put_nowait(process)
        return process


def options(idle_timeout: float) -> DriverOptions:
    launch = Launch("env USER={user}")
    return DriverOptions(launch, True, True, None, None, {}, limit=LIMIT, idle_timeout=idle_timeout)


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(body(), 60))
