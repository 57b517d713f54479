"""`make bench-zipf`: a table with heavy values, in four layouts side by side: what queries read, and how long it takes.

The same rows in a list-bucketed table, in plain partitions, in partitions of the value as well, and in plain partitions
sorted by the value, where Parquet's statistics skip row groups. A table and a picture go to docs.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from spark_client import Session, find_skew, scan_report
from tests.bench.spark import Run, run, session

ROOT = Path(__file__).parents[2]
HEAVY = 10
# Row groups small enough that a partition has several: without that, statistics could skip nothing.
PROPERTIES = "TBLPROPERTIES ('parquet.block.size'='262144', 'parquet.page.size'='65536')"
COLUMNS = "id BIGINT, amount BIGINT, note STRING"
ASKED = "count(*), sum(id), sum(amount), max(note)"
QUESTIONS = {"heavy": "x = 'v3'", "rare": "x = 'v77'", "mixed": "x IN ('v3', 'v77')"}


@dataclass
class Layout:
    """A layout of the rows."""

    name: str
    title: str
    definition: str
    order: str = ""
    load: float = 0.0
    partitions: int = 0
    files: int = 0
    bytes: int = 0
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def seconds(self, question: str) -> float:
        return statistics.median(each.seconds for each in self.runs[question])

    def megabytes(self, question: str) -> float:
        return self.runs[question][-1].bytes / 1e6


def layouts(skewed_by: str) -> list[Layout]:
    """Returns the layouts; the first one is ours."""
    plain = f"({COLUMNS}, x STRING) PARTITIONED BY (ds INT)"
    return [
        Layout("list_bucketed", "list bucketing", f"{plain} {skewed_by} STORED AS PARQUET"),
        Layout("plain", "plain partitions", f"{plain} STORED AS PARQUET"),
        Layout(
            "by_value", "partitions by value, too", f"({COLUMNS}) PARTITIONED BY (ds INT, x STRING) STORED AS PARQUET"
        ),
        Layout("sorted", "plain, sorted by value", f"{plain} STORED AS PARQUET", "DISTRIBUTE BY ds SORT BY ds, x"),
    ]


@click.command()
@click.option("--partitions", default=100, show_default=True)
@click.option("--rows", default=30_000, show_default=True, help="Of a partition.")
@click.option("--values", default=110, show_default=True, help="Different values; ten of them are heavy.")
@click.option("--rounds", default=5, show_default=True)
@click.option(
    "--write/--no-write", default=True, show_default=True, help="docs/zipf.*, and the table in docs/benchmarks.md."
)
def main(partitions: int, rows: int, values: int, rounds: int, write: bool) -> None:
    """Loads the layouts, runs the queries, and compares the results."""
    console = Console(width=150)
    with session() as spark:
        make_rows(spark, partitions, rows, values)
        skew = find_skew("rows", "x", share=0.01, limit=HEAVY, spark=spark)
        console.print(str(skew))
        every = layouts(skew.clause)
        for layout in every:
            load(spark, layout)
            console.print(f"[dim]{layout.title}: {layout.files:,} files, loaded in {layout.load:.1f} s[/dim]")
        measure(spark, every, rounds)
    about = {
        "date": date.today().isoformat(),  # noqa: DTZ011 - the day here
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "partitions": partitions,
        "rows": partitions * rows,
        "values": values,
        "heavy share": round(1 - skew.rest, 3),
    }
    show(console, every)
    output = ROOT / "build" / "bench"
    output.mkdir(parents=True, exist_ok=True)
    content = {"about": about, "layouts": [asdict(layout) for layout in every]}
    (output / "zipf.json").write_text(json.dumps(content, indent=1))
    if write:
        (ROOT / "docs" / "zipf.json").write_text(json.dumps(content, indent=1) + "\n")
        plot(ROOT / "docs" / "zipf.png", every)
        write_table(ROOT / "docs" / "benchmarks.md", markdown(about, every))


def make_rows(spark: Session, partitions: int, rows: int, values: int) -> None:
    """A view `rows` of values v1, v2 …, of which each has fewer rows than the one before it (Zipf, s = 1.1)."""
    weights = [1 / rank**1.1 for rank in range(1, values + 1)]
    # Ten values are heavy: all others share the default directory.
    heavy, rare = sum(weights[:HEAVY]), sum(weights[HEAVY:])
    shares = [0.8 * weight / heavy for weight in weights[:HEAVY]] + [0.2 * weight / rare for weight in weights[HEAVY:]]
    bounds = [round(sum(shares[: rank + 1]) * 1e6) for rank in range(values)]
    limits = f"array({', '.join(map(str, bounds))})"
    rank = f"size(filter({limits}, bound -> bound <= pmod(xxhash64(id, 1), 1000000))) + 1"
    spark.range(0, partitions * rows, 1, 16).selectExpr(
        "id",
        "xxhash64(id, 2) % 1000000 AS amount",
        "sha2(string(id), 256) AS note",
        f"concat('v', least({rank}, {values})) AS x",
        f"int(id % {partitions}) AS ds",
    ).write.mode("overwrite").saveAsTable("source", format="parquet")
    spark.table("source").createOrReplaceTempView("rows")


def load(spark: Session, layout: Layout) -> None:
    """Creates the table and fills it."""
    spark.sql(f"CREATE TABLE {layout.name} {layout.definition} {PROPERTIES}")
    columns = "id, amount, note, ds, x" if layout.name == "by_value" else "id, amount, note, x, ds"
    start = time.perf_counter()
    spark.sql(f"INSERT INTO {layout.name} SELECT {columns} FROM rows {layout.order}")
    layout.load = time.perf_counter() - start
    (scan,) = scan_report(spark.table(layout.name)).scans
    layout.partitions, layout.files, layout.bytes = scan.kept.partitions, scan.kept.files, scan.kept.bytes


def measure(spark: Session, every: Sequence[Layout], rounds: int) -> None:
    """Runs each query on each layout, alternating; the first round warms up. All answers must be equal."""
    for number in range(rounds + 1):
        for question, condition in QUESTIONS.items():
            answers = set()
            for layout in every[number % len(every) :] + every[: number % len(every)]:
                actual = run(spark.sql(f"SELECT {ASKED} FROM {layout.name} WHERE {condition}"))
                answers.add(actual.answer)
                if number:
                    layout.runs.setdefault(question, []).append(actual)
            assert len(answers) == 1, answers


def show(console: Console, every: Sequence[Layout]) -> None:
    """Prints the table."""
    grid = Table("layout", "partitions", "files", "MB", "load, s", title="read for a query, MB; median time, ms")
    for question, condition in QUESTIONS.items():
        grid.add_column(f"{question}: {condition}", justify="right")
    for layout in every:
        counts = [f"{layout.partitions:,}", f"{layout.files:,}", f"{layout.bytes / 1e6:,.1f}", f"{layout.load:,.1f}"]
        grid.add_row(layout.title, *counts, *_cells(layout))
    console.print(grid)


def _cells(layout: Layout) -> Iterator[str]:
    for question in QUESTIONS:
        yield f"{layout.megabytes(question):,.1f} MB, {layout.seconds(question) * 1000:,.0f} ms"


def markdown(about: dict[str, object], every: Sequence[Layout]) -> str:
    """Returns the table for docs/benchmarks.md."""
    data = (
        f"{about['rows']:,} rows in {about['partitions']} daily partitions, Zipf over {about['values']} values. "
        f"The ten heaviest values have {about['heavy share']:.0%} of the rows. {about['cores']} cores, load "
        f"{about['load']}, {about['date']}."
    )
    lines = [
        f"{data} Bytes that the tasks read from files, and the median wall time with planning:",
        "",
        "| layout | partitions | files | load | "
        + " | ".join(f"{key}: `{text}`" for key, text in QUESTIONS.items())
        + " |",
        "| --- | --: | --: | --: |" + " --: |" * len(QUESTIONS),
    ]
    for layout in every:
        cells = [f"{layout.partitions:,}", f"{layout.files:,}", f"{layout.load:.0f} s", *_cells(layout)]
        lines.append(f"| {layout.title} | {' | '.join(cells)} |")
    lines += ["", "![What queries read, and how long they take, in four layouts](zipf.png)"]
    return "\n".join(lines)


def write_table(document: Path, text: str) -> None:
    """Writes the table between its two marks."""
    marked = re.compile(r"(<!-- make bench-zipf writes this -->\n).*?(<!-- to here -->)", re.DOTALL)
    before = document.read_text()
    after, actual = marked.subn(lambda match: match[1] + text + "\n" + match[2], before)
    assert actual == 1, "docs/benchmarks.md has lost the marks around the table of `make bench-zipf`"
    document.write_text(after)


def plot(path: Path, every: Sequence[Layout]) -> None:
    """Draws two groups of bars: bytes and time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    colours = ["#1b7f79", "#b0b7bf", "#e0a458", "#7a8ca3"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6))
    width = 0.8 / len(every)
    for axes, title in ((left, "MB read"), (right, "ms, median")):
        for index, (layout, colour) in enumerate(zip(every, colours, strict=True)):
            values = [
                layout.megabytes(question) if axes is left else layout.seconds(question) * 1000
                for question in QUESTIONS
            ]
            places = [group + (index - (len(every) - 1) / 2) * width for group in range(len(QUESTIONS))]
            bars = axes.bar(places, values, width, color=colour, label=layout.title)
            axes.bar_label(bars, fmt=lambda value: f"{value:,.0f}" if value >= 10 else f"{value:.1f}", fontsize=7)
        axes.set(xticks=range(len(QUESTIONS)), xticklabels=QUESTIONS, title=title)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*left.get_legend_handles_labels(), loc="lower center", ncols=len(every), fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
