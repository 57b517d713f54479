"""What commands show: a table for people, plain lines for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

_LONGEST: Final = 4000  # characters of a cell, as of a location


def is_terminal() -> bool:
    """Tells whether a person reads what is printed."""
    return sys.stdout.isatty()


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
    """Prints a table on a terminal; elsewhere one line a row, its cells separated by tabs. Cells are bounded."""
    cells = [[printable(bounded(cell or "", _LONGEST)) for cell in row] for row in rows]
    if not is_terminal():
        for row in cells:
            print(*row, sep="\t")  # noqa: T201
        return
    from rich.console import Console  # a server is not to wait for these at its start
    from rich.table import Table
    from rich.text import Text

    grid = Table(*header, title=Text(title), title_justify="left", title_style="bold")
    for row in cells:
        grid.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(grid)


def bounded(text: str, longest: int) -> str:
    """Returns the text, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def printable(text: str) -> str:
    """Control characters, which names and values may hold, must not reach the terminal."""
    return "".join(name if name.isprintable() else name.encode("unicode_escape").decode() for name in text)
