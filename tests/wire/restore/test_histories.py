"""Backups, changes, restores and undrops in random orders: each table shows the files of its moment, and none is lost.

`METASTORE_TEST_HISTORIES=200` runs more orders than the few of `make test`; `METASTORE_TEST_HISTORY_SEED=7` begins
with that one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.wire.restore.histories import History

pytestmark = pytest.mark.slow
ORDERS = int(os.environ.get("METASTORE_TEST_HISTORIES", "4"))
FIRST = int(os.environ.get("METASTORE_TEST_HISTORY_SEED", "0"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + ORDERS))
def test_a_history(make_database: Callable[..., str], postgres_url: str, seed: int) -> None:
    with TemporaryDirectory() as folder:
        history = History(make_database, postgres_url, Path(folder), seed)
        try:
            history.run(steps=25)
        except BaseException as error:
            error.add_note(f"steps: {', '.join(history.steps)}")
            raise
        finally:
            history.catalog.close()
