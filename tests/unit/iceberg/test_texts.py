"""The texts of large metadata files that were read lately."""

from __future__ import annotations

import pytest

from metastore.iceberg.errors import RestError
from metastore.iceberg.texts import MetadataTexts

LOCATION = "file:/w/t/metadata/00000-a.metadata.json"


class Disk:
    """Files in memory. Counts how often they are read."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.reads = self.number = 0
        self.tells_versions = True
        self.replace_after_read = ""
        self.replace("a")

    def replace(self, letter: str, size: int = 2**17) -> None:
        self.files[LOCATION] = b'{"%b": "%b"}' % (letter.encode(), b"x" * size)
        self.number += 1

    def read_file(self, location: str, most: int) -> bytes | None:
        self.reads += 1
        content = self.files.get(location, b"")[:most] or None
        if self.replace_after_read:
            self.replace(self.replace_after_read)
            self.replace_after_read = ""
        return content

    def file_version(self, location: str) -> tuple[int, ...] | None:
        content = self.files.get(location)
        return (len(content), self.number) if content is not None and self.tells_versions else None


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def texts(disk: Disk) -> MetadataTexts:
    return MetadataTexts(disk)


def test_a_large_file_is_read_again_only_after_a_change(disk: Disk, texts: MetadataTexts) -> None:
    assert texts.read(LOCATION) == texts.read(LOCATION) == disk.files[LOCATION]
    assert disk.reads == 1
    disk.replace("b")
    assert texts.read(LOCATION) == disk.files[LOCATION]
    assert disk.reads == 2
    del disk.files[LOCATION]
    with pytest.raises(RestError, match="does not exist"):
        texts.read(LOCATION)


def test_a_change_just_after_the_read_is_noticed(disk: Disk, texts: MetadataTexts) -> None:
    old = disk.files[LOCATION]
    disk.replace_after_read = "b"
    assert texts.read(LOCATION) == old
    assert texts.read(LOCATION) == disk.files[LOCATION] != old


@pytest.mark.parametrize(("size", "tells_versions"), [(10, True), (2**17, False)])
def test_other_files_are_read_each_time(disk: Disk, texts: MetadataTexts, size: int, *, tells_versions: bool) -> None:
    """Small ones, and those in object stores, where a version costs a request, too."""
    disk.tells_versions = tells_versions
    disk.replace("a", size)
    for _ in range(2):
        assert texts.read(LOCATION) == disk.files[LOCATION]
    assert disk.reads == 2


def test_a_broken_file_is_not_kept(disk: Disk, texts: MetadataTexts) -> None:
    disk.files[LOCATION] = b"no JSON" * 2**14
    with pytest.raises(RestError, match="no metadata of Iceberg"):
        texts.read(LOCATION)
    disk.replace("a")
    assert texts.read(LOCATION) == disk.files[LOCATION]
