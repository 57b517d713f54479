"""The users that have metrics of their own: a table of names in shared memory, the same for all workers."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OTHER: Final = "other"
"""The label of all users that are not counted separately."""
LARGEST: Final = 200
"""Maximum number of users that are counted separately."""
_NAME: Final = struct.Struct("=H126s")  # length and UTF-8 bytes
_COUNT: Final = struct.Struct("=I")


class UserNames:
    """The first `limit` users that make a call. All others are counted together, as OTHER.

    The number of labels stays bounded, regardless of the names that clients send. Create it before the workers are
    forked."""

    def __init__(self, limit: int) -> None:
        """`limit`: the number of users that are counted separately, at most LARGEST. 0: none."""
        self.limit = limit
        self._memory = mmap.mmap(-1, _COUNT.size + max(1, limit) * _NAME.size)
        # The kernel releases the lock of a process that dies. It does not exclude the threads of one process.
        self._file = os.memfd_create("user names")
        self._threads = threading.Lock()
        self._known: dict[str, int] = {}

    def index(self, user: str) -> int:
        """Returns the index of a user from 1 to `limit`, or 0 for OTHER. Adds a new user if there is room."""
        if not self.limit or not user:
            return 0
        name = _shortened(user)
        if name in self._known:
            return self._known[name]
        if self._count() == self.limit == len(self._known):
            return 0
        with self._locked():
            self._known = {known: number for number, known in enumerate(self.names(), 1)}
            if name not in self._known and len(self._known) < self.limit:
                self._append(name)
            return self._known.get(name, 0)

    def names(self) -> list[str]:
        """Returns the names of the users, in the order of their indexes from 1."""
        starts = range(_COUNT.size, _COUNT.size + self._count() * _NAME.size, _NAME.size)
        entries = (_NAME.unpack_from(self._memory, start) for start in starts)
        return [text[:length].decode() for length, text in entries]

    def _append(self, name: str) -> None:
        count, text = len(self._known), name.encode()
        _NAME.pack_into(self._memory, _COUNT.size + count * _NAME.size, len(text), text)
        _COUNT.pack_into(self._memory, 0, count + 1)  # last: readers take no lock
        self._known[name] = count + 1

    def _count(self) -> int:
        return int(_COUNT.unpack_from(self._memory)[0])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._threads:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)


def _shortened(user: str) -> str:
    """Returns the longest beginning of the name that fits into the table."""
    return user.encode(errors="replace")[:126].decode(errors="ignore")
