"""Lines of figures over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any, Final

from metastore.web.console.rendering import count, moment, size

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 450, 170, 70, 10, 26
_FORMATS: Final = {"bytes": size, "count": count}
_TICKS: Final = 4
_STEPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1024)


def line_chart(points: Sequence[Mapping[str, Any]], name: str, unit: str) -> dict[str, Any] | None:
    """Returns a chart of one figure; None if fewer than two points have it. The vertical axis begins at zero."""
    known = [(float(point["at"]), float(point[name])) for point in points if point[name] is not None]
    if len(known) < 2 or known[0][0] == known[-1][0]:
        return None
    first, last = known[0][0], known[-1][0]
    step = _step(max(value for _, value in known) or 1, unit)
    top = step * _TICKS

    def x(at: float) -> float:
        return round(_LEFT + (at - first) / (last - first) * (_WIDTH - _LEFT - 12), 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM), 1)

    path = " L".join(f"{x(at)} {y(value)}" for at, value in known)
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "line": f"M{path}",
        "area": f"M{x(first)} {y(0)} L{path} L{x(last)} {y(0)} Z",
        "ticks": [{"y": y(step * tick), "text": _FORMATS[unit](step * tick)} for tick in range(_TICKS + 1)],
        "from": moment(first)[:10],
        "to": moment(last)[:10],
        "end": {"x": x(last), "y": y(known[-1][1])},
    }


def _step(highest: float, unit: str) -> float:
    """Returns a round distance between ticks, so that the highest value is below the last tick."""
    least = highest / _TICKS
    base = 1024.0 if unit == "bytes" else 10.0
    if unit == "bytes":
        scale = 1.0
        while scale * base <= least:
            scale *= base
        return next(scale * step for step in _STEPS if scale * step >= least)
    scale = 10.0 ** floor(log10(least)) if least > 0 else 1.0
    return max(1.0, next(scale * step for step in (1, 2, 5, 10) if scale * step >= least))
