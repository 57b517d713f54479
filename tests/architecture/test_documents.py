"""What the documents say is what the program does."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

import pytest

from metastore.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda each: str(each.name))
def test_readme_describes_every_setting(setting: object) -> None:
    name, default, metadata = setting.name, setting.default, setting.metadata  # type: ignore[attr-defined]
    row = re.search(
        rf"^\| `METASTORE_{name.upper()}` \| (.+?) \| (.+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert row, f"README.md does not describe METASTORE_{name.upper()}"
    assert row.group(2) == metadata["help"]
    if default not in (None, "", Path()):
        assert row.group(1) == f"`{default}`"


def test_readme_describes_no_setting_that_is_not_there() -> None:
    named = set(re.findall(r"^\| `METASTORE_(\w+)`", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert named == {each.name.upper() for each in fields(Settings)}


def test_every_setting_is_used() -> None:
    used = "\n".join(path.read_text() for path in (ROOT / "metastore").rglob("*.py") if path.name != "settings.py")
    assert [each.name for each in fields(Settings) if not re.search(rf"\b{each.name}\b", used)] == []


def test_one_version() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    head = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert head
    assert head.group(1) == declared == version("metastore")


def test_the_map_names_every_room() -> None:
    readme = (ROOT / "README.md").read_text()
    rooms = [path.parent.name for path in (ROOT / "metastore").glob("*/__init__.py")]
    assert [room for room in rooms if f"{room}/" not in readme] == []
