"""Arrays of texts as texts: unnest would flatten an array of arrays, so these travel as literals."""

from __future__ import annotations

from collections.abc import Iterable


def array_literal(texts: Iterable[str | None]) -> str:
    """PostgreSQL's text form of a text[] (documentation, "Array Input and Output Syntax")."""
    return "{" + ",".join("NULL" if each is None else _quoted(each) for each in texts) + "}"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
