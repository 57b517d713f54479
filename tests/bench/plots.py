"""Two plots of `make bench`'s results: `python -m tests.bench.plots docs` draws them again from docs/bench.json."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

COLOURS = {"ours": "#1b7f79", "theirs": "#d1603d"}
LABELS = {"ours": "ours", "theirs": "Hive 2.3.10"}
COLUMNS = 4

Operation = Mapping[str, Any]  # a Row as JSON


def draw(folder: Path) -> None:
    """Writes throughput.png and growth.png beside bench.json."""
    operations = json.loads((folder / "bench.json").read_text())["operations"]
    throughput(operations, folder / "throughput.png")
    growth(operations, folder / "growth.png")


def throughput(operations: Sequence[Operation], path: Path) -> None:
    """Draws the rates of both servers at the smallest size as bars, with our rate as a multiple of Hive's."""
    size = min(operation["partitions"] for operation in operations)
    shown = [operation for operation in operations if operation["partitions"] == size]
    figure, axes = pyplot.subplots(figsize=(9, 0.45 * len(shown) + 1.2))
    for offset, side in ((-0.2, "ours"), (0.2, "theirs")):
        rates = [_rate(mapping, side) or 0 for mapping in shown]
        axes.barh([index + offset for index in range(len(shown))], rates, 0.4, color=COLOURS[side], label=LABELS[side])
    for index, mapping in enumerate(shown):
        ours, theirs = _rate(mapping, "ours"), _rate(mapping, "theirs")
        if ours and theirs:
            axes.text(max(ours, theirs) * 1.15, index, f"{ours / theirs:.1f} ×", va="center", fontsize=8)
    axes.set(xscale="log", yticks=range(len(shown)), yticklabels=[mapping["operation"] for mapping in shown])
    axes.set_xlabel(f"calls (written partitions) a second, {size:,} partitions")
    axes.spines[["top", "right"]].set_visible(False)
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    _save(figure, path)


def growth(operations: Sequence[Operation], path: Path) -> None:
    """Draws one small plot for each operation: ms of a call (p50) by the number of partitions, ours and Hive's."""
    names = list(dict.fromkeys(operation["operation"] for operation in operations))
    sizes = sorted({operation["partitions"] for operation in operations})
    rows = math.ceil(len(names) / COLUMNS)
    figure, grid = pyplot.subplots(rows, COLUMNS, figsize=(11, 2.2 * rows), sharex=True, squeeze=False)
    for axes, name in zip(grid.flat, names, strict=False):
        _panel(axes, name, [operation for operation in operations if operation["operation"] == name], sizes)
    for axes in list(grid.flat)[len(names) :]:
        axes.set_visible(False)
    handles = [pyplot.Line2D([], [], color=COLOURS[side], marker="o", label=LABELS[side]) for side in COLOURS]
    figure.legend(handles=handles, loc="upper right", ncols=2, frameon=False)
    figure.suptitle("ms a call (p50), by partitions of the table", x=0.01, ha="left", fontsize=11)
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    _save(figure, path)


def _panel(axes: Axes, name: str, operations: Iterable[Operation], sizes: Sequence[int]) -> None:
    highest = lowest = None
    for side, colour in COLOURS.items():
        points = [
            (operation["partitions"], operation["timings"][side]["p50"])
            for operation in operations
            if side in operation["timings"]
        ]
        axes.plot(*zip(*points, strict=True) if points else ([], []), "-o", color=colour, markersize=4)
        for size, milliseconds in points:
            axes.annotate(
                _short(milliseconds),
                (size, milliseconds),
                textcoords="offset points",
                xytext=(0, 5),
                ha="center",
                fontsize=7,
                color=colour,
            )
            highest, lowest = max(highest or 0, milliseconds), min(lowest or math.inf, milliseconds)
    middle = math.sqrt((highest or 1) * (lowest or 1))
    span = max(math.sqrt((highest or 1) / (lowest or 1)), 10)
    axes.set(xscale="log", yscale="log", ylim=(middle / span / 2, middle * span * 3))
    axes.set_xlim(sizes[0] / 2.5, sizes[-1] * 2.5)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=7)
    axes.minorticks_off()
    axes.tick_params(axis="y", labelsize=7)
    axes.tick_params(axis="x", labelbottom=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(name, fontsize=8, loc="left")


def _rate(operation: Operation, side: str) -> float | None:
    timing = operation["timings"].get(side)
    return timing["per_second"] * operation["units"] if timing else None


def _short(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 10 else f"{milliseconds:.2g}"


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
