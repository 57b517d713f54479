"""Metadata files of Iceberg tables that no commit has stored.

A client or server that dies between writing the file and the commit leaves one behind. After a restore of the database
to an older moment, the files of later commits are there, too.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import time
from collections.abc import Iterator
from typing import Final

from metastore.errors import MetastoreError
from metastore.services.rules.iceberg_commits import names_metadata
from metastore.services.rules.tables import is_view
from metastore.warehouse.filesystem import FileEntry, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Table

OUTSIDE: Final = "metadata file outside of the table's history"
NEWER: Final = "metadata file newer than the table"
_NAME: Final = re.compile(r"(\d+)-[^/]*\.metadata\.json")
_AGE: Final = 3600.0  # seconds: no client waits as long between writing a file and its commit
_MOST: Final = 32 * 2**20  # bytes


def outside_of_history(warehouse: Warehouse, table: Table) -> Iterator[tuple[FileEntry, str]]:
    """Yields the metadata files, and what they are, that are in neither the row nor the log of an Iceberg table.

    Files with lower numbers than those of the log are of older commits.
    """
    location = names_metadata(table)
    if location is None or is_view(table) or not warehouse.roots.within([location]):
        return
    folder, present, now = location.rpartition("/")[0], _number(location), time.time()
    numbers = {text.rpartition("/")[2]: _number(text) for text in (location, *_logged(warehouse, location, folder))}
    oldest = min(numbers.values())
    for file in warehouse.children(folder)[0]:
        number = _number(file.location)
        is_old = file.modified is None or file.modified < now - _AGE
        if is_old and number >= oldest >= 0 and file.location.rpartition("/")[2] not in numbers:
            yield file, NEWER if number > present else OUTSIDE


def _number(location: str) -> int:
    """Returns the number of a metadata file; -1 for a file whose name has none."""
    match = _NAME.fullmatch(location.rpartition("/")[2])
    return int(match[1]) if match else -1


def _logged(warehouse: Warehouse, location: str, folder: str) -> list[str]:
    """Returns the files of this directory in the log of a metadata file; nothing if it cannot be read."""
    try:
        content = warehouse.read_file(location, _MOST) or b""
        if content.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = file.read(_MOST)
        files = [str(entry["metadata-file"]) for entry in json.loads(content).get("metadata-log") or ()]
    except (MetastoreError, OSError, EOFError, ValueError, LookupError, TypeError, AttributeError):
        return []
    return [file for file in files if file.rpartition("/")[0] == folder]
