"""The console in a real browser: every page, light and dark, wide and narrow, by keyboard, without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wire.builders import descriptor, partition, table, unique
from tests.wire.console.conftest import Console
from thrift_idl.gen.hive_metastore.ttypes import Database, FieldSchema

pytestmark = pytest.mark.slow
HOSTILE = ("<script>document.title = 'pwned'</script>", "x" * 10_000, "\u202eright to left \u05d0\u05d1", "🛫 \"'<b>")
ONLY_VIOLATIONS = {"resultTypes": ["violations"], "elementRef": False, "iframes": False}
"""Options that change no result: axe describes only the elements that break a rule, and the pages have no frames."""
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"], **ONLY_VIOLATIONS}


@pytest.fixture(scope="module")
def pages(console: Console) -> list[str]:
    """The addresses of all pages, about a table with hostile texts."""
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database, description=HOSTILE[0]))
        columns = [FieldSchema(f"c{number}", "int", text[:4000]) for number, text in enumerate(HOSTILE)]
        keys = [("dt", "string"), ("part", "string")]
        made = table(database, "t", keys, sd=descriptor(cols=columns), parameters={"comment": HOSTILE[1]})
        client.create_table(made)
        figures = {"numRows": "5", "totalSize": "700", "numFiles": "1"}
        values = [[f"2026-01-{day:02}", text[:20]] for day in (1, 2, 4) for text in HOSTILE]
        client.add_partitions([partition(database, "t", each, parameters=figures) for each in values])
    home = f"/tables/hive/{database}/t"
    tabs = ["", "/partitions", "/partitions?where.dt=2026-01-02", "/growth", "/history", "/dependencies", "/skew"]
    tabs.append("/scans")
    rest = ["/", "/?q=t", f"/databases/hive/{database}", "/growth", "/now", "/changes", "/locks", "/health", "/login"]
    return [*(home + tab for tab in tabs), *rest, "/nowhere"]


OVERLAPS = (Path(__file__).parent / "scripts" / "overlaps.js").read_text()


# Colours and sizes differ; all other rules are about the same HTML.
OF_VIEW = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "target-size", "scrollable-region-focusable"]},
    **ONLY_VIOLATIONS,
}


@pytest.mark.parametrize(
    ("scheme", "width", "rules"), [("light", 1280, RULES), pytest.param("dark", 360, OF_VIEW, marks=pytest.mark.long)]
)
def test_every_page_is_accessible_and_shows_hostile_texts_as_text(
    browser: Any, console: Console, pages: list[str], scheme: str, width: int, rules: dict[str, Any]
) -> None:
    import axe_playwright_python

    source = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
    opened = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    messages: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    for page in pages:
        opened.goto(console.url + page)
        opened.evaluate(source)
        actual = opened.evaluate("options => axe.run(document, options)", rules)
        violations = [(each["id"], [node["html"][:200] for node in each["nodes"][:2]]) for each in actual["violations"]]
        assert not violations, (page, violations)
        assert "pwned" not in opened.title()
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{page} is wider than the screen"
        overlaps = opened.evaluate(OVERLAPS)
        assert not overlaps, f"{page}: texts lie on each other: {overlaps}"
    opened.evaluate("document.querySelector('h1').style.marginBottom = '-2rem'")
    assert opened.evaluate(OVERLAPS), "the test would not notice texts that lie on each other"
    assert all(url.startswith(console.url) for url in requests), requests
    assert [text for text in messages if "404" not in text] == []  # also: nothing breaks the Content-Security-Policy
    opened.close()


def test_a_narrow_screen_shows_what_has_changed(browser: Any, console: Console, pages: list[str]) -> None:
    opened = browser.new_page(viewport={"width": 390, "height": 800})
    for page in ("/changes", f"{pages[0]}/history"):
        opened.goto(console.url + page)
        change = opened.locator("td.text div").first.bounding_box()
        assert change["x"] >= 0
        assert change["x"] + change["width"] <= 390
    opened.close()


def test_a_narrow_screen_does_not_break_dates(browser: Any, console: Console) -> None:
    opened = browser.new_page(viewport={"width": 390, "height": 800})
    lines = "[...document.querySelectorAll('.note span.nowrap')].map(date => date.getClientRects().length)"
    with console.client() as client:
        name = unique("gaps")
        client.create_table(table("default", name, [("dt", "string")]))
        client.add_partitions([partition("default", name, [f"2026-02-{day}"]) for day in range(10, 29, 3)])
    opened.goto(f"{console.url}/tables/hive/default/{name}/partitions")
    assert opened.evaluate(lines) == [1] * 10
    opened.close()


def test_a_table_is_found_and_read_by_keyboard_alone(browser: Any, console: Console, pages: list[str]) -> None:
    opened = browser.new_page()
    opened.goto(console.url)
    opened.keyboard.press("/")
    opened.keyboard.type(pages[0].split("/")[3] + ".t")
    opened.keyboard.press("Enter")
    opened.wait_for_url("**/?q=*")
    opened.locator(".results a").first.focus()
    opened.keyboard.press("Enter")
    opened.wait_for_url("**/tables/**")
    assert opened.evaluate("getComputedStyle(document.activeElement).outlineStyle") is not None
    opened.get_by_role("link", name="Partitions", exact=True).focus()
    opened.keyboard.press("Enter")
    opened.wait_for_url("**/partitions")
    opened.locator("a.cell").first.focus()
    opened.keyboard.press("Enter")
    opened.wait_for_url("**where.dt=2026-01-01**")
    opened.close()


def test_texts_and_tables_need_no_scripts(browser: Any, console: Console, pages: list[str]) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    for page in (*pages[:2], "/", "/changes", "/health"):  # all pages have one style sheet and are made by the server
        opened.goto(console.url + page)
        assert opened.locator("h1").inner_text()
    opened.goto(console.url + pages[1])
    assert opened.locator("a.cell").count() == 3
    assert opened.locator("rect.gap").count() >= 1
    context.close()


def test_live_pages_refresh_themselves(browser: Any, console: Console) -> None:
    opened = browser.new_page()
    opened.goto(f"{console.url}/changes")
    name = unique("fresh")
    with console.client() as client:
        client.create_database(Database(name))
    opened.get_by_text(name).wait_for(timeout=60_000)
    opened.close()
