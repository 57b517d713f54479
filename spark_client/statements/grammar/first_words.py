"""The words with which the statements of this library begin: Spark's parser alone sees a text that begins otherwise."""

from __future__ import annotations

from typing import Final

# In scripts, too; DELETE and the like are looked at only where they stand alone.
IN_SCRIPTS: Final = ("ALTER", "CREATE", "DESC", "DESCRIBE", "DROP", "SHOW", "UNDROP")
# Each is a pattern.
FIRST_WORDS: Final = (
    *IN_SCRIPTS,
    "BEGIN",
    "DELETE",
    "LOAD",
    "MERGE",
    r"SET\s+GLOBAL",
    "SWITCH",
    "TRUNCATE",
    "UPDATE",
)
