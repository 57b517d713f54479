"""A marker file for engines that read a location by path, without the metastore."""

from __future__ import annotations

from typing import Final

NEWER_ROWS_MARKER: Final = "_newer_rows_are_in__versions=see_write.mode="
"""Prefix of the marker's name, before the id of the write that moved the newest rows elsewhere.

Spark reads the file and fails; other engines skip names that start with an underscore.
"""
