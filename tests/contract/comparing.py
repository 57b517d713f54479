"""Finds where two recordings differ, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.contract.recording import Struct

WHOLE = "answer"  # the name of the field if answers differ as a whole


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between the real metastore's answer and ours."""

    step: str  # scenario/method: label
    field: str  # such as Table.sd.cols.0.comment; empty for the answer as a whole
    real: Any
    ours: Any

    def __str__(self) -> str:
        """Returns it in the format of `differences/`."""
        return f"    {self.step} | {self.field or WHOLE}\n        Hive: {self.real!r}\n        ours: {self.ours!r}\n"


def compare(scenario: str, real: dict[str, Any], ours: dict[str, Any]) -> list[Finding]:
    """Returns all differences of two recordings of one scenario."""
    actual = [
        Finding(f"{scenario}/{step}", field, one, other)
        for step in real
        if step in ours
        for field, one, other in _differences(real[step], ours[step], "")
    ]
    if list(real) != list(ours):
        actual.append(Finding(f"{scenario}/steps", "", list(real), list(ours)))
    return actual


def _differences(real: Any, ours: Any, at: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(real, Struct) and isinstance(ours, Struct) and real.name == ours.name:
        here = at if at and not at[-1].isdigit() else f"{at}.{real.name}".lstrip(".")
        for key in real:
            yield from _differences(real[key], ours[key], f"{here}.{key}")
    elif isinstance(real, dict) and isinstance(ours, dict) and ("raises" in real) == ("raises" in ours):
        for key in sorted({*real, *ours}, key=repr):
            yield from _differences(real.get(key), ours.get(key), f"{at}.{key}" if at else str(key))
    elif isinstance(real, list) and isinstance(ours, list) and real != ours and _same_but_for_order(real, ours):
        yield f"{at}.order".lstrip("."), real, ours
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours) and real:
        for position, (one, other) in enumerate(zip(real, ours, strict=True)):
            yield from _differences(one, other, f"{at}.{position}" if at else str(position))
    elif real != ours:
        yield at, real, ours


def _same_but_for_order(real: list[Any], ours: list[Any]) -> bool:
    return sorted(map(repr, real)) == sorted(map(repr, ours))
