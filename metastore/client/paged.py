"""Long lists in bounded memory: compressed pages, in a temporary file if they are large."""

from __future__ import annotations

import json
import tempfile
import weakref
import zlib
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from threading import Lock
from typing import IO, Any, Final, Generic, TypeVar, overload

T = TypeVar("T")
PAGE: Final = 1_000  # items of the pages that this process makes
_CACHED: Final = 4  # decoded pages
_IN_MEMORY: Final = 8 * 2**20  # bytes; more are in a file
_FAST: Final = 1  # compression level
_PLAIN: Final = 50_000  # items, of about 300 bytes; a list that is not longer is not encoded


class Pages:
    """Pages by number. Many of them are in a file without a name, in the directory for temporary files."""

    def __init__(self, pages: Iterable[bytes] = ()) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self._file.close)
        self._ends = array("q", [0])
        self._lock = Lock()
        for page in pages:
            self.add(page)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, page: bytes) -> None:
        """Appends a page."""
        with self._lock:
            self._file.seek(self._ends[-1])
            self._file.write(page)
            self._ends.append(self._ends[-1] + len(page))

    def __getitem__(self, number: int) -> bytes:
        with self._lock:
            self._file.seek(self._ends[number])
            return self._file.read(self._ends[number + 1] - self._ends[number])

    def __reduce__(self) -> tuple[Any, ...]:
        return Pages, ([self[number] for number in range(len(self))],)


class Paged(Sequence[T], Generic[T]):
    """A list whose items are decoded when they are read. At most a few decoded pages are in memory."""

    def __init__(
        self, pages: Pages, counts: Sequence[int], decode: Callable[[bytes], list[T]], chosen: range | None = None
    ) -> None:
        """
        Args:
            counts: the number of items of each page.
            decode: returns the items of a page. Pickled with the list.
            chosen: the positions of the items that belong to the list. None: all.
        """
        self._pages, self._counts, self._decode = pages, counts, decode
        self._starts = array("q", [0])
        for count in counts:
            self._starts.append(self._starts[-1] + count)
        self._chosen = range(self._starts[-1]) if chosen is None else chosen
        self._cache: OrderedDict[int, list[T]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        positions = self._chosen[index]
        if isinstance(positions, range):
            return Paged(self._pages, self._counts, self._decode, positions)
        number = bisect_right(self._starts, positions) - 1
        return self._page(number)[positions - self._starts[number]]

    def __iter__(self) -> Iterator[T]:
        number, items = -1, list[T]()
        for position in self._chosen:
            if not items or not self._starts[number] <= position < self._starts[number + 1]:
                number = bisect_right(self._starts, position) - 1
                items = self._page(number)
            yield items[position - self._starts[number]]

    def __reduce__(self) -> tuple[Any, ...]:
        return Paged, (self._pages, self._counts, self._decode, self._chosen)

    def _page(self, number: int) -> list[T]:
        with self._lock:  # otherwise, several threads would decode the same page
            items = self._cache.pop(number, None)
            if items is None:
                items = self._decode(self._pages[number])
                while len(self._cache) >= _CACHED:
                    self._cache.popitem(last=False)
            self._cache[number] = items
            return items


def paged(items: Iterable[T], decode: Callable[[bytes], list[T]]) -> Sequence[T]:
    """Returns tuples of texts and numbers as a list in bounded memory. A short one is not encoded.

    `decode`: returns the items of a page, by `rows`.
    """
    remaining = iter(items)
    first = list(islice(remaining, _PLAIN))
    if (following := next(remaining, None)) is None:
        return first
    pages, counts = Pages(), array("q")
    everything = chain(first, (following,), remaining)
    del first
    while page := list(islice(everything, PAGE)):
        pages.add(_encoded(page))
        counts.append(len(page))
    return Paged(pages, counts, decode)


def rows(page: bytes) -> list[list[Any]]:
    """Returns the tuples of a page that `paged` has made, as lists."""
    decoded: list[list[Any]] = json.loads(zlib.decompress(page))
    return decoded


def _encoded(items: Sequence[Any]) -> bytes:
    return zlib.compress(json.dumps(items).encode(), _FAST)
