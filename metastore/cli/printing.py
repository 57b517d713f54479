"""Prints results: a table on a terminal, tab-separated lines elsewhere, and one JSON document with `--format json`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_LONGEST: Final = 4000  # characters of a cell
_COLLECTED: Final[ContextVar[dict[str, Any] | None]] = ContextVar("collected", default=None)

Cell = str | int | float | bool | None


def is_terminal() -> bool:
    """Returns True if a person reads standard output: it is a terminal, and the output is not a JSON document."""
    return sys.stdout.isatty() and not is_json()


def is_json() -> bool:
    """Returns True if the output is a JSON document."""
    return _COLLECTED.get() is not None


@contextmanager
def json_document(names: Sequence[str]) -> Iterator[None]:
    """Collects what is printed in the block, and prints it as one JSON document at its end, unless an error is raised.

    `names`: the names of the tables, which become the keys of an object; empty if the only table is the document.
    """
    collected: dict[str, Any] = {name: [] for name in names}
    token = _COLLECTED.set(collected)
    try:
        yield
    finally:
        _COLLECTED.reset(token)
    if collected:
        document = collected if names else next(iter(collected.values()))
        print(json.dumps(document, indent=2, ensure_ascii=False))  # noqa: T201


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]], name: str | None = None) -> None:
    """Prints a table on a terminal. Elsewhere, prints one line per row, without the header, with tabs between cells.

    Cells are cut to 4000 characters. A JSON document has an object for each row, with whole texts; `name`: its key in
    a document of several tables, by default the title.
    """
    if _collect(name or title, [dict(zip(map(json_key, header), row, strict=True)) for row in rows]):
        return
    cells = [[printable(bounded(_text(cell), _LONGEST)) for cell in row] for row in rows]
    if not is_terminal():
        for row in cells:
            print(*row, sep="\t")  # noqa: T201
        return
    from rich.console import Console  # imported here: the server imports this module, and rich would delay its start
    from rich.table import Table
    from rich.text import Text

    grid = Table(*header, title=Text(title), title_justify="left", title_style="bold")
    for row in cells:
        grid.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(grid)


def print_properties(title: str, properties: Iterable[tuple[str, Cell]], name: str | None = None) -> None:
    """Prints a table of two columns, in a JSON document one object."""
    pairs = list(properties)
    if not _collect(name or title, dict(pairs)):
        print_table(title, ("property", "value"), pairs)


def print_text(text: str, name: str) -> None:
    """Prints a line, in a JSON document the value of a key."""
    if not _collect(name, text):
        print(printable(text), flush=True)  # noqa: T201


def print_lines(header: Sequence[str], rows: Iterable[Sequence[Cell]], line: Callable[..., str]) -> None:
    """Prints a line for each row as soon as it is known, in a JSON document an object. `line` receives the cells."""
    if is_json():
        print_table("", header, list(rows))
        return
    for row in rows:
        print(printable(line(*row)), flush=True)  # noqa: T201


def _collect(title: str, value: Any) -> bool:
    """Adds a value to the JSON document. Returns False if the output is none."""
    collected = _COLLECTED.get()
    if collected is None:
        return False
    key = json_key(title)
    collected[key] = [*collected[key], *value] if isinstance(value, list) and key in collected else value
    return True


def json_key(text: str) -> str:
    """Returns the key of a JSON object for the header of a column, without its unit in parentheses."""
    return "_".join(re.findall(r"\w+", re.sub(r"\(.*?\)", "", text).lower()))


def _text(cell: Cell) -> str:
    return "" if cell is None else str(cell)


def bounded(text: str, longest: int) -> str:
    """Returns the text. A text of more than `longest` characters is cut, and its length is appended."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def printable(text: str) -> str:
    """Escapes control characters: names and values can contain them, and a terminal would execute them."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
