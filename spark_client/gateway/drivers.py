"""The drivers: one Spark process for each user who is logged in."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from metastore.addresses import network_of
from metastore.client import Credentials
from metastore.client.errors import AuthenticationError, ClientError, LoginUnavailableError
from spark_client.errors import SessionError
from spark_client.gateway import driver_process
from spark_client.gateway.driver_log import DriverLog
from spark_client.gateway.driver_process import Order
from spark_client.gateway.launch import Launch
from spark_client.gateway.listening import listener_of
from spark_client.gateway.logins import Login, Logins
from spark_client.gateway.relay import Relay, RelayToken, new_token

_LOG = logging.getLogger(__name__)
_START: Final = 300.0  # seconds
_STOP: Final = 20.0  # seconds until a driver gets a signal
_SIGNALLED: Final = 5.0  # seconds between two signals
_CHECK: Final = 5.0  # seconds between two checks of logins and idle drivers
_PERMITTED_WITHOUT_LOGIN: Final = 15.0  # seconds
_UNCHECKED: Final = 600.0  # seconds for which a driver runs while the metastore does not check its user's login
_LOGINS: Final = 32  # logins at the metastore at a time
_LOGINS_OF_ADDRESS: Final = 8  # of them
_WAITING_OF_ADDRESS: Final = 64  # logins that wait or run; further ones are rejected
_LOGINS_OF_USER: Final = 16  # that stay open: one for each password, JWT or token of the user
_SHOWN: Final = 5000  # characters of a driver's log that the gateway's log repeats


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """The options that all drivers share.

    Attributes:
        launch: the command that starts a driver as its user.
        connect, thrift: whether a driver has these servers.
        master, warehouse, conf: as of `spark_client.serve`.
        limit: maximum number of drivers.
        idle_timeout: seconds without a call after which a driver stops.
    """

    launch: Launch
    connect: bool
    thrift: bool
    master: str | None
    warehouse: str | None
    conf: Mapping[str, str]
    limit: int
    idle_timeout: float


@dataclass(slots=True, eq=False)
class Driver:
    """A running driver. `uses` counts its open calls. `folder` has its log.

    `listeners`: the sockets of its ports, if the system shows them. `end`: the task that stops it.
    """

    user: str
    secret: str
    token: RelayToken
    folder: Path
    process: asyncio.subprocess.Process
    log: DriverLog
    connect: int = 0
    thrift: int = 0
    uses: int = 0
    last_use: float = field(default_factory=time.monotonic)
    listeners: dict[int, str | None] = field(default_factory=dict)
    end: asyncio.Task[bool] | None = None

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    def check_listener(self, port: int) -> None:
        """Raises SessionError if another program listens on a port of this driver, which has then ended: its user must
        get neither the secret nor a statement. Call it when the connection exists, and before it is used.
        """
        known = self.listeners.get(port)
        if known is not None and listener_of(port) != known:
            raise SessionError(f"the driver of {self.user} has ended: try again")

    def __enter__(self) -> Driver:
        """Marks the driver as used, so that it does not stop as idle."""
        self.uses += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.uses -= 1
        self.touch()

    def touch(self) -> None:
        """Notes that the driver is in use now."""
        self.last_use = time.monotonic()


class Drivers:
    """Starts drivers on demand. Stops drivers that are idle, or whose user has no valid login left."""

    def __init__(self, logins: Logins, relay: Relay, options: DriverOptions) -> None:
        self._logins = logins
        self._relay = relay
        self._options = options
        self._known: dict[Credentials, Login] = {}
        self._unchecked: dict[Credentials, float] = {}  # the time since which a login could not be repeated
        self._latest: dict[str, Login] = {}  # by user
        self._connected: dict[Credentials, set[asyncio.Task[Any]]] = {}  # tasks that serve clients
        self._pool = ThreadPoolExecutor(_LOGINS, "login")
        self._waiting: Counter[str] = Counter()  # logins by address
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # by address
        self._rejected_since: dict[str, float] = {}  # user to the time since which no login has been valid
        self._drivers: dict[str, Driver] = {}
        self._starts: dict[str, asyncio.Task[Driver]] = {}  # by user

    async def log_in(self, credentials: Credentials, address: str = "") -> Login:
        """Returns the login of these credentials. Raises the errors of `Logins.log_in`.

        `address`: of the client. Clients with the same address take turns, so that guesses from one address do not
        delay the logins of others. Raises SessionError if too many of them wait.
        """
        known = self._known.get(credentials)
        if known is not None and known.is_open:
            return known
        address = network_of(address)
        turns = self._turns.setdefault(address, asyncio.Semaphore(_LOGINS_OF_ADDRESS))
        try:
            with self._counted(address):
                async with turns:
                    login = await asyncio.get_running_loop().run_in_executor(
                        self._pool, self._logins.log_in, credentials
                    )
        except LoginUnavailableError:  # wrong passwords of others delay this user: that must not stop the driver
            raise
        except AuthenticationError:
            self._forget(credentials)
            raise
        self._close(credentials)
        self._known[credentials] = self._latest[login.user] = login
        own = [each for each, other in self._known.items() if other.user == login.user]
        for oldest in own[:-_LOGINS_OF_USER]:
            self._forget(oldest)
        return login

    @contextmanager
    def _counted(self, address: str) -> Iterator[None]:
        """Counts a login that waits or runs. Raises SessionError if an address has too many."""
        if self._waiting[address] >= _WAITING_OF_ADDRESS:
            raise SessionError("too many logins from your address are waiting: try again")
        self._waiting[address] += 1
        try:
            yield
        finally:
            self._waiting -= Counter((address,))  # an address without logins is forgotten

    @contextmanager
    def connected(self, login: Login) -> Iterator[None]:
        """Cancels the current task when the credentials of the login are no longer valid. Another login of the user may
        keep the driver: that must not keep the connection of a client with a revoked token.
        """
        tasks = self._connected.setdefault(login.credentials, set())
        if task := asyncio.current_task():
            tasks.add(task)
        try:
            yield
        finally:
            tasks -= {task}
            if not tasks and self._connected.get(login.credentials) is tasks:
                del self._connected[login.credentials]

    def _forget(self, credentials: Credentials) -> None:
        """Forgets the login of these credentials, and ends its clients. Another login of the user may remain."""
        self._close(credentials)
        for task in self._connected.pop(credentials, ()):
            task.cancel()

    def _close(self, credentials: Credentials) -> None:
        """Closes the login of these credentials, if there is one."""
        login = self._known.pop(credentials, None)
        self._unchecked.pop(credentials, None)
        if login is None:
            return
        login.connection.close()
        if self._latest.get(login.user) is login:
            others = [other for other in self._known.values() if other.user == login.user and other.is_open]
            if others:
                self._latest[login.user] = others[-1]
            else:
                del self._latest[login.user]

    def _credentials_of(self, user: str) -> Credentials:
        """Returns credentials with which the user has logged in. Raises AuthenticationError if none is valid."""
        login = self._latest.get(user)
        if login is None:
            raise AuthenticationError(f"{user} has no valid login left")
        return login.credentials

    async def driver_of(self, login: Login) -> Driver:
        """Returns the driver of a user; starts it if it does not run. Raises SessionError if it does not start.

        The start goes on if the caller is cancelled: the user's next call finds the driver.
        """
        user = login.user
        if user not in self._starts:
            driver = self._drivers.get(user)
            if driver is not None and driver.is_running and driver.end is None:
                return driver
            others = (self._drivers.keys() | self._starts.keys()) - {user}
            if len(others) >= self._options.limit:
                raise SessionError(
                    f"{self._options.limit} users have drivers, the maximum of this server (--max-drivers): try "
                    "again when one of them has stopped"
                )
            self._starts[user] = asyncio.create_task(self._replace(user))
            self._starts[user].add_done_callback(lambda _: self._starts.pop(user))
        return await asyncio.shield(self._starts[user])

    async def _replace(self, user: str) -> Driver:
        """Starts a driver for a user, and first removes one that ends or has ended."""
        if (ended := self._drivers.get(user)) and not await self._stop(ended):
            raise SessionError(
                f"the previous driver of {user} does not end: ask the administrator to end its process "
                f"{ended.process.pid}"
            )
        try:
            self._drivers[user] = driver = await self._start(user)
        except OSError as error:
            raise SessionError(f"the driver of {user} does not start: {error}") from None
        return driver

    async def watch(self) -> None:
        """Stops drivers that are idle or no longer permitted, until this task is cancelled."""
        while True:
            await asyncio.sleep(_CHECK)
            await self._check_logins()
            for user, driver in list(self._drivers.items()):
                if user in self._starts:
                    continue
                idle = not driver.uses and time.monotonic() - driver.last_use > self._options.idle_timeout
                if idle or not driver.is_running or driver.end is not None or self._is_rejected(user):
                    self._stop(driver)  # a driver that does not end must not delay the checks of others

    async def stop(self) -> None:
        """Stops all drivers, including those that are starting."""
        starts = list(self._starts.values())
        for start in starts:
            start.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
        await asyncio.gather(*(self._stop(driver) for driver in list(self._drivers.values())))
        for login in self._known.values():
            login.connection.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _check_logins(self) -> None:
        """Logs in again where the metastore has closed a connection. Forgets rejected logins, and those that neither a
        driver nor a client uses.

        A metastore that does not answer is no reason to stop drivers: the next check tries again.
        """
        for credentials in {**self._known, **self._connected}:
            login = self._known.get(credentials)
            if login is not None and login.is_open:
                continue
            drives = login is not None and login.user in self._drivers and self._latest.get(login.user) is login
            if not drives and credentials not in self._connected:
                self._forget(credentials)
                continue
            try:
                await self.log_in(credentials)
            except ClientError as error:
                _LOG.warning("the login of %s has ended: %s", login.user if login else credentials.user, error)
                if isinstance(error, LoginUnavailableError):
                    since = self._unchecked.setdefault(credentials, time.monotonic())
                    if time.monotonic() - since > _UNCHECKED:
                        self._forget(credentials)

    def _is_rejected(self, user: str) -> bool:
        """Returns whether a user has had no valid login for a while."""
        if user in self._latest:
            self._rejected_since.pop(user, None)
            return False
        since = self._rejected_since.setdefault(user, time.monotonic())
        return time.monotonic() - since > _PERMITTED_WITHOUT_LOGIN

    async def _start(self, user: str) -> Driver:
        """Starts a driver and waits until it is ready. Raises SessionError. After an error, nothing of the driver
        remains."""
        launch = await asyncio.to_thread(self._options.launch.command, user)
        token = new_token(user)
        folder = Path(tempfile.mkdtemp(prefix="spark-driver-"))
        log = DriverLog(folder)
        self._relay.add(token, lambda: self._credentials_of(user))
        try:
            process = await self._execute(launch, log)
        except BaseException:  # also cancellation: no token, log or folder of the driver must stay
            self._relay.remove(token)
            await log.end()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._drivers[user] = driver = Driver(user, secrets.token_hex(32), token, folder, process, log)
        try:
            await self._wait_until_ready(driver)
        except BaseException:  # also cancellation: the process must not stay
            await self._stop(driver)
            raise
        _LOG.info("the driver of %s has started: process %s, log %s", user, process.pid, folder / "log")
        return driver

    async def _execute(self, launch: Sequence[str], log: DriverLog) -> asyncio.subprocess.Process:
        output = await log.open()
        try:
            return await driver_process.execute(launch, output)
        finally:
            os.close(output)

    def _order(self, driver: Driver) -> Order:
        options = self._options
        return Order(
            user=driver.user,
            uri=f"thrift://127.0.0.1:{self._relay.port}",
            token=driver.token.text,
            secret=driver.secret,
            connect=options.connect,
            thrift=options.thrift,
            master=options.master,
            warehouse=options.warehouse,
            conf=options.conf,
        )

    async def _wait_until_ready(self, driver: Driver) -> None:
        """Sends the driver its order and reads its answer. Raises SessionError if it ends before."""
        ports = None
        driver.process.stdin.write(self._order(driver).line())  # type: ignore[union-attr] # it is a pipe
        with suppress(TimeoutError):
            async with asyncio.timeout(_START):
                ports = await driver_process.read_ports(driver.process.stdout)  # type: ignore[arg-type] # it is a pipe
        if ports is not None:
            driver.connect, driver.thrift = ports
            driver.listeners = {port: listener_of(port) for port in ports}
            return
        await driver.log.end()
        text = driver.log.tail(_SHOWN)
        reason = next((line for line in text.splitlines() if line.startswith("metastore: ")), text[-500:])
        _LOG.error("the driver of %s does not start: %s", driver.user, text)
        raise SessionError(f"the driver of {driver.user} does not start: {reason.removeprefix('metastore: ')}")

    def _stop(self, driver: Driver) -> asyncio.Future[bool]:
        """Stops a driver and removes its files. The user's next call starts a new one. Continues if the caller ends."""
        if driver.end is None or (driver.end.done() and not driver.end.result()):
            driver.end = asyncio.create_task(self._end(driver))
        return asyncio.shield(driver.end)

    async def _end(self, driver: Driver) -> bool:
        """Closes the standard input of a driver, with which it ends, and then tries signals: the gateway may have no
        permission to send them. Returns whether the driver has ended.
        """
        status = driver.process.returncode
        self._relay.remove(driver.token)
        if driver.process.stdin is not None:
            driver.process.stdin.close()
        signals: tuple[Callable[[], None] | None, ...] = (None, driver.process.terminate, driver.process.kill)
        for send, seconds in zip(signals, (_STOP, _SIGNALLED, _SIGNALLED), strict=True):
            with suppress(ProcessLookupError, PermissionError):
                if send is not None:
                    send()
            with suppress(TimeoutError):
                await asyncio.wait_for(driver.process.wait(), seconds)
                break
        else:
            _LOG.error("the driver of %s does not end: process %s", driver.user, driver.process.pid)
            return False
        if self._drivers.get(driver.user) is driver:
            del self._drivers[driver.user]
        await driver.log.end()
        if status is not None and driver.listeners:
            _LOG.warning("the driver of %s ended with status %s: %s", driver.user, status, driver.log.tail(_SHOWN))
        await asyncio.to_thread(shutil.rmtree, driver.folder, ignore_errors=True)
        _LOG.info("the driver of %s has stopped", driver.user)
        return True
