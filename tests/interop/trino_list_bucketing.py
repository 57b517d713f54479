"""Trino reads all rows of list-bucketed tables in the flat layout, and fails on directories of heavy values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients import list_bucketed
from tests.interop.trino_statements import Script

# Its generated code sorts the skewed locations by their keys, which are lists.
NOT_READ = "class java.util.ArrayList cannot be cast to class java.lang.Comparable"


def read(script: Script, client: Any, folder: Path) -> None:
    """Parquet and ORC."""
    list_bucketed.create(client, script.name.partition(".")[2], folder)
    everything = [tuple(row) for row in list_bucketed.ALL]
    for form in list_bucketed.FORMATS:
        script.ask(f"SELECT * FROM {{}}.flat_{form}", *everything)
        script.ask(f"SELECT s FROM {{}}.flat_{form} WHERE x = 1 AND ds = '1'", "a", "b")
        script.refuse(f"SELECT * FROM {{}}.directories_{form}", NOT_READ)
