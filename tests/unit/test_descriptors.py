"""Waiting for descriptors beyond those that `select.select` accepts."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from metastore.descriptors import readable, writable

HIGH = 1500  # select.select() accepts 0 to 1,023


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * HIGH)), hard))
    ends = os.pipe()
    reader, writer = (fcntl.fcntl(end, fcntl.F_DUPFD, HIGH) for end in ends)
    yield reader, writer
    for end in (*ends, reader, writer):
        os.close(end)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_high_descriptors(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    assert readable([reader], 0) == set()
    assert writable([writer], 0) == {writer}
    os.write(writer, b"x")
    assert readable([reader, writer], 10) == {reader}
