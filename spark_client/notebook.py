"""HTML tables for notebooks, which show the last value of a cell. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns an HTML table. Numbers are aligned to the right, with separators between thousands."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    caption = f'<caption style="caption-side: top; text-align: left">{escape(caption)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td style="text-align: right">{value:,}</td>'
    return f'<td style="text-align: left">{escape(str(value))}</td>'


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
