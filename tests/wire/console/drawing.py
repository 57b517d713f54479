"""Pictures of pages that are equal on all machines: words are drawn as boxes, so that no font matters.

A page is rendered from a sample of its data (`samples.json`), without a server, at a fixed time.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import urlsplit

from metastore.web.console.activity import ActivityPages, with_waits
from metastore.web.console.catalog import CatalogPages
from metastore.web.console.dependencies import DependencyPages
from metastore.web.console.growth import GrowthPages
from metastore.web.console.health import HealthPages
from metastore.web.console.layouts import LayoutPages
from metastore.web.console.partitions import PartitionPages
from metastore.web.console.rendering import render
from metastore.web.console.routes import STATIC
from metastore.web.console.scans import ScanPages
from metastore.web.console.site import Page
from metastore.web.console.table import TablePages

FOLDER: Final = Path(__file__).parent / "pictures"
_SCRIPTS: Final = Path(__file__).parent / "scripts"
NOW: Final = 1_800_000_000.0
WIDTHS: Final = {"light": 1280, "dark": 360}
"""The width of the screen by colour scheme."""
SCALE: Final = 0.25  # pixels of a picture for each pixel of CSS
_HIGHEST: Final = 1600  # pixels of CSS: longer pages are cut
_SITE: Final = "http://console"
_DIFFERENT: Final = 60  # of 255: other versions of Chromium round the corners of boxes otherwise
_TOLERATED: Final = 0.003  # share of different pixels

_BOXES: Final = (_SCRIPTS / "boxes.js").read_text()
_STYLE: Final = "summary { list-style: none; }"  # its triangle is a character
_COMPARE: Final = (_SCRIPTS / "compare.js").read_text()


def samples() -> dict[str, Any]:
    """Returns a sample of the data of each page, by its address."""
    return json.loads((FOLDER / "samples.json").read_text())


def pages() -> dict[str, Page]:
    """Returns the pages by their paths. They have no services: their data are samples."""
    nothing: Any = None
    groups = (
        HealthPages(nothing, nothing, nothing, nothing, nothing),
        ActivityPages(nothing),
        CatalogPages(nothing, nothing, nothing),
        TablePages(nothing, nothing),
        PartitionPages(nothing),
        GrowthPages(nothing),
        DependencyPages(nothing),
        LayoutPages(nothing),
        ScanPages(nothing),
    )
    made = [page for group in groups for page in group.pages()]
    return {page.path: page for page in [*made, Page("/now", "now.html", nothing, with_waits)]}


def page_of(address: str) -> Page:
    """Returns the page of an address."""
    path = urlsplit(address).path
    found = [page for pattern, page in pages().items() if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path)]
    return found[0]


def html(address: str, data: Any) -> str:
    """Returns the page of an address as HTML, as it is at NOW."""
    page = page_of(address)
    view = {"path": urlsplit(address).path, "query": {}, "user": "anna", "sees_health": True, "json_address": "/x.json"}
    with patch("time.time", lambda: NOW):
        return render(page.template, page.picture(data), view)


class Studio:
    """Draws and compares pages. Each colour scheme has one tab."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._tabs: dict[str, Any] = {}
        self._page = self._style = ""

    def drawn(self, address: str, data: Any, scheme: str, style: str = "") -> bytes:
        """Returns the picture of a page as a PNG. `style`: more CSS."""
        self._page, self._style = html(address, data), style
        tab = self._tabs.get(scheme) or self._tab(scheme)
        tab.goto(_SITE + address)
        tab.evaluate(_BOXES)
        height = min(_HIGHEST, tab.evaluate("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": WIDTHS[scheme], "height": height}
        picture: bytes = tab.screenshot(full_page=True, clip=clip, animations="disabled")
        return picture

    def difference(self, one: bytes, other: bytes) -> float:
        """Returns the share of pixels in which two pictures differ; 1 for pictures of different sizes."""
        tab = self._tabs.get("") or self._tabs.setdefault("", self._browser.new_page())
        urls = [f"data:image/png;base64,{b64encode(picture).decode()}" for picture in (one, other)]
        share: float = tab.evaluate(_COMPARE, [*urls, _DIFFERENT])
        return share

    def are_alike(self, one: bytes, other: bytes) -> bool:
        """Returns whether two pictures show the same."""
        return self.difference(one, other) <= _TOLERATED

    def _tab(self, scheme: str) -> Any:
        size = {"width": WIDTHS[scheme], "height": 800}
        tab = self._tabs[scheme] = self._browser.new_page(color_scheme=scheme, viewport=size, device_scale_factor=SCALE)
        tab.route("**/*", self._answer)
        return tab

    def _answer(self, route: Any) -> None:
        path = urlsplit(route.request.url).path
        if path == "/static/console.css":
            route.fulfill(body=(STATIC / "console.css").read_text() + _STYLE + self._style, content_type="text/css")
        elif path.startswith("/static/"):
            route.fulfill(body="", content_type="text/javascript")
        else:
            route.fulfill(body=self._page, content_type="text/html; charset=utf-8")
