"""What was measured, as tables, as JSON and as two plots."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.load import Timing
from tests.bench.measures import Fact, Row

# How many times as fast as the real metastore an operation is to be, by the beginning of its name.
TARGETS = {
    "get_table, 16": 5,
    "get_partitions, all": 10,
    "get_partitions_by_names": 10,
    "get_partitions_by_filter": 10,
    "get_partition_names": 10,
    "add_partitions": 200,
    "alter_partitions": 50,
    "drop_partitions": 50,
}
# At most so many milliseconds a call (p50), by the beginning of the operation's name and the number of partitions.
LATENCIES = {
    ("alter_table, CASCADE", 100_000): 2_000,
    ("drop_table", 100_000): 2_000,
    ("plan_scan", 1_000_000): 10,
}
LIMITS = {
    "memory of a worker": "≤ 150",
    "memory that a reply": "≤ 250",
    "start to first answer": "≤ 1",
    "p99 of 16 busy": "≤ 1.5",
}


def machine(postgres: str, theirs: str) -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "postgresql": postgres,
        "theirs": theirs,
    }


def tables(console: Console, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
    """Rates are calls, or written partitions, a second; times milliseconds."""
    grid = Table(
        "operation", "partitions", title="calls, or written partitions, a second; p50, p99, cpu of a call in ms"
    )
    for name in ("ours", "p50", "p99", "cpu", "SQL", "theirs", "p50", "p99", "cpu", "SQL", "ratio", "target"):
        grid.add_column(name, justify="right")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}"
        cells = [cell for side in ("ours", "theirs") for cell in _cells(row, side)]
        grid.add_row(row.operation, f"{row.partitions:,}", *cells, ratio, _target(row))
    console.print(grid)
    figures = Table("figure", "unit", "ours", "theirs", "target")
    for fact in facts:
        values = [f"{fact.values[side]:,.2f}" if side in fact.values else "" for side in ("ours", "theirs")]
        figures.add_row(fact.name, fact.unit, *values, _first(LIMITS, fact.name) or "")
    console.print(figures)


def write(folder: Path, about: dict[str, Any], rows: Sequence[Row], facts: Sequence[Fact]) -> None:
    """bench.json (everything), bench.md (the tables, for documents), throughput.png and growth.png."""
    content = {"machine": about, "operations": [asdict(row) for row in rows], "figures": [asdict(f) for f in facts]}
    (folder / "bench.json").write_text(json.dumps(content, indent=1))
    (folder / "bench.md").write_text("\n".join(_markdown(rows, facts)) + "\n")
    _plot(folder, rows)


def _markdown(rows: Sequence[Row], facts: Sequence[Fact]) -> Iterator[str]:
    sides = [f"{side} {of}" for side in ("ours,", "Hive,") for of in ("per s", "p50 ms", "p99 ms", "cpu ms", "SQL")]
    for size in dict.fromkeys(row.partitions for row in rows):
        yield f"| {size:,} partitions | {' | '.join(sides)} | ratio | target |"
        yield "| --- |" + " --: |" * (len(sides) + 2)
        for row in rows:
            if row.partitions == size:
                cells = [cell or "–" for side in ("ours", "theirs") for cell in _cells(row, side)]
                ratio = "–" if row.ratio is None else f"{row.ratio:,.1f}"
                yield f"| `{row.operation}` | {' | '.join(cells)} | {ratio} | {_target(row) or '–'} |"
        yield ""
    yield "| figure | unit | ours | Hive | target |"
    yield "| --- | --- | --: | --: | --: |"
    for fact in facts:
        values = [f"{fact.values[side]:,.2f}" if side in fact.values else "–" for side in ("ours", "theirs")]
        yield f"| {fact.name} | {fact.unit} | {' | '.join(values)} | {_first(LIMITS, fact.name) or '–'} |"


def _target(row: Row) -> str:
    slow = next(
        (ms for (name, n), ms in LATENCIES.items() if row.operation.startswith(name) and row.partitions == n), 0
    )
    times = _first(TARGETS, row.operation) if "theirs" in row.timings else None
    return f"≤ {slow:,} ms" if slow else f"{times} ×" if times else ""


def _plot(folder: Path, rows: Sequence[Row]) -> None:
    """Throughput of both sides at the smallest size; times by number of partitions."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    smallest = min(row.partitions for row in rows)
    shown = [row for row in rows if row.partitions == smallest]
    figure, axes = pyplot.subplots(figsize=(9, 6))
    for offset, side in ((-0.2, "ours"), (0.2, "theirs")):
        places = [index + offset for index in range(len(shown))]
        axes.barh(places, [row.rate(side) or 0 for row in shown], 0.4, label=side)
    axes.set(yticks=range(len(shown)), yticklabels=[row.operation for row in shown], xscale="log")
    axes.set_xlabel(f"calls (written partitions) a second, {smallest:,} partitions")
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(folder / "throughput.png", bbox_inches="tight")
    figure, axes = pyplot.subplots(figsize=(9, 6))
    colours = iter(pyplot.get_cmap("tab20").colors)
    for operation in dict.fromkeys(row.operation for row in rows):
        colour = next(colours)
        for side, style, label in (("ours", "-o", operation), ("theirs", "x", None)):
            found = [row for row in rows if row.operation == operation and side in row.timings]
            points = [row.partitions for row in found], [row.timings[side].p50 for row in found]
            axes.plot(*points, style, color=colour, label=label)
    axes.set(xscale="log", yscale="log", xlabel="partitions of the table", ylabel="ms a call, p50 (× Hive's)")
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(folder / "growth.png", bbox_inches="tight")


def _cells(row: Row, side: str) -> list[str]:
    timing: Timing | None = row.timings.get(side)
    if timing is None:
        return [""] * 5
    statements = str(row.statements.get(side, ""))
    cpu = f"{row.cpu[side]:,.2f}" if side in row.cpu else ""
    return [f"{row.rate(side):,.0f}", f"{timing.p50:,.2f}", f"{timing.p99:,.2f}", cpu, statements]


def _first(texts: dict[str, Any], name: str) -> Any:
    return next((value for prefix, value in texts.items() if name.startswith(prefix)), None)
