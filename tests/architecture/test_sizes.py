"""A function has at most 50 lines, and each module has a docstring."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for top in ("metastore", "migrations", "spark_client", "tests", "thrift_idl")
    for path in sorted((ROOT / top).rglob("*.py"))
    if not path.is_relative_to(ROOT / "thrift_idl" / "gen")
]


def test_functions_are_short() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > 50} == {}


def test_every_module_has_a_docstring() -> None:
    undocumented = [str(path.relative_to(ROOT)) for path in SOURCES if not path.read_text().startswith('"""')]
    assert undocumented == []
