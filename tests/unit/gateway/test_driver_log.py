"""The log of a driver is limited, and is outside of the directories that the driver may write."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from spark_client.gateway import driver_log
from spark_client.gateway.driver_log import DriverLog

FILE = 100_000


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_log, "_FILE", FILE)
    monkeypatch.setattr(driver_log, "_REST", 0.1)


async def printed(folder: Path, *command: str) -> DriverLog:
    """Runs a program whose output is logged, and returns its log."""
    log = DriverLog(folder)
    output = await log.open()
    process = await asyncio.create_subprocess_exec(*command, stdout=output)
    os.close(output)
    assert await process.wait() == 0
    await log.end()
    return log


def test_the_newest_output_is_kept(tmp_path: Path) -> None:
    log = asyncio.run(printed(tmp_path, "sh", "-c", "yes 123456789 | head -n 1000000; echo last"))
    assert log.tail(6) == "\nlast\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * FILE + driver_log._PIECE


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    log = asyncio.run(printed(tmp_path, "printf", r"a\377b"))
    assert log.tail(10) == "a\ufffdb"


def test_a_process_that_keeps_the_output_does_not_delay_the_end(tmp_path: Path) -> None:
    log = asyncio.run(printed(tmp_path, "sh", "-c", "echo text; sleep 2 & exit 0"))
    assert log.tail(10) == "text\n"


def test_a_full_disk_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    asyncio.run(printed(tmp_path, "echo", "text"))
