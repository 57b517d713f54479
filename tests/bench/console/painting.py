"""The time until a browser has painted the text of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.wire.console.conftest import CHROMIUM, OPTIONS

_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def first_paints(url: str, addresses: Iterable[str], rounds: int) -> Iterator[tuple[str, float]]:
    """Yields each address with the milliseconds until its first contentful paint: the best of some visits.

    Nothing is yielded if Chromium is not installed.
    """
    if CHROMIUM is None:
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        tab = browser.new_page()
        for address in addresses:
            times = []
            for _ in range(rounds):
                tab.goto(url + address)
                tab.wait_for_function(_PAINTED)
                times.append(float(tab.evaluate(_PAINTED)))
            yield address, min(times)
        browser.close()
