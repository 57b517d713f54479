"""Query ids of registered writes: `<token of the table>-<number>`. The names of all files of a write contain its id.

A token has `LENGTH` characters out of `CHARACTERS`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
MARK: Final = "spark_query_id"
"""The parameter of a table or partition that names the last write of our client library to it."""
LENGTH: Final = 16  # at least 64 random bits: no other name contains a token by chance

_QUERY_ID: Final = re.compile(rf"[{CHARACTERS}]{{{LENGTH}}}-[0-9]+")


def is_registered_form(query_id: str) -> bool:
    """Returns whether the metastore issued the id. Unregistered writers use other forms."""
    return _QUERY_ID.fullmatch(query_id) is not None


def token_of(query_id: str) -> str | None:
    """Returns the token of the table in an id, or None for ids that the metastore has not issued."""
    return query_id.rpartition("-")[0] if is_registered_form(query_id) else None


def holds_token(name: str, token: str) -> bool:
    """Returns whether a file name contains an id with this token."""
    return re.search(rf"(?<![{CHARACTERS}]){token}-[0-9]", name) is not None


def holds(name: str, query_id: str) -> bool:
    """Returns whether a file name contains the id. `…-12` does not contain `…-1`."""
    return re.search(rf"(?<![{CHARACTERS}]){re.escape(query_id)}(?![0-9])", name) is not None


def is_hidden(name: str, token: str | None, highest: int | None, open_writes: Collection[int]) -> bool:
    """Returns whether a file belongs to an unpublished write.

    The number of such a write is greater than `highest` or is in `open_writes`. Without a token, the table has never
    had a registered write, and every file is visible. Longer numbers than a write can have are ordinary text.
    VisibleWrites.java applies the same rule in Spark.
    """
    if token is None or token not in name:
        return False
    numbers = [int(digits) for digits in re.findall(rf"{re.escape(token)}-(\d{{1,18}})(?!\d)", name, re.ASCII)]
    return any(number > (highest or 0) or number in open_writes for number in numbers)


def ids_in(name: str) -> list[str]:
    """Returns the ids of registered writes in a file name."""
    return re.findall(rf"(?<![{CHARACTERS}]){_QUERY_ID.pattern}(?![0-9])", name)


def renamed_away(query_id: str, renames: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the renames, (source, target), of paths of others to paths of a write: what it replaces in place."""
    return [
        (source, target)
        for source, target in renames
        if names_write(target, query_id) and not names_write(source, query_id)
    ]


def names_write(location: str, query_id: str) -> bool:
    """Returns whether a component of a location contains the id. Everything below belongs to the write."""
    return any(holds(part, query_id) for part in location.split("/"))
