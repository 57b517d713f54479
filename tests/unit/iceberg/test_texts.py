"""The texts of metadata files that were read lately."""

from __future__ import annotations

import pytest

from metastore.iceberg.errors import RestError
from metastore.iceberg.texts import MetadataTexts

LOCATION = "file:/w/t/metadata/00000-a.metadata.json"


class Disk:
    """Counts the reads of files in memory."""

    def __init__(self) -> None:
        self.files = {LOCATION: b'{"a": 1}'}
        self.reads = 0
        self.now = 0.0

    def read(self, location: str, most: int) -> bytes | None:
        self.reads += 1
        return self.files.get(location, b"")[:most] or None


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def texts(disk: Disk) -> MetadataTexts:
    return MetadataTexts(disk.read, lambda: disk.now)


def test_a_file_is_read_once_a_minute(disk: Disk, texts: MetadataTexts) -> None:
    assert [texts.read(LOCATION), texts.read(LOCATION)] == [b'{"a": 1}'] * 2
    assert disk.reads == 1
    disk.files[LOCATION] = b'{"a": 2}'
    disk.now = 59.0
    assert texts.read(LOCATION) == b'{"a": 1}'
    disk.now = 61.0
    assert texts.read(LOCATION) == b'{"a": 2}'


def test_a_registration_reads_the_file_anew(disk: Disk, texts: MetadataTexts) -> None:
    texts.read(LOCATION)
    disk.files[LOCATION] = b'{"a": 2}'
    assert texts.read_anew(LOCATION) == b'{"a": 2}'
    assert texts.read(LOCATION) == b'{"a": 2}'


def test_a_written_file_is_not_read(disk: Disk, texts: MetadataTexts) -> None:
    texts.note(LOCATION, b"{}")
    assert texts.read(LOCATION) == b"{}"
    assert disk.reads == 0


def test_neither_a_missing_nor_a_broken_file_is_kept(disk: Disk, texts: MetadataTexts) -> None:
    disk.files = {}
    with pytest.raises(RestError, match="does not exist"):
        texts.read(LOCATION)
    disk.files[LOCATION] = b"no JSON"
    with pytest.raises(RestError, match="no metadata of Iceberg"):
        texts.read(LOCATION)
    disk.files[LOCATION] = b"{}"
    assert texts.read(LOCATION) == b"{}"
