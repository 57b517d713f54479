"""The drivers: one Spark process for each user who is logged in."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import spark_client
from metastore.client import Credentials
from metastore.client.errors import AuthenticationError, ClientError
from spark_client.errors import SessionError
from spark_client.gateway.logins import Login, Logins
from spark_client.gateway.relay import Relay, RelayToken, new_token

_LOG = logging.getLogger(__name__)
_START: Final = 300.0  # seconds
_STOP: Final = 20.0  # seconds
_CHECK: Final = 5.0  # seconds between two checks of logins and idle drivers
_PERMITTED_WITHOUT_LOGIN: Final = 15.0  # seconds
_CLASSES: Final = Path("cache", "spark_client")
_PREFIXES: Final = (
    "METASTORE_",
    "HADOOP_USER_NAME",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE",
)  # of variables that drivers do not inherit


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What all drivers have in common.

    Attributes:
        arguments: arguments of `spark_client.commands.driver`.
        paths: directories that drivers may use besides the warehouse.
        connect, thrift: whether a driver has these servers.
        limit: maximum number of drivers.
        idle_timeout: seconds without a call or connection after which a driver stops.
    """

    arguments: Sequence[str]
    paths: Sequence[str]
    connect: bool
    thrift: bool
    limit: int
    idle_timeout: float


@dataclass(slots=True, eq=False)
class Driver:
    """A running driver. `uses` counts its open calls and connections."""

    user: str
    secret: str
    token: RelayToken
    folder: Path
    process: asyncio.subprocess.Process
    connect: int = 0
    thrift: int = 0
    uses: int = 0
    last_use: float = field(default_factory=time.monotonic)

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    def __enter__(self) -> Driver:
        """Marks the driver as used, so that it does not stop as idle."""
        self.uses += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.uses -= 1
        self.last_use = time.monotonic()


class Drivers:
    """Starts drivers on demand. Stops those that are idle, or whose user has no valid login any more."""

    def __init__(self, logins: Logins, relay: Relay, options: DriverOptions) -> None:
        self._logins = logins
        self._relay = relay
        self._options = options
        self._known: dict[Credentials, Login] = {}
        self._latest: dict[str, Login] = {}  # by user
        self._rejected_since: dict[str, float] = {}  # user to the time since when no login is valid
        self._drivers: dict[str, Driver] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._being_started: set[str] = set()

    async def log_in(self, credentials: Credentials) -> Login:
        """Returns the login of these credentials. Raises AuthenticationError, MetastoreUnavailableError."""
        known = self._known.get(credentials)
        if known is not None and known.is_open:
            return known
        try:
            login = await asyncio.to_thread(self._logins.log_in, credentials)
        except AuthenticationError:
            self._forget(credentials)
            raise
        self._forget(credentials)
        self._known[credentials] = self._latest[login.user] = login
        return login

    def _forget(self, credentials: Credentials) -> None:
        """Forgets the login of these credentials, if there is one. Another login of the user may remain."""
        login = self._known.pop(credentials, None)
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
            raise AuthenticationError(f"no login of {user} is valid any more")
        return login.credentials

    async def driver_of(self, login: Login) -> Driver:
        """Returns the driver of a user; starts it if it does not run. Raises SessionError if it does not start."""
        async with self._starting.setdefault(login.user, asyncio.Lock()):
            driver = self._drivers.get(login.user)
            if driver is not None and driver.is_running:
                return driver
            if driver is not None:
                await self._stop(driver)
            others = (self._drivers.keys() | self._being_started) - {login.user}
            if len(others) >= self._options.limit:
                raise SessionError(
                    f"{self._options.limit} users have drivers, the most that this server starts (--max-drivers): try "
                    "again when one of them is idle"
                )
            self._being_started.add(login.user)
            try:
                self._drivers[login.user] = driver = await self._start(login.user)
            finally:
                self._being_started.discard(login.user)
            return driver

    async def watch(self) -> None:
        """Stops drivers that are idle or may not go on, until this task is cancelled."""
        while True:
            await asyncio.sleep(_CHECK)
            await self._check_logins()
            for driver in list(self._drivers.values()):
                idle = not driver.uses and time.monotonic() - driver.last_use > self._options.idle_timeout
                if idle or not driver.is_running or self._is_rejected(driver.user):
                    await self._stop(driver)

    async def stop(self) -> None:
        """Stops all drivers."""
        await asyncio.gather(*(self._stop(driver) for driver in list(self._drivers.values())))
        for login in self._known.values():
            login.connection.close()

    async def _check_logins(self) -> None:
        """Logs in again where the metastore has closed a connection. Forgets logins that it rejects or nobody needs.

        A metastore that does not answer is no reason to stop drivers: the next check tries again.
        """
        for credentials, login in list(self._known.items()):
            if login.is_open:
                continue
            if login.user not in self._drivers or self._latest.get(login.user) is not login:
                self._forget(credentials)
                continue
            try:
                await self.log_in(credentials)
            except ClientError as error:
                _LOG.warning("the login of %s has ended: %s", login.user, error)

    def _is_rejected(self, user: str) -> bool:
        """Tells whether a user has had no valid login for a while."""
        if user in self._latest:
            self._rejected_since.pop(user, None)
            return False
        since = self._rejected_since.setdefault(user, time.monotonic())
        return time.monotonic() - since > _PERMITTED_WITHOUT_LOGIN

    async def _start(self, user: str) -> Driver:
        token, secret = new_token(user), secrets.token_hex(32)
        folder = Path(tempfile.mkdtemp(prefix="spark-driver-"))
        self._relay.add(token, lambda: self._credentials_of(user))
        ports = {"connect": _free_port() if self._options.connect else 0, "thrift": 0}
        ports["thrift"] = _free_port() if self._options.thrift else 0
        secret_file = folder / "secret"
        secret_file.touch(mode=0o600)
        secret_file.write_text(secret)
        arguments = [f"--{name}={port}" for name, port in ports.items() if port]
        arguments += [f"--uri=thrift://127.0.0.1:{self._relay.port}", f"--secret_file={secret_file}"]
        arguments += [f"--sandbox={path}" for path in (str(folder), *self._options.paths)]
        with (folder / "log").open("w") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-W", "ignore", "-m", "spark_client.commands.driver", *arguments),
                *self._options.arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env=_environment(user, token, folder),
            )
        driver = Driver(user, secret, token, folder, process, **ports)
        await self._wait_until_ready(driver)
        _keep_classes(folder)
        _LOG.info("the driver of %s has started: process %s", user, process.pid)
        return driver

    async def _wait_until_ready(self, driver: Driver) -> None:
        """Reads the driver's first line. Raises SessionError if it ends before."""
        line = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(_START):
                line = await driver.process.stdout.readline()  # type: ignore[union-attr] # it is a pipe
        if line:
            return
        text = (driver.folder / "log").read_text(errors="replace")
        reason = next((line for line in text.splitlines() if line.startswith("metastore: ")), text[-500:])
        _LOG.error("the driver of %s does not start: %s", driver.user, text[-5000:])
        await self._stop(driver)
        raise SessionError(f"the driver of {driver.user} does not start: {reason.removeprefix('metastore: ')}")

    async def _stop(self, driver: Driver) -> None:
        """Stops a driver and removes its files. Its next user starts a new one."""
        if self._drivers.get(driver.user) is driver:
            del self._drivers[driver.user]
        self._relay.remove(driver.token)
        with suppress(ProcessLookupError):
            driver.process.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP):
                await driver.process.wait()
        with suppress(ProcessLookupError):
            driver.process.kill()
        await driver.process.wait()
        await asyncio.to_thread(shutil.rmtree, driver.folder, ignore_errors=True)
        _LOG.info("the driver of %s has stopped", driver.user)


def _environment(user: str, token: RelayToken, folder: Path) -> dict[str, str]:
    """Returns the environment of a driver.

    The user's name is a system property: with the environment variable HADOOP_USER_NAME, Spark's Thrift server would
    run statements as a proxy user without tokens.
    """
    quoted = user.replace("\\", "\\\\").replace('"', '\\"')
    options = f'-Djava.io.tmpdir={folder} -XX:-UsePerfData "-DHADOOP_USER_NAME={quoted}"'
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIXES)}
    packages = str(Path(spark_client.__file__).parents[1])
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH")))),
        "METASTORE_CLIENT_TOKEN": token.text,
        "SPARK_USER": user,
        "TMPDIR": str(folder),
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(_copy_of_class_cache(folder)),
        "SPARK_SUBMIT_OPTS": options,
    }


def _copy_of_class_cache(folder: Path) -> Path:
    """Copies the compiled classes to the driver's folder. A user must not write to classes of other drivers."""
    own = folder / _CLASSES
    own.mkdir(mode=0o700, parents=True)
    for jar in _shared_classes().glob("*.jar"):
        shutil.copy2(jar, own)
    return own.parent


def _keep_classes(folder: Path) -> None:
    """Copies the classes that a driver compiled while it started, for the next one. Its user has not used it yet."""
    shared = _shared_classes()
    shared.mkdir(mode=0o700, parents=True, exist_ok=True)
    for jar in (folder / _CLASSES).glob("*.jar"):
        if not (shared / jar.name).exists():
            partial = shared / f".{jar.name}.{os.getpid()}"
            shutil.copy2(jar, partial)
            partial.replace(shared / jar.name)


def _shared_classes() -> Path:
    """Returns the class cache of this process's user (`spark_client.jvm.class_cache`)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "spark_client"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
