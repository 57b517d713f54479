"""Which files and directories of a partition hold rows of its table, by their names. Pure.

These are the rules of the readers of Hive tables. VisibleWrites.java and FilesOutsideSkewDirectories.java apply the
same rules in Spark, to the names of each directory that Spark lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.domain.query_ids import holds_token, is_hidden

_COPYING = "._COPYING_"  # Hadoop's shell gives files this name while it copies them
_SKEW_PREFIX = "skew."


@dataclass(frozen=True, slots=True)
class VisibleWrites:
    """The writes that a reader sees. A file of another registered write is hidden.

    Attributes:
        token: the table's token in the ids of its writes. None: no write was ever registered.
        highest: the number of the latest write.
        open: numbers of writes that are not published.
    """

    token: str | None = None
    highest: int | None = None
    open: tuple[int, ...] = ()

    def hides(self, name: str) -> bool:
        """Returns whether a file of this name belongs to a write that is not published."""
        return is_hidden(name, self.token, self.highest, self.open)


EVERY_WRITE: Final = VisibleWrites()


def is_data_name(name: str) -> bool:
    """Returns whether a file or directory may hold rows. Names that begin with `_` or `.` are hidden, as in Hive."""
    return not name.startswith(("_", ".")) and not name.endswith(_COPYING)


def is_foreign(name: str, token: str | None) -> bool:
    """Returns whether a file may hold rows that no registered write of the table with this token has written."""
    return is_data_name(name) and not (token and holds_token(name, token))


def marks_newer_rows(names: Iterable[str]) -> bool:
    """Returns whether a directory was overwritten and its newer rows are elsewhere: it must not be read by path."""
    return any(name.startswith(NEWER_ROWS_MARKER) for name in names)


def visible_files(names: Iterable[str], writes: VisibleWrites, pruned: Sequence[str] = ()) -> list[str]:
    """Returns the names of the files of a directory that a scan reads, in ascending order.

    `pruned`: prefixes of names of files without a matching row (the flat layout of skewed tables).
    """
    skipped = tuple(pruned)
    return sorted(
        name for name in names if is_data_name(name) and not name.startswith(skipped) and not writes.hides(name)
    )


def is_unregistered_skew_directory(path: str, pruned: Collection[str]) -> bool:
    """Returns whether `column=value` or `column=value/column=value`, relative to a partition, may be a directory of a
    skewed value that the scan has to read, although the metastore does not know it.
    """
    name = path.rpartition("/")[2]
    if not is_data_name(name) or name.find("=") < 1 or name.endswith("="):
        return False
    return f"{_SKEW_PREFIX}{path.replace('/', ',')}=" not in pruned
