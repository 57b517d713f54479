"""Pictures of pages that are equal on all machines: words are drawn as boxes, so that no font matters.

A page is rendered from a sample of its data (`samples.json`), without a server, at a fixed time.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
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
from metastore.web.console.site import Page
from metastore.web.console.table import TablePages

FOLDER: Final = Path(__file__).parent / "pictures"
_SCRIPTS: Final = Path(__file__).parent / "scripts"
NOW: Final = 1_800_000_000.0
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
        CatalogPages(nothing),
        TablePages(nothing, nothing),
        PartitionPages(nothing),
        GrowthPages(nothing),
        DependencyPages(nothing),
        LayoutPages(nothing),
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


def drawn(browser: Any, address: str, data: Any, scheme: str, width: int, style: str = "") -> bytes:
    """Returns the picture of a page as a PNG. `style`: more CSS."""
    text = html(address, data)

    def answer(route: Any) -> None:
        path = urlsplit(route.request.url).path
        if path == "/static/console.css":
            route.fulfill(body=(STATIC / "console.css").read_text() + _STYLE + style, content_type="text/css")
        elif path.startswith("/static/"):
            route.fulfill(body="", content_type="text/javascript")
        else:
            route.fulfill(body=text, content_type="text/html; charset=utf-8")

    opened = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800}, device_scale_factor=SCALE)
    try:
        opened.route("**/*", answer)
        opened.goto(_SITE + address)
        opened.evaluate(_BOXES)
        height = min(_HIGHEST, opened.evaluate("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        picture: bytes = opened.screenshot(full_page=True, clip=clip, animations="disabled")
        return picture
    finally:
        opened.close()


def difference(browser: Any, one: bytes, other: bytes) -> float:
    """Returns the share of pixels in which two pictures differ; 1 for pictures of different sizes."""
    opened = browser.new_page()
    try:
        urls = [f"data:image/png;base64,{b64encode(picture).decode()}" for picture in (one, other)]
        share: float = opened.evaluate(_COMPARE, [*urls, _DIFFERENT])
        return share
    finally:
        opened.close()


def is_like(browser: Any, one: bytes, other: bytes) -> bool:
    """Returns whether two pictures show the same."""
    return difference(browser, one, other) <= _TOLERATED


def views() -> Iterator[tuple[str, int]]:
    """Yields the colour schemes and widths in which pages are compared."""
    yield "light", 1280
    yield "dark", 360
