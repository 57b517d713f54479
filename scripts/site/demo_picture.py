"""Runs the demo and writes its output as docs/demo.svg: `.venv/bin/python scripts/site/demo_picture.py`."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
WIDTH = 100


def main() -> None:
    command = [sys.executable, "-m", "metastore.cli", "demo"]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    shown = done.stdout.partition("\n")[2]  # the first line names a temporary folder
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="make demo")
    # The picture must not load fonts from another host.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (ROOT / "docs" / "demo.svg").write_text(svg)


if __name__ == "__main__":
    main()
