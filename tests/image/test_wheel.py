"""The wheel installs and works outside of the checkout, and its metadata is valid."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the files that git tracks, so that no earlier build leaks in."""
    source = tmp_path_factory.mktemp("source")
    archive = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in archive.decode().rstrip("\0").split("\0"):
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


OLD = re.compile(r"^\s*(?:from|import) (?:migrations|thrift_idl)\b", re.MULTILINE)
BUILD = runpy.run_path(str(ROOT / "setup.py"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from thrift_idl.gen.metastore import ttypes\n", "from metastore._thrift_idl.gen.metastore import ttypes\n"),
        ("def f():\n    from migrations import runner\n", "def f():\n    from metastore._migrations import runner\n"),
        ("import thrift_idl.gen.a.ttypes\n", "import metastore._thrift_idl.gen.a.ttypes\n"),
        ("x = [thrift_idl.gen.a.ttypes.B, None]\n", "x = [metastore._thrift_idl.gen.a.ttypes.B, None]\n"),
        ('"""See thrift_idl/metastore.thrift and the migrations."""\n', None),
        ("context.run_migrations()\n", None),
        ("from .thrift_idl.gen import x\n", None),
    ],
)
def test_names_of_packages_are_replaced(source: str, expected: str | None) -> None:
    assert BUILD["rewritten"](source) == (source if expected is None else expected)


def relative_links(text: str) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match("[a-z]+:|#", link)]


def test_the_page_of_the_wheel_has_no_link_without_a_target(wheel: Path) -> None:
    metadata = message_from_string(run("unzip", "-p", wheel, "*/METADATA", cwd=wheel.parent))
    assert metadata["Author"]
    assert "Programming Language :: Python :: 3.11" in metadata.get_all("Classifier")
    assert metadata.get_all("Project-URL") is None, "no address of a repository is known"
    text = metadata.get_payload()
    assert text.startswith("# Metastore")
    assert relative_links(text) == []
    assert "[Import" not in text
    assert "Import a running Hive Metastore, compare both" in text


def test_an_address_makes_every_link_absolute() -> None:
    readme = (ROOT / "README.md").read_text()
    page = BUILD["description"](readme, "https://example.org/team/metastore")
    assert relative_links(page) == []
    paths = re.findall(r"https://example\.org/team/metastore/(?:blob|raw)/v[\d.]+/([^)#]+)", page)
    assert len(paths) == len(relative_links(readme))
    addresses = BUILD["urls"]("https://example.org/team/metastore")
    paths += [address.partition("/v1.0.0/")[2] for address in addresses.values() if "/blob/" in address]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_issue_forms_are_valid() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert forms
    schema = "vendor.github-issue-forms"
    run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *forms, cwd=ROOT)


def test_twine_accepts_the_metadata(wheel: Path) -> None:
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=wheel.parent, NO_COLOR="1")


def test_the_installed_wheel_is_complete(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", installed, wheel),
        cwd=tmp_path,
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PIP_ROOT_USER_ACTION="ignore",
    )
    tracked = subprocess.run(
        ["git", "ls-files", "metastore", "migrations", "spark_client", "thrift_idl"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    shipped = [name for name in tracked if (ROOT / name).exists() and not name.endswith("/SHA256SUMS")]
    assert [name for name in shipped if not (installed / in_the_wheel(name)).exists()] == []
    names = {each.name for each in installed.iterdir() if each.name != "bin" and each.suffix != ".dist-info"}
    assert names == {"metastore", "spark_client"}, "another project may have packages of these names"
    modules = "metastore.app.server, metastore.cli, metastore._migrations.runner, spark_client"
    program = f"import {modules}; print(metastore.cli.__file__)"
    assert run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(installed)).startswith(str(installed))
    assert "serve" in run(sys.executable, "-m", "metastore", "-h", cwd=tmp_path, PYTHONPATH=str(installed))
    sources = [path for path in installed.rglob("*") if path.suffix in (".py", ".pyi")]
    old = [path for path in sources if OLD.search(path.read_text())]
    assert old == [], "these modules import a package by its name in the repository"


def in_the_wheel(name: str) -> Path:
    top, _, rest = name.partition("/")
    return Path(BUILD["INSIDE"].get(top, top).replace(".", "/")) / rest
