"""Modules that a server does not need at its start are imported when they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

SHOWN = "import sys, {module}; print(*sorted(sys.modules))"
LATE = (
    "sqlglot",
    "starlette",
    "jinja2",
    "rich",
    "msgspec",
    "pyarrow",
    "pyspark",
    "metastore.client",
    "metastore.console",
    "metastore.web.console",
)


@pytest.mark.parametrize(("module", "most"), [("metastore.app.server", 910), ("metastore.cli", 110)])
def test_few_modules_are_imported(module: str, most: int) -> None:
    program = [sys.executable, "-c", SHOWN.format(module=module)]
    imported = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in imported if name in LATE]
    assert len(imported) <= most
