"""Orders the navigation of the site: tutorial and guides first, decisions last. `mkdocs build` runs this file."""

from __future__ import annotations

from typing import Any

_ORDER = ("index.md", "tutorial.md", "How to", "Reference", "Explanation", "benchmarks.md", "tested.md", "Decisions")


def on_nav(nav: Any, **_: Any) -> Any:
    """Sorts the first level of the navigation. Raises ValueError for a page or section that `_ORDER` lacks."""
    nav.items.sort(key=lambda item: _ORDER.index(item.file.src_uri if item.is_page else item.title))
    return nav
