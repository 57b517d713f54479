"""The generated code matches the IDL next to it."""

from __future__ import annotations

import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

IDL = Path(__file__).parents[2] / "thrift_idl"
STALE = "run  make generate"


def compiler() -> str | None:
    """Returns the version of the installed Thrift compiler, or None if there is none."""
    if shutil.which("thrift") is None:
        return None
    return subprocess.run(["thrift", "-version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def versions() -> set[str]:
    """Returns the compiler versions in the headers of the generated code."""
    texts = [path.read_text() for path in (IDL / "gen").rglob("*.py")]
    return {header.group(1) for text in texts if (header := re.search(r"Thrift Compiler \(([\d.]+)\)", text))}


def sources(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}


def test_the_checksums_of_the_idl_and_the_code_match() -> None:
    lines = (IDL / "gen" / "SHA256SUMS").read_text().splitlines()
    noted = {name: digest for digest, name in map(str.split, lines)}
    files = [*IDL.glob("*.thrift"), *(IDL / "gen").rglob("*.py")]
    assert {str(path.relative_to(IDL)): sha256(path.read_bytes()).hexdigest() for path in files} == noted, STALE


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    if versions() != {compiler()}:
        pytest.skip(f"needs the Thrift compiler {versions()} (Debian's thrift-compiler); installed: {compiler()}")
    subprocess.run([IDL / "generate.sh", tmp_path / "gen"], check=True)
    committed, fresh = sources(IDL / "gen"), sources(tmp_path / "gen")
    assert committed.keys() == fresh.keys()
    assert [name for name, text in fresh.items() if committed[name] != text] == [], STALE
