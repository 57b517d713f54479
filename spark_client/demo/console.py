"""The terminal output of the demonstration."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from spark_client.demo.questions import Outcome
from spark_client.scan.report import ScanStatistics, readable_size

_WIDTH = 100
_BAR = 8


_Item = TypeVar("_Item")


class DemoConsole:
    """Prints each step of the demonstration as it happens."""

    def __init__(self) -> None:
        self._is_plain = not sys.stdout.isatty()
        self.console = Console(width=_WIDTH if self._is_plain else None, highlight=False)

    def title(self, text: str) -> None:
        """Prints the title."""
        self.console.print(Panel(Text(text, justify="center"), box=box.ROUNDED, style="bold cyan", width=_WIDTH))

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Shows a spinner with the elapsed time for a step that takes a while, then a line with the total time."""
        start = time.perf_counter()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True, disable=self._is_plain) as progress:
            progress.add_task(text)
            yield
        self.console.print(f"[green]✓[/] {text} [dim]{time.perf_counter() - start:.1f} s[/]")

    def follow(self, text: str, items: Sequence[_Item]) -> Iterator[_Item]:
        """Yields the items one after the other and shows a progress bar."""
        description, elapsed = TextColumn("{task.description}"), TimeElapsedColumn()
        columns = (SpinnerColumn(), description, BarColumn(), MofNCompleteColumn(), elapsed)
        with Progress(*columns, console=self.console, transient=True, disable=self._is_plain) as progress:
            yield from progress.track(items, description=text)

    def sql(self, text: str) -> None:
        """Prints a statement as it is passed to `spark.sql`."""
        syntax = Syntax(text, "sql", theme="ansi_dark", word_wrap=True, background_color="default")
        self.console.print(Padding(syntax, (0, 0, 1, 2)))

    def directories(self, title: str, sizes: Sequence[tuple[str, int, int]]) -> None:
        """Prints name, files and bytes of each directory of a partition."""
        largest = max(size for _, _, size in sizes)
        table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
        for name, justify in (("directory", "left"), ("files", "right"), ("size", "right"), ("", "left")):
            table.add_column(name, justify=justify, header_style="dim")  # type: ignore[arg-type] # mypy does not infer literals in a tuple
        for name, files, size in sizes:
            bar = Text("█" * max(1, round(size / largest * 30)), style="cyan" if "=" in name else "yellow")
            table.add_row(name, f"{files:,}", readable_size(size), bar)
        self.console.print(Padding(table, (1, 0, 1, 1)))

    def outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Prints the table of answers and of the data that was read for them."""
        table = Table(box=box.SIMPLE_HEAD, width=_WIDTH, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("question", ratio=1)
        table.add_column("answer", width=16)
        for name, width in (("time\nof CSV", 6), ("months", 6), ("direc-\ntories", 6), ("files", 6), ("read", 10)):
            table.add_column(name, justify="right", width=width)
        table.add_column("of total", width=_BAR)
        for outcome in outcomes:
            kept, total = outcome.scan.kept, outcome.scan.total
            table.add_row(
                Text.assemble((outcome.question.title, "bold"), "\n", (outcome.question.condition, "cyan")),
                Text(outcome.answer, style="" if outcome.is_right else "bold red"),
                Text.assemble(f"{outcome.seconds:.2f} s\n", (f"{outcome.raw_seconds:.2f} s", "dim")),
                *(_of(kept, total, what) for what in ("partitions", "directories", "files")),
                Text.assemble(f"{readable_size(kept.bytes)}\n", (f"of {readable_size(total.bytes)}", "dim")),
                _share(kept.bytes, total.bytes),
                end_section=True,
            )
        self.console.print(table)

    def verdict(self, outcomes: Sequence[Outcome]) -> None:
        """Prints whether all answers are right, and each wrong answer with the expected one."""
        wrong = [outcome for outcome in outcomes if not outcome.is_right]
        for outcome in wrong:
            self.console.print(
                f"[bold red]✗ {outcome.question.condition}:[/] {outcome.rows}, expected {outcome.raw_rows}"
            )
        if not wrong:
            self.console.print(f"[bold green]✓ All {len(outcomes)} answers equal those of the raw CSV.[/]")

    def note(self, text: str) -> None:
        """Prints a paragraph."""
        self.console.print(Padding(text, (0, 0, 1, 1)), width=_WIDTH)


def _of(kept: ScanStatistics, total: ScanStatistics, what: str) -> Text:
    return Text.assemble(f"{getattr(kept, what):,}\n", (f"of {getattr(total, what):,}", "dim"))


def _share(kept: int, total: int) -> Text:
    """Returns a bar and the percentage of the bytes that were read."""
    share = kept / total if total else 0.0
    full, eighths = divmod(max(1, round(share * _BAR * 8)) if kept else 0, 8)
    bar = "█" * full + (" ▏▎▍▌▋▊▉"[eighths] if eighths else "")
    return Text.assemble((bar.ljust(_BAR), "green on grey23"), f"\n{share:.1%}")
