"""Traces the calls of a server that runs in this process. It knows nothing of the server but its threads' names and the
folders of its files, so that revisions with other names can be compared: copy this file into their checkouts."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from psycopg2.extensions import cursor as PostgresCursor  # type: ignore[import-untyped] # noqa: N812 - it is a class

PACKAGE: Final = f"{Path(__file__).parents[2]}/metastore/"
_SERVING: Final = ("call", "passwords")  # names of the threads that execute calls and check passwords
_EXECUTING: Final = ("execute", "copy_expert")
_AFTER: Final = 0.5  # seconds for a thread to finish its work for a call whose reply has been read
_DIVIDED: Final = ("services", "storage")  # packages whose folders and modules are components of their own


class Crossing(NamedTuple):
    """A call from a function of one file to a function of another."""

    caller: str
    called: str
    function: str


class Lines(NamedTuple):
    """Lines of the visited files of a component: executed ones, and all of them."""

    executed: int
    total: int


class Tracer:
    """Counts the calls between the project's files, and their executed lines, in the threads that serve."""

    def __init__(self) -> None:
        self.crossings: Counter[Crossing] = Counter()
        self.executed: set[tuple[str, int]] = set()  # file, line
        self.statements = 0
        self._recording = False
        self._stacks = threading.local()
        self._names: dict[str, str | None] = {}

    def install(self) -> None:
        """Traces all threads that start from now on."""
        threading.setprofile(self._on_event)
        threading.settrace(self._on_frame)

    def record(self, call: Callable[[], Any]) -> None:
        """Makes the call. Resets the counts, and counts the function calls of the serving threads meanwhile."""
        self.crossings.clear()
        self.executed.clear()
        self.statements = 0
        self._recording = True
        try:
            call()
            time.sleep(_AFTER)
        finally:
            self._recording = False

    @property
    def files(self) -> set[str]:
        """The files that ran."""
        return {file for file, _ in self.executed}

    def between_components(self) -> int:
        """Returns the number of calls between two components."""
        return sum(count for each, count in self.crossings.items() if component(each.caller) != component(each.called))

    def lines(self) -> dict[str, Lines]:
        """Returns the lines of the visited files by component."""
        files = defaultdict(set)
        for file in self.files:
            files[component(file)].add(file)
        executed = Counter(component(file) for file, _ in self.executed)
        return {name: Lines(executed[name], sum(map(_length, visited))) for name, visited in sorted(files.items())}

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if threading.current_thread().name not in _SERVING:
            sys.setprofile(None)
            return
        if event == "c_call":
            if self._recording and getattr(argument, "__name__", "") in _EXECUTING:
                self.statements += isinstance(getattr(argument, "__self__", None), PostgresCursor)
            return
        name = self._file(frame.f_code.co_filename) if event in ("call", "return") else None
        if name is None:
            return
        stack = self._stacks.__dict__.setdefault("stack", [])
        if event == "call":
            if self._recording and stack and stack[-1] != name:
                self.crossings[Crossing(stack[-1], name, frame.f_code.co_name)] += 1
            stack.append(name)
        elif stack:
            stack.pop()

    def _on_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Notes a line. Frames of other files are not traced."""
        if threading.current_thread().name not in _SERVING:
            sys.settrace(None)
            return None
        name = self._file(frame.f_code.co_filename)
        if name is None:
            return None
        if self._recording:
            self.executed.add((name, frame.f_lineno))
        return self._on_frame

    def _file(self, path: str) -> str | None:
        """Returns the path of a file below the package; None for other files."""
        if path not in self._names:
            self._names[path] = path.removeprefix(PACKAGE) if path.startswith(PACKAGE) else None
        return self._names[path]


def component(file: str) -> str:
    """Returns the component of a file: its first folder or, of a divided package, the folder or module in it."""
    parts = file.removesuffix(".py").split("/")
    return "/".join(parts[: 2 if parts[0] in _DIVIDED else 1])


def _length(file: str) -> int:
    return len(Path(PACKAGE, file).read_text().splitlines())
