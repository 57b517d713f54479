"""Prints results: a table on a terminal, tab-separated lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

_LONGEST: Final = 4000  # characters of a cell


def is_terminal() -> bool:
    """Returns True if standard output is a terminal."""
    return sys.stdout.isatty()


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
    """Prints a table on a terminal. Elsewhere, prints one line per row, without the header, with tabs between cells.

    Cells are cut to 4000 characters.
    """
    cells = [[printable(bounded(cell or "", _LONGEST)) for cell in row] for row in rows]
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


def bounded(text: str, longest: int) -> str:
    """Returns the text. A text of more than `longest` characters is cut, and its length is appended."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def printable(text: str) -> str:
    """Escapes control characters: names and values can contain them, and a terminal would execute them."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
