"""The generated code is what the compiler makes of the IDL beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

IDL = Path(__file__).parents[2] / "thrift_idl"


def sources(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}


@pytest.mark.skipif(shutil.which("thrift") is None, reason="needs Debian's thrift-compiler")
def test_generated_code_is_fresh(tmp_path: Path) -> None:
    subprocess.run([IDL / "generate.sh", tmp_path / "gen"], check=True)
    committed, fresh = sources(IDL / "gen"), sources(tmp_path / "gen")
    assert committed.keys() == fresh.keys()
    stale = [name for name, text in fresh.items() if committed[name] != text]
    assert stale == [], "run  make generate"
