"""Arrow's threads for input and output, of which a read of a dataset occupies one while it waits for others.

Arrow runs the generator of a dataset's batches on one of them. The generator reads files with Arrow, which needs such
threads, too: as many reads at once as there are threads would wait for each other for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

import pyarrow as pa

_LOCK: Final = Lock()


@contextmanager
def one_more_io_thread() -> Iterator[None]:
    """Gives Arrow one more thread for input and output, in exchange for the one on which the caller may be running."""
    _add(1)
    try:
        yield
    finally:
        _add(-1)


def _add(count: int) -> None:
    with _LOCK:
        pa.set_io_thread_count(pa.io_thread_count() + count)
