"""Upgrades only add to the schema, so that servers of the previous version continue to work. Applies to revisions after
the last one that stops them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from migrations import runner, versions

ADDS = {"add_column", "bulk_insert", "create_foreign_key", "create_index", "create_table", "execute", "f"}
REVISIONS = sorted(Path(str(versions.__path__[0])).glob("0*.py"))
SINCE = [revision for revision in REVISIONS if revision.name[:4] > runner._LAST_EXCLUSIVE]
REPLACED = {"privileges_grant_idx", "write_notifications_pkey"}
"""Indexes and keys that are created again in the same transaction, with more columns."""


def operations(path: Path) -> list[ast.Call]:
    """Returns all calls of `op.…` in the module of a revision."""
    return [
        each
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and isinstance(each.func.value, ast.Name)
        and each.func.value.id == "op"
    ]


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


@pytest.mark.parametrize("path", SINCE, ids=lambda path: path.stem)
def test_it_only_adds(path: Path) -> None:
    for call in operations(path):
        name = _name(call)
        texts = [str(each.value) for each in ast.walk(call) if isinstance(each, ast.Constant)]
        replaced = name in ("drop_index", "drop_constraint", "create_primary_key") and texts[0] in REPLACED
        wider = name == "alter_column" and [ast.unparse(keyword) for keyword in call.keywords] == ["nullable=True"]
        assert name in ADDS or replaced or wider, f"{path.name}: op.{name} may break servers of the previous version"
        dropped = name == "execute" and any("DROP " in text.upper().replace("DROP EXPRESSION", "") for text in texts)
        assert not dropped, f"{path.name}: statements that drop objects belong in FINISH"


@pytest.mark.parametrize("path", SINCE, ids=lambda path: path.stem)
def test_a_new_column_needs_no_value(path: Path) -> None:
    """Servers of the previous version insert rows without it."""
    for call in operations(path):
        if _name(call) == "add_column":
            column = ast.unparse(call.args[1])
            assert "nullable=False" not in column or "server_default" in column, f"{path.name}: {column}"
