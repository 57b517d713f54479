"""When drivers start and stop. Programs that only sleep take the place of Spark."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from metastore.client import Credentials
from metastore.client.errors import AuthenticationError, LoginUnavailableError, MetastoreUnavailableError
from spark_client.errors import SessionError
from spark_client.gateway import drivers as module
from spark_client.gateway.logins import Login
from tests.unit.gateway.fake_drivers import Logins, SleepingDrivers, run

pytestmark = pytest.mark.usefixtures("short_intervals")


def test_calls_of_a_user_share_a_driver_and_a_login(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(logins := Logins(), tmp_path)
        actual_gather = await asyncio.gather(*(drivers.of("alice") for _ in range(5)))
        assert len(set(map(id, actual_gather))) == 1
        assert await drivers.of("alice", "another password of hers") is actual_gather[0]
        assert sum(login.is_open for login in logins.made) == 2
        assert await drivers.of("bob") is not actual_gather[0]
        await drivers.stop()
        assert not any(login.is_open for login in logins.made)
        assert not actual_gather[0].is_running

    run(body)


def test_logins_of_a_user_and_of_an_address_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Blocking(Logins):
        """Waits in each login until `go` is set."""

        def __init__(self) -> None:
            super().__init__()
            self.go, self.entered = threading.Event(), threading.Semaphore(0)

        def log_in(self, credentials: Credentials) -> Login:
            self.entered.release()
            assert self.go.wait(60)
            return super().log_in(credentials)

    async def body() -> None:
        drivers = SleepingDrivers(logins := Blocking(), tmp_path)

        def log_in(user: str, password: int, address: str) -> asyncio.Future[Login]:
            return asyncio.ensure_future(drivers.log_in(Credentials(user=user, password=str(password)), address))

        guesses = [log_in("alice", number, "10.0.0.1") for number in range(5)]
        await asyncio.to_thread(lambda: [logins.entered.acquire() for _ in range(2)])
        with pytest.raises(SessionError, match="too many logins from your address"):
            await log_in("alice", 5, "10.0.0.1")
        other = log_in("bob", 0, "10.0.0.2")
        await asyncio.to_thread(logins.entered.acquire)  # bob's login does not wait for those of the other address
        assert not logins.entered.acquire(blocking=False)
        logins.go.set()
        await asyncio.gather(other, *guesses)
        assert [login.user for login in logins.made if login.is_open].count("alice") == 3
        assert (await other).is_open
        await drivers.stop()

    monkeypatch.setattr(module, "_LOGINS_OF_ADDRESS", 2)
    monkeypatch.setattr(module, "_WAITING_OF_ADDRESS", 5)
    monkeypatch.setattr(module, "_LOGINS_OF_USER", 3)
    run(body)


def test_drivers_are_limited_also_while_they_start(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(Logins(), tmp_path)
        actual_gather = await asyncio.gather(*(drivers.of(name) for name in ("a", "b", "c")), return_exceptions=True)
        errors = [each for each in actual_gather if isinstance(each, SessionError)]
        assert [str(error).partition(":")[0] for error in errors] == [
            "2 users have drivers, the maximum of this server (--max-drivers)"
        ]
        await drivers.stop()

    run(body)


def test_a_driver_that_ended_is_replaced(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(Logins(), tmp_path)
        first = await drivers.of("alice")
        first.process.kill()
        await first.process.wait()
        assert await drivers.of("alice") is not first
        await drivers.stop()

    run(body)


def test_an_idle_driver_stops_and_a_used_one_does_not(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(Logins(), tmp_path, idle_timeout=0)
        used, idle = await drivers.of("alice"), await drivers.of("bob")
        with used:
            watching = asyncio.ensure_future(drivers.watch())
            await idle.process.wait()
            assert used.is_running
        await used.process.wait()
        watching.cancel()
        await drivers.stop()

    run(body)


def test_a_rejected_login_stops_the_driver_but_a_metastore_that_is_down_does_not(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(logins := Logins(), tmp_path)
        driver = await drivers.of("alice")
        watching = asyncio.ensure_future(drivers.watch())
        logins.error = MetastoreUnavailableError("no metastore answers")
        logins.made[-1].connection.close()
        with pytest.raises(MetastoreUnavailableError):
            await drivers.of("alice")
        await drivers._check_logins()
        assert driver.is_running
        logins.error = None
        assert await drivers.of("alice") is driver
        logins.error = LoginUnavailableError("too many failed logins of this user")
        logins.made[-1].connection.close()
        await drivers._check_logins()
        assert driver.is_running
        assert drivers._credentials_of("alice")
        logins.error = AuthenticationError("the password is wrong")
        await driver.process.wait()
        with pytest.raises(AuthenticationError, match="alice has no valid login left"):
            drivers._credentials_of("alice")
        assert not drivers._unchecked
        watching.cancel()
        await drivers.stop()

    run(body)


def test_a_login_that_cannot_be_checked_ends_at_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(logins := Logins(), tmp_path)
        driver = await drivers.of("alice")
        logins.error = LoginUnavailableError("too many failed logins of this user")
        logins.made[-1].connection.close()
        watching = asyncio.ensure_future(drivers.watch())
        await driver.process.wait()
        watching.cancel()
        await drivers.stop()

    monkeypatch.setattr(module, "_UNCHECKED", 0)
    run(body)


def test_another_valid_login_keeps_the_driver(tmp_path: Path) -> None:
    async def body() -> None:
        drivers = SleepingDrivers(logins := Logins(), tmp_path)
        driver = await drivers.of("alice", "old")
        await drivers.of("alice", "new")
        logins.error = AuthenticationError("the password is wrong")
        logins.made[-1].connection.close()
        await drivers._check_logins()
        assert drivers._credentials_of("alice").password == "old"
        assert not drivers._is_rejected("alice")
        assert driver.is_running
        await drivers.stop()

    run(body)


def test_a_rejected_login_ends_its_clients_although_another_one_keeps_the_driver(tmp_path: Path) -> None:
    class Revoking(Logins):
        def log_in(self, credentials: Credentials) -> Login:
            if self.made and credentials.password == "stolen":
                raise AuthenticationError("the token was revoked")
            return super().log_in(credentials)

    async def body() -> None:
        drivers = SleepingDrivers(logins := Revoking(), tmp_path)
        stolen, own = [
            await drivers.log_in(Credentials(user="alice", password=password)) for password in ("stolen", "own")
        ]
        driver = await drivers.driver_of(own)

        async def serve(login: Login) -> None:
            with drivers.connected(login):
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(serve(login)) for login in (stolen, own)]
        await asyncio.sleep(0)
        for login in logins.made:  # the metastore closes connections also at their maximum age
            login.connection.close()
        await drivers._check_logins()
        await asyncio.wait(tasks[:1])
        assert [task.done() for task in tasks] == [True, False]
        assert driver.is_running
        drivers._forget(own.credentials)
        await asyncio.wait(tasks)
        assert not drivers._connected
        await drivers.stop()

    run(body)
