"""Texts that PostgreSQL cannot store: those with a NUL character, which MySQL, Derby and Thrift allow."""

from __future__ import annotations

from typing import Any, Final

from metastore.storage.importing.imports import Finding

NUL: Final = "NUL character"
_NUL: Final = "\0"
_SYMBOL: Final = "\u2400"  # SYMBOL FOR NULL
_SHOWN: Final = 200  # characters of a text


def without_nul(text: str, replaced: list[str]) -> str:
    """Returns the text with U+2400 for each NUL character. A changed text is added to `replaced`."""
    if _NUL not in text:
        return text
    new = text.replace(_NUL, _SYMBOL)
    replaced.append(new)
    return new


def storable(value: Any, replaced: list[str]) -> Any:
    """Returns a Thrift struct, list, dict or text with all texts replaced as by `without_nul`. Structs are changed."""
    if isinstance(value, str):
        return without_nul(value, replaced)
    if isinstance(value, list):
        return [storable(one, replaced) for one in value]
    if isinstance(value, dict):
        return {storable(key, replaced): storable(one, replaced) for key, one in value.items()}
    if isinstance(value, tuple):
        items = [storable(one, replaced) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if hasattr(value, "thrift_spec"):
        for name in value.__slots__:
            setattr(value, name, storable(getattr(value, name), replaced))
    return value


def nul_findings(replaced: list[str]) -> list[Finding]:
    """Returns the findings of replaced texts, and empties the list."""
    detail = "a NUL character is replaced by U+2400: PostgreSQL cannot store it"
    findings = [Finding(NUL, text[:_SHOWN], detail) for text in replaced]
    replaced.clear()
    return findings
