"""The first words of this library's statements. Other texts go to Spark's parser without a call to Python."""

from __future__ import annotations

from typing import Final

# First words that are also recognized inside scripts. DELETE and other writes are recognized only outside.
IN_SCRIPTS: Final = (
    "ADVISE",
    "ALTER",
    "CREATE",
    "DESC",
    "DESCRIBE",
    "DISCOVER",
    "DROP",
    "EXPIRE",
    "MSCK",
    "SHOW",
    "UNDROP",
)
# Regular expressions.
FIRST_WORDS: Final = (
    *IN_SCRIPTS,
    "BEGIN",
    "DELETE",
    "LOAD",
    "MERGE",
    "OPTIMIZE",
    r"SET\s+GLOBAL",
    r"SET\s+hive\.create-empty-bucket-files",
    "SWITCH",
    "TRUNCATE",
    "UPDATE",
)
