"""Limits of containers: cgroup trees of both versions, and the settings that are derived from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore import machine as machine_module
from metastore.machine import memory_bytes, needed_bytes, processors
from metastore.settings import Settings
from metastore.storage.postgres.configuration import configuration

MIB = 2**20


def tree(root: Path, files: dict[str, str]) -> Path:
    """Writes the files of /proc and /sys below a directory; the machine has 8 GiB."""
    for name, text in {"proc/meminfo": "MemTotal:        8388608 kB\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2_limit_of_a_parent_counts(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/pod/container\n",
            "sys/fs/cgroup/pod/container/memory.max": "max\n",
            "sys/fs/cgroup/pod/memory.max": f"{512 * MIB}\n",
            "sys/fs/cgroup/pod/container/cpu.max": "50000 100000\n",
        },
    )
    assert memory_bytes(root) == 512 * MIB
    assert processors(root) == 1


def test_version_1_limit_is_found_when_the_paths_are_those_of_the_host(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{300 * MIB}\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "20000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert memory_bytes(root) == 300 * MIB
    assert processors(root) == 1


def test_machine_counts_without_limits(tmp_path: Path) -> None:
    unlimited = {
        "proc/self/cgroup": "5:memory:/\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    assert memory_bytes(tree(tmp_path, unlimited)) == 8 * 2**30
    assert processors(tmp_path) >= 1


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(machine_module, "processors", lambda: 8)
    monkeypatch.setattr(machine_module, "memory_bytes", lambda: 512 * MIB)
    return monkeypatch


@pytest.mark.parametrize("url", [None, "postgresql://h/d"])
def test_defaults_fit_into_a_small_container(machine: pytest.MonkeyPatch, url: str | None) -> None:
    settings = Settings(database_url=url)
    assert settings.memory_limit >= 150 * MIB
    assert settings.workers * settings.memory_limit + 96 * MIB <= 512 * MIB
    assert settings.workers == (1 if url is None else 2)


def test_given_values_win(machine: pytest.MonkeyPatch) -> None:
    assert Settings(workers=3, memory_limit=200 * MIB).workers == 3
    assert Settings(memory_limit=350 * MIB, database_url="postgresql://h/d").workers == 1


def test_large_machine_keeps_connections_and_memory_bounded(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(machine_module, "memory_bytes", lambda: 64 * 2**30)
    settings = Settings()
    assert (settings.workers, settings.memory_limit) == (4, 400 * MIB)


def test_buffers_of_the_embedded_postgresql_fit_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared buffers are memory of the container: with a fixed size, a large catalog would fill it."""
    for available, buffers in ((512, 64), (2048, 256), (65536, 512)):
        monkeypatch.setattr(machine_module, "memory_bytes", lambda: available * MIB)  # noqa: B023 - called at once
        assert machine_module.postgres_buffers() == buffers * MIB
        assert f"shared_buffers = {buffers * 1024}kB\n" in configuration(100)
        assert needed_bytes(1, 0, embedded=True) - needed_bytes(1, 0, embedded=False) == (64 + buffers) * MIB
