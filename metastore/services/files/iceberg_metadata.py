"""Metadata files of Iceberg tables that no commit has stored.

A client or server that dies between writing the file and the commit leaves one behind. After a restore of the database
to an older moment, the files of later commits are there, too.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any, Final

from metastore.encoding.gzipped import unpacked
from metastore.errors import InvalidInputError, MetastoreError
from metastore.services.rules.iceberg_commits import names_metadata
from metastore.services.rules.tables import is_view
from metastore.warehouse.filesystem import FileEntry, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Table

OUTSIDE: Final = "metadata file outside of the table's history"
NEWER: Final = "metadata file newer than the table"
_NAME: Final = re.compile(r"(\d{1,18})-[^/]*\.metadata\.json")
_AGE: Final = 3600.0  # seconds: no client waits as long between writing a file and its commit
_MOST: Final = 32 * 2**20  # bytes
_LOG, _FILE = "metadata-log", "metadata-file"


def outside_of_history(warehouse: Warehouse, table: Table) -> Iterator[tuple[FileEntry, str]]:
    """Yields the metadata files, and what they are, that are in neither the row nor the log of an Iceberg table.

    Files with lower numbers than those of the log are of older commits.
    """
    location = names_metadata(table)
    folder = (location or "").rpartition("/")[0]
    if location is None or is_view(table) or not _is_within(warehouse, folder):
        return
    present, now = _number(location), time.time()
    numbers = {text.rpartition("/")[2]: _number(text) for text in (location, *_logged(warehouse, location, folder))}
    oldest = min(numbers.values())
    for file in warehouse.children(folder)[0]:
        number = _number(file.location)
        is_old = file.modified is None or file.modified < now - _AGE
        if is_old and number >= oldest >= 0 and file.location.rpartition("/")[2] not in numbers:
            yield file, NEWER if number > present else OUTSIDE


def _is_within(warehouse: Warehouse, folder: str) -> bool:
    """Returns whether a directory is within the roots. Any text can be the location in a row."""
    try:
        return bool(warehouse.roots.within([folder]))
    except InvalidInputError:
        return False


def _number(location: str) -> int:
    """Returns the number of a metadata file; -1 for a file whose name has none."""
    match = _NAME.fullmatch(location.rpartition("/")[2])
    return int(match[1]) if match else -1


def _logged(warehouse: Warehouse, location: str, folder: str) -> list[str]:
    """Returns the files of this directory in the log of a metadata file; nothing if it cannot be read."""
    try:
        content = unpacked(warehouse.read_file(location, _MOST) or b"", _MOST)
        logged = json.loads(content, object_hook=_without_other_fields).get(_LOG) or ()
        files = [str(entry[_FILE]) for entry in logged]
    except (MetastoreError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return []
    return [file for file in files if file.rpartition("/")[0] == folder]


def _without_other_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Drops the decoded snapshots as they come: all of them would need ten times the memory of the text."""
    return {name: fields[name] for name in (_LOG, _FILE) if name in fields}
