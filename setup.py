"""The parts of the build that pyproject.toml cannot express: names of packages in a wheel, and links of its page.

`PROJECT_URL=https://… python -m build` adds the address of the repository to the links of README.md and to the
metadata. Without it, the description has no relative links, because they have no target outside the repository.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Final

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

ROOT: Final = Path(__file__).parent
VERSION: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

PACKAGES: Final = ("metastore", "spark_client")
"""Packages that are installed under their own name."""

INSIDE: Final = {"migrations": "metastore._migrations", "thrift_idl": "metastore._thrift_idl"}
"""Top-level package of the repository → its name in a wheel: another project may use the short name, too."""

_TOP: Final = "|".join(INSIDE)
_NAME: Final = re.compile(
    rf"(?P<start>^[ \t]*from )(?P<whole>{_TOP})(?= import )|(?<![\w./])(?P<part>{_TOP})(?=\.\w)", re.MULTILINE
)
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def rewritten(source: str) -> str:
    """Returns the source of a module with the names that packages have in a wheel."""
    return _NAME.sub(lambda match: (match["start"] or "") + INSIDE[match["whole"] or match["part"]], source)


def description(text: str, address: str | None) -> str:
    """Returns the text of README.md for the page of the wheel.

    Relative links become links to the repository at `address`. Without an address, their text remains, and pictures
    are left out.
    """

    def link(match: re.Match[str]) -> str:
        mark, label, path = match.groups()
        if address is None:
            return "" if mark else label
        return f"{mark}[{label}]({address}/{'raw' if mark else 'blob'}/v{VERSION}/{path})"

    return _LINK.sub(link, text)


def urls(address: str | None) -> dict[str, str]:
    """Returns the links of the project by their name."""
    if address is None:
        return {}
    files = f"{address}/blob/v{VERSION}"
    return {
        "Source": address,
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Issues": f"{address}/issues",
        "Security": f"{files}/SECURITY.md",
    }


class BuildPackages(build_py):
    """Copies the packages into a wheel, and corrects their imports."""

    def run(self) -> None:
        """Called by setuptools."""
        super().run()
        if self.editable_mode:
            return
        for name in self.get_outputs(include_bytecode=False):
            if name.endswith((".py", ".pyi")):
                path = Path(name)
                source = path.read_text()
                if (changed := rewritten(source)) != source:
                    path.write_text(changed)


if __name__ == "__main__":
    address = os.environ.get("PROJECT_URL", "").rstrip("/") or None
    if address and not address.startswith("https://"):
        sys.exit(f"PROJECT_URL {address!r} is not the address of a repository: it must begin with https://")
    patterns = [pattern for top in (*PACKAGES, *INSIDE) for pattern in (top, f"{top}.*")]
    names = find_namespace_packages(include=patterns, exclude=["*.__pycache__"])
    folders = {} if "editable_wheel" in sys.argv else {inside: top for top, inside in INSIDE.items()}
    setup(
        packages=[
            next((inside + name[len(top) :] for inside, top in folders.items() if name.split(".")[0] == top), name)
            for name in names
        ],
        package_dir=folders,
        cmdclass={"build_py": BuildPackages},
        long_description=description((ROOT / "README.md").read_text(), address),
        long_description_content_type="text/markdown",
        project_urls=urls(address),
    )
