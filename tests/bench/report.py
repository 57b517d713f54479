"""The results: a line for each as it is measured, then tables, JSON and Markdown."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench import plots
from tests.bench.load import Timing
from tests.bench.measures import Fact, Row

# Targets: our rate as a multiple of Hive's, by the beginning of the operation's name.
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
# Targets: milliseconds of a call (p50), by the beginning of the operation's name and the number of partitions.
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
    """Describes the machine."""
    return {
        "date": date.today().isoformat(),  # noqa: DTZ011 - the day here
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "postgresql": postgres,
        "theirs": theirs,
    }


def heading(about: dict[str, Any]) -> str:
    """Describes the machine in one line."""
    return (
        f"{about['cores']} cores, load {about['load']}, Python {about['python']}, PostgreSQL {about['postgresql']}; "
        f"beside ours: {about['theirs']}"
    )


def line(rows: Row | Fact) -> str:
    """Returns one result as a line, printed while others are still measured."""
    if isinstance(rows, Fact):
        values = [f"{_name(side)} {value:,.2f}" for side, value in rows.values.items()]
        return f"{rows.name}, {rows.unit}: {', '.join(values)}"
    values = [f"{_name(side)} {_number(timing.p50)} ms" for side, timing in rows.timings.items()]
    ratio = "" if rows.ratio is None else f"  ({rows.ratio:,.1f} × the rate)"
    return f"{rows.operation:<42} {'  '.join(f'{value:<18}' for value in values)}{ratio}".rstrip()


def tables(console: Console, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
    """Prints the tables. Rates are calls, or written partitions, a second; times are milliseconds."""
    grid = Table(
        "operation", "partitions", title="calls, or written partitions, a second; p50, p99, cpu of a call in ms"
    )
    for name in ("ours", "p50", "p99", "cpu", "SQL", "Hive", "p50", "p99", "cpu", "SQL", "ratio", "target"):
        grid.add_column(name, justify="right")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.1f}"
        cells = [cell for side in ("ours", "theirs") for cell in _cells(row, side)]
        grid.add_row(row.operation, f"{row.partitions:,}", *cells, ratio, _target(row))
    console.print(grid)
    figures = Table("figure", "unit", "ours", "Hive", "target")
    for fact in facts:
        values = [f"{fact.values[side]:,.2f}" if side in fact.values else "" for side in ("ours", "theirs")]
        figures.add_row(fact.name, fact.unit, *values, _first(LIMITS, fact.name) or "")
    console.print(figures)


def write(folder: Path, about: dict[str, Any], rows: Sequence[Row], facts: Sequence[Fact]) -> None:
    """Writes bench.json (everything), bench.md (the tables, for documents), throughput.png and growth.png."""
    content = {"machine": about, "operations": [asdict(row) for row in rows], "figures": [asdict(f) for f in facts]}
    (folder / "bench.json").write_text(json.dumps(content, indent=1))
    (folder / "bench.md").write_text("\n".join(_markdown(rows, facts)) + "\n")
    plots.draw(folder)


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


def _cells(row: Row, side: str) -> list[str]:
    timing: Timing | None = row.timings.get(side)
    if timing is None:
        return [""] * 5
    statements = str(row.statements.get(side, ""))
    cpu = f"{row.cpu[side]:,.2f}" if side in row.cpu else ""
    return [f"{row.rate(side):,.0f}", f"{timing.p50:,.2f}", f"{timing.p99:,.2f}", cpu, statements]


def _name(side: str) -> str:
    return "Hive" if side == "theirs" else side


def _number(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:,.2f}"


def _first(texts: dict[str, Any], name: str) -> Any:
    return next((value for prefix, value in texts.items() if name.startswith(prefix)), None)
