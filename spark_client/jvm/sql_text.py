"""Names and constants as Spark SQL writes them. Pure."""

from __future__ import annotations

from metastore.domain.partition_names import DEFAULT_PARTITION


def quote(name: str) -> str:
    """Returns the name as an identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Returns the text as a constant of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def stored_literal(text: str) -> str:
    """Returns a partition's or skewed value, as the metastore has it, as a constant of Spark SQL."""
    return "NULL" if text == DEFAULT_PARTITION else literal(text)
