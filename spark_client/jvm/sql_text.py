"""Writes names and constants as Spark SQL. Pure."""

from __future__ import annotations

from metastore.domain.partition_names import DEFAULT_PARTITION


def quote(name: str) -> str:
    """Returns a name as a quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Returns a text as a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def exact_literal(text: str) -> str:
    """Returns a text as SQL that no setting changes: one changes the meaning of backslashes in literals."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def stored_literal(text: str) -> str:
    """Returns a partition or skewed value, as the metastore stores it, as a literal."""
    return "NULL" if text == DEFAULT_PARTITION else literal(text)
