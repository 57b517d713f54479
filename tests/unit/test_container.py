"""Directories of a container that are deleted with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.app.container import fate_of

MOUNTS = f"""
100 99 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A
101 100 8:1 /var/lib/docker/volumes/{"0123456789abcdef" * 4}/_data /anonymous rw,relatime - ext4 /dev/sda1 rw
102 100 8:1 /var/lib/docker/volumes/metastore/_data /named rw,relatime - ext4 /dev/sda1 rw
103 100 8:1 /srv/warehouse /bound rw,relatime - ext4 /dev/sda1 rw
104 100 8:1 /var/lib/kubelet/pods/6f/volumes/kubernetes.io~empty-dir/data /pod rw,relatime - ext4 /dev/sda1 rw
105 100 0:51 / /named/cache rw - tmpfs tmpfs rw
"""


@pytest.fixture
def container(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS.strip())
    (tmp_path / ".dockerenv").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("directory", "fate"),
    [
        ("/data", "part of the container"),
        ("/anonymous", "no name"),
        ("/anonymous/postgres", "no name"),
        ("/anonymous2", "part of the container"),
        ("/named/postgres", ""),
        ("/bound/db", ""),
        ("/pod", "emptyDir"),
    ],
)
def test_the_mount_decides(directory: str, fate: str, container: Path) -> None:
    actual = fate_of(Path(directory), container)
    assert fate in actual
    assert bool(fate) == bool(actual)


def test_outside_of_a_container_there_is_no_warning(container: Path) -> None:
    (container / ".dockerenv").unlink()
    assert fate_of(Path("/data"), container) == ""


def test_a_container_without_a_list_of_mounts(container: Path) -> None:
    (container / "proc/self/mountinfo").unlink()
    assert "part of the container" in fate_of(Path("/data"), container)
