"""How the processes of drivers start and end. Shells take the place of Spark."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from pathlib import Path
from typing import Any, cast

import pytest

from spark_client.errors import SessionError
from spark_client.gateway import driver_process
from spark_client.gateway import drivers as module
from spark_client.gateway.driver_log import DriverLog
from tests.unit.gateway.fake_drivers import Logins, StartingDrivers, run

pytestmark = pytest.mark.usefixtures("short_intervals", "own_directories")


def test_the_start_continues_without_the_caller(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = StartingDrivers(Logins(), tmp_path)
        cancelled = asyncio.ensure_future(drivers.of("alice"))
        process = await drivers.started.get()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        (tmp_path / "go").touch()
        driver = await drivers.of("alice")
        assert driver.process is process
        assert (driver.connect, driver.thrift) == (1, 2)
        assert drivers.started.empty()
        await drivers.stop()

    run(body)


def test_a_driver_that_starts_when_the_server_stops_leaves_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = StartingDrivers(Logins(), tmp_path)
        starting = asyncio.ensure_future(drivers.of("alice"))
        process = await drivers.started.get()
        await drivers.stop()
        assert process.returncode is not None
        assert not list(tmp_path.glob("spark-driver-*"))
        with pytest.raises(asyncio.CancelledError):
            await starting

    run(body)


def test_a_program_that_cannot_be_executed_is_one_error_and_leaves_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = StartingDrivers(Logins(), tmp_path)
        drivers._execute = failing  # type: ignore[method-assign]
        with pytest.raises(SessionError, match=r"the driver of alice does not start: .*Cannot allocate memory"):
            await drivers.of("alice")
        assert not list(tmp_path.iterdir())
        assert not drivers._relay._clients
        await drivers.stop()

    async def failing(*_: object) -> asyncio.subprocess.Process:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    run(body)


class Unreachable:
    """The process of a launch program of root, as a gateway of another user sees it: signals need permission."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)

    def terminate(self) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    kill = terminate


def test_a_driver_without_permission_for_signals_ends_with_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        (tmp_path / "go").touch()
        drivers = StartingDrivers(Logins(), tmp_path)
        driver = await drivers.of("alice")
        driver.process = cast(Any, Unreachable(driver.process))
        await drivers.stop()
        assert driver.process.returncode == 0

    monkeypatch.setattr(module, "_STOP", 50)
    run(body)


def test_a_driver_that_does_not_end_is_not_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        (tmp_path / "go").touch()
        drivers = StartingDrivers(Logins(), tmp_path)
        drivers.program = "read -r order; echo ready 1 2; exec sleep 600"  # it does not read its input
        stubborn, other = await drivers.of("alice"), await drivers.of("bob")
        real, stubborn.process = stubborn.process, cast(Any, Unreachable(stubborn.process))
        for _ in range(2):
            await drivers._stop(stubborn)
            with pytest.raises(
                SessionError, match=f"^the previous driver of alice does not end: .* process {real.pid}$"
            ):
                await drivers.of("alice")
        assert await drivers.of("bob") is other
        monkeypatch.setattr(module, "_SIGNALLED", 5)  # signals work from now on, and take their time
        real.kill()
        await real.wait()
        assert (await drivers.of("alice")).is_running
        await drivers.stop()

    monkeypatch.setattr(module, "_SIGNALLED", 0.01)
    run(body)


def test_a_port_that_another_program_has_taken_is_not_used(tmp_path: Path) -> None:
    async def body() -> None:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = first.getsockname()[1]
            (tmp_path / "go").touch()
            drivers = StartingDrivers(Logins(), tmp_path)
            drivers.program = f"read -r order; echo ready {port} 0; exec cat"
            driver = await drivers.of("alice")
            driver.check_listener(driver.connect)
        for other in (socket.socket(), socket.create_server(("127.0.0.1", port))):
            with other, pytest.raises(SessionError, match="the driver of alice has ended"):
                driver.check_listener(driver.connect)
        await drivers.stop()

    run(body)


def test_a_name_that_is_no_user_of_the_system_starts_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = StartingDrivers(Logins(), tmp_path)
        with pytest.raises(SessionError, match="root is a system account"):
            await drivers.of("root")
        assert drivers.started.empty()
        assert not list(tmp_path.iterdir())
        await drivers.stop()

    run(body)


def test_the_launch_command_gets_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        log = DriverLog(tmp_path)
        output = await log.open()
        process = await driver_process.execute(["sh", "-c", "env", "--"], output)
        os.close(output)
        text, _ = await process.communicate()
        await log.end()
        names = {line.partition("=")[0] for line in text.decode().splitlines()}
        assert {"PATH", "PYTHONPATH"} <= names
        assert not {name for name in names if name.startswith(("AWS_", "METASTORE_", "SPARK_REMOTE"))}

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("METASTORE_CLIENT_TOKEN", "secret")
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    run(body)
