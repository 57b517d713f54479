"""Parameters and key values of a source, which a query returns as one JSON text for each object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Pairs = dict[str, str | None]
Texts = list[str | None]
_POSITIONS: Final = [str(number) for number in range(100)]


def same(text: str) -> str:
    return text


def as_map(pairs: Pairs | None, value: Callable[[str], str], key: Callable[[str], str]) -> dict[str, str]:
    """Returns the entries of a JSON object of `maps` without nulls: Hive leaves those out."""
    if not pairs:
        return {}
    if value is key is same and None not in pairs.values():
        return pairs  # type: ignore[return-value] # none is None
    return {key(name): value(text) for name, text in sorted(pairs.items()) if text is not None}


def as_list(pairs: Pairs | Texts | None, value: Callable[[str], str]) -> list[str]:
    """Returns the values of `key_values`: a JSON list, or an object whose keys are positions."""
    if not pairs:
        return []
    if isinstance(pairs, list):
        if value is same and None not in pairs:
            return pairs  # type: ignore[return-value] # none is None
        return [value(text or "") for text in pairs]
    ordered = list(pairs) == _POSITIONS[: len(pairs)]
    values = list(pairs.values()) if ordered else [pairs[key] for key in sorted(pairs, key=int)]
    if value is same and None not in values:
        return values  # type: ignore[return-value] # none is None
    return [value(text or "") for text in values]
