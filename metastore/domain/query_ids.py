"""The names of registered writes: `<token of the table>-<number>`, which the names of all their files hold.

A token is `LENGTH` of `CHARACTERS`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
LENGTH: Final = 16  # 64 random bits at least: no name holds one by chance

_QUERY_ID: Final = re.compile(rf"[{CHARACTERS}]{{{LENGTH}}}-[0-9]+")


def is_registered_form(query_id: str) -> bool:
    """Tells whether only the metastore makes such ids: writers of earlier versions made others, and registered none."""
    return _QUERY_ID.fullmatch(query_id) is not None


def token_of(query_id: str) -> str | None:
    """Returns what all ids of one table begin with; None for ids that are not of the registered form."""
    return query_id.rpartition("-")[0] if is_registered_form(query_id) else None


def holds_token(name: str, token: str) -> bool:
    """Tells whether a file's name holds an id with this token."""
    return re.search(rf"(?<![{CHARACTERS}]){token}-[0-9]", name) is not None


def holds(name: str, query_id: str) -> bool:
    """Tells whether a file's name holds the id: `…-1` is not in `…-12`."""
    return re.search(rf"(?<![{CHARACTERS}]){re.escape(query_id)}(?![0-9])", name) is not None


def is_hidden(name: str, token: str | None, highest: int | None, open_writes: Collection[int]) -> bool:
    """Tells whether a file belongs to a write that is not published yet: its number is above `highest`, or that of an
    open one. No token: no write of this table was ever registered, and every file is visible.
    """
    found = re.search(rf"{re.escape(token)}-(\d+)", name) if token else None
    return found is not None and (int(found[1]) > (highest or 0) or int(found[1]) in open_writes)


def names_write(location: str, query_id: str) -> bool:
    """Tells whether a part of a location holds the id: whatever lies there, or below, is this write's."""
    return any(holds(part, query_id) for part in location.split("/"))
