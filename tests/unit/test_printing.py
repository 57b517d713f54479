"""Output of commands that contains text from clients."""

from __future__ import annotations

import pytest

from metastore.cli.locks import _row
from metastore.cli.printing import print_table
from thrift_idl.gen.hive_metastore.ttypes import LockState, LockType, ShowLocksResponseElement

MEGABYTE = "x" * 2**20


def test_cells_are_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ("a", "b"), [("short\n", MEGABYTE)])
    said = capsys.readouterr().out
    assert said == f"short\\n\t{'x' * 4000}… (1048576 characters)\n"


def test_a_lock_holder_prints_one_line() -> None:
    lock = ShowLocksResponseElement(
        lockid=1,
        dbname="db",
        state=LockState.ACQUIRED,
        type=LockType.SHARED_READ,
        user=MEGABYTE,
        hostname=MEGABYTE,
        agentInfo=MEGABYTE,
    )
    assert sum(map(len, _row(lock))) < 1000
