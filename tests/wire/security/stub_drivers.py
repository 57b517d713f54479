"""Drivers of the gateway that are not Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spark_client.gateway.drivers import Driver, DriverOptions, Drivers
from spark_client.gateway.launch import Launch
from spark_client.gateway.logins import Login, Logins
from spark_client.gateway.relay import Relay, new_token

SECRET = "secret of the driver"


class StubDrivers(Drivers):
    """One driver for all users. It listens on these ports."""

    def __init__(self, logins: Logins, connect: int = 0, thrift: int = 0) -> None:
        launch = Launch("env USER={user}")
        options = DriverOptions(launch, True, True, None, None, {}, limit=2, idle_timeout=60)
        super().__init__(logins, Relay(logins.addresses), options)
        process: Any = SimpleNamespace(returncode=None)  # it runs
        log: Any = None  # nothing is printed
        self.driver = Driver("stub", SECRET, new_token("stub"), Path(), process, log, connect, thrift)

    async def driver_of(self, _login: Login) -> Driver:
        return self.driver
