"""The file that says, where others read by path, that the newest rows lie elsewhere."""

from __future__ import annotations

from typing import Final

NEWER_ROWS_MARKER: Final = "_newer_rows_are_in__versions=see_write.mode="
"""How its name begins; the id of the write follows. Spark reads such a file, and fails; other engines overlook it."""
