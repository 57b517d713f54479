"""Drivers of two users of the operating system. A shell takes the place of Spark."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spark_client.gateway import driver_process
from spark_client.gateway.drivers import Drivers
from spark_client.gateway.launch import Launch
from tests.fixtures.os_users import LAUNCH, Account, accounts, missing
from tests.unit.gateway.fake_drivers import Logins, SleepingDrivers, options, run

# Its log shows its user, its order, and the files of both users, as far as it can read them.
PROGRAM = """
read -r order; id -u >&2; echo "$order" >&2; cat FILES >&2; echo ready 1 2; cat > /dev/null
"""


class LaunchedDrivers(SleepingDrivers):
    _start = Drivers._start


@pytest.fixture
def users() -> Iterator[list[Account]]:
    if reason := missing():
        pytest.skip(reason)
    with accounts(("spark_a", "spark_b")) as made:
        for account in made:
            account.home.chmod(0o755)
            secret = account.home / "secret"
            secret.write_text(f"secret of {account.name}\n")
            secret.chmod(0o600)
            os.chown(secret, account.uid, account.uid)
        yield made


def test_each_driver_is_its_user_of_the_operating_system(
    users: list[Account], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        drivers = LaunchedDrivers(Logins(), tmp_path)
        drivers._options = replace(options(1000), launch=Launch(LAUNCH))
        started = await asyncio.gather(*(drivers.of(account.name) for account in users))
        for account, driver in zip(users, started, strict=True):
            uid, order, *rest = driver.log.tail(10_000).splitlines()
            assert int(uid) == account.uid
            assert driver.secret in order
            assert f"secret of {account.name}" in rest
            assert len([line for line in rest if "Permission denied" in line]) == 1, rest
            assert len([line for line in rest if line.startswith("secret of ")]) == 1, rest
            assert driver.secret not in Path(f"/proc/{driver.process.pid}/cmdline").read_text()
        await drivers.stop()
        assert [driver.process.returncode for driver in started] == [0, 0]  # no signal was needed

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    program = PROGRAM.replace("FILES", " ".join(str(account.home / "secret") for account in users))
    monkeypatch.setattr(driver_process, "_PROGRAM", ("-c", program))
    monkeypatch.setattr("spark_client.gateway.drivers._STOP", 50)
    run(body)
