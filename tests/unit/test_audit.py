"""Known vulnerabilities are found by version, in every spelling of names and versions."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/audit.py"
spec = importlib.util.spec_from_file_location("audit", SCRIPT)
assert spec
assert spec.loader
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)

LOCK = "# pinned\nAio_Http==3.14.5 \\\n    --hash=sha256:00\nidna==3.20 \\\n    --hash=sha256:01\n"


def advisory(versions: str) -> dict[str, str]:
    return {"id": "GHSA-1", "v": versions, "fixed_in": "4", "advisory": "text"}


def test_pinned_versions_are_read() -> None:
    assert audit.pinned(LOCK) == {"aio-http": "3.14.5", "idna": "3.20"}
    assert len(audit.pinned(audit.LOCK.read_text())) > 30


def test_a_version_within_an_advisory_is_reported() -> None:
    packages = audit.pinned(LOCK)
    assert not list(audit.known(packages, {"aio.http": [advisory("<3.14.5"), advisory(">=4")], "other": []}))
    (line,) = audit.known(packages, {"aio.http": [advisory(">=3,<3.14.6")], "idnax": [advisory(">0")]})
    assert "3.14.5: GHSA-1" in line


def test_versions_that_cannot_be_read_are_reported() -> None:
    assert list(audit.known(audit.pinned(LOCK), {"idna": [advisory("before 2")]}))
