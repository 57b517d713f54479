"""Names and constants as Spark SQL writes them. Pure."""

from __future__ import annotations


def quote(name: str) -> str:
    """Returns the name as an identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Returns the text as a constant of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
