"""Layers of boxes with arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_BOX_WIDTH, _BOX_HEIGHT, _COLUMN, _ROW, _MARGIN = 200, 44, 260, 60, 10
_LONGEST: Final = 26  # characters of a label
_MOST: Final = 300  # boxes


def layered_graph(nodes: Mapping[str, Mapping[str, Any]], edges: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """Returns boxes and arrows, or None for more boxes than can be read. Arrows lead to the right, except in circles.

    `nodes`: by name, with `label`, `note`, `state` (a CSS class) and `href`.
    """
    if len(nodes) > _MOST:
        return None
    arrows = sorted({(source, target) for source, target in edges if source in nodes and target in nodes})
    placed: dict[str, tuple[int, int]] = {}
    for column, names in enumerate(_layers(list(nodes), arrows)):
        for row, name in enumerate(names):
            placed[name] = (_MARGIN + column * _COLUMN, _MARGIN + row * _ROW)
    return {
        "boxes": [{"x": x, "y": y, **_box(nodes[name])} for name, (x, y) in placed.items()],
        "paths": [_path(placed[source], placed[target]) for source, target in arrows],
        "width": max((x for x, _ in placed.values()), default=0) + _BOX_WIDTH + _MARGIN,
        "height": max((y for _, y in placed.values()), default=0) + _BOX_HEIGHT + _MARGIN,
        "box_width": _BOX_WIDTH,
        "box_height": _BOX_HEIGHT,
    }


def _box(node: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": _shortened(str(node["label"])),
        "title": node["label"],
        "note": _shortened(str(node.get("note", ""))),
        "state": node.get("state", ""),
        "href": node.get("href", ""),
    }


def _layers(names: Sequence[str], arrows: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Returns the names by their longest distance from a name without predecessors."""
    depth = dict.fromkeys(names, 0)
    for _ in names:  # as often as the longest path without a circle
        changed = False
        for source, target in arrows:
            if depth[target] < depth[source] + 1 <= len(names):
                depth[target] = depth[source] + 1
                changed = True
        if not changed:
            break
    used = sorted(set(depth.values()))
    return [[name for name in names if depth[name] == layer] for layer in used]


def _path(source: tuple[int, int], target: tuple[int, int]) -> str:
    x1, y1 = source[0] + _BOX_WIDTH, source[1] + _BOX_HEIGHT // 2
    x2, y2 = target[0] - 4, target[1] + _BOX_HEIGHT // 2
    bend = max(20, (x2 - x1) // 2)
    return f"M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
