"""The documentation agrees with the program."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import Field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pytest

from metastore.cli.commands import metastore
from metastore.settings import SECTIONS, Settings, all_settings, settings_of
from metastore.settings.kinds import shown_default

ROOT = Path(__file__).parents[2]


SETTINGS = (ROOT / "docs" / "reference" / "settings.md").read_text()
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
# `make docs` generates these pages and checks the links to them.
GENERATED = {
    (ROOT / "docs" / "reference" / name).resolve()
    for name in re.findall(r'_write\("([\w-]+\.md)"', (ROOT / "scripts" / "site" / "reference.py").read_text())
}
TOPS = ("metastore", "migrations", "spark_client", "thrift_idl", "tests", "docs", "scripts", "deploy")


@pytest.mark.parametrize("setting", all_settings(), ids=lambda each: str(each.name))
def test_every_setting_is_described_with_its_default(setting: Field[Any]) -> None:
    name, default, metadata = setting.name, shown_default(setting), setting.metadata
    variable, kind, described = f"METASTORE_{name.upper()}", metadata["kind"].name, metadata["help"]
    shown = re.escape(f"`{default}`") if default else ".+?"  # such as "none", or the rule that derives it
    row = re.search(rf"^\| `{variable}` \| {shown} \| {kind} \| {re.escape(described)} \|$", SETTINGS, re.MULTILINE)
    expected = f"| `{variable}` | {f'`{default}`' if default else 'none'} | {kind} | {described} |"
    assert row, f"docs/reference/settings.md lacks this row:\n{expected}"


def test_settings_are_described_in_the_order_of_the_code() -> None:
    tables = SETTINGS.partition("\n## Settings of other programs")[0]
    described = re.findall(r"^(?:\| `METASTORE_(\w+)`|## (.+))", tables, re.MULTILINE)
    expected = []
    for section in SECTIONS:
        expected.append(("", f"{section.title}: `[{section.table}]`"))
        expected += [(setting.name.upper(), "") for setting in settings_of(section)]
    assert described == expected


def test_every_setting_is_used() -> None:
    files = [path for path in (ROOT / "metastore").rglob("*.py") if path.parent.name != "settings"]
    used = {word for path in files for word in re.findall(r"\w+", path.read_text())}
    assert [field.name for field in fields(Settings) if field.name not in used] == []


def test_the_version_is_the_same_everywhere() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    head = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert head
    assert head.group(1) == declared == version("metastore")


def test_the_readme_and_the_architecture_name_every_package() -> None:
    packages = {path.parent.name for path in (ROOT / "metastore").glob("*/__init__.py")}
    readme = (ROOT / "README.md").read_text()
    assert {package for package in packages if f"{package}/" not in readme} == set()
    table = (
        (ROOT / "docs" / "explanation" / "architecture.md").read_text().partition("| package |")[2].partition("\n\n")[0]
    )
    rows = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    assert sorted(name.strip("`") for row in rows for name in row.split(", ")) == sorted(packages)


def test_the_index_lists_every_page() -> None:
    docs = ROOT / "docs"
    linked = {(docs / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", (docs / "index.md").read_text())}
    pages = {*GENERATED, *(page for page in docs.rglob("*.md") if page.parent.name != "decisions")} - {
        docs / "index.md"
    }
    assert pages - linked == set()


def test_the_readme_has_at_most_120_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def commands(group: click.Group, *above: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)
        else:
            yield " ".join(("metastore", *above, name))


def test_every_command_is_described() -> None:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert [command for command in commands(metastore) if not re.search(rf"{command}\b", text)] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_has_a_target(path: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text())
    targets = [(path.parent / link.partition("#")[0]).resolve() for link in links if "://" not in link]
    assert [str(target) for target in targets if not target.exists() and target not in GENERATED] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_backquotes_exists(path: Path) -> None:
    """Checks paths below the top-level folders. `*` and `<…>` match any name."""
    named = re.findall(rf"`((?:{'|'.join(TOPS)})/[^`\s]*)`", path.read_text())
    assert [name for name in named if not any(ROOT.glob(re.sub(r"<[^>]*>", "*", name.rstrip("/"))))] == []


def test_the_benchmarks_have_marks_for_the_table_of_layouts() -> None:
    """`make bench-zipf` replaces the text between these two marks."""
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    assert re.search(r"<!-- make bench-zipf writes this -->\n.*\| list bucketing \|.*<!-- to here -->", text, re.DOTALL)


def test_decisions_are_numbered_and_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    records = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    lines = []
    for number, path in enumerate(records, 1):
        title = path.read_text().splitlines()[0].removeprefix("# ")
        assert path.name.startswith(f"{number:03d}-")
        assert title.startswith(f"{number:03d}: ")
        lines.append(f"- [{title}]({path.name})")
    assert [line for line in (folder / "README.md").read_text().splitlines() if line.startswith("- ")] == lines
