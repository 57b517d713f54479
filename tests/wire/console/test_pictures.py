"""Each page looks as its stored picture: light and wide, dark and narrow.

`METASTORE_TEST_PICTURES=write` stores the present pictures instead. Look at them before you commit them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.wire.console.drawing import FOLDER, difference, drawn, is_like, page_of, pages, samples, views

pytestmark = pytest.mark.slow
SAMPLES = samples()
WRITES = os.environ.get("METASTORE_TEST_PICTURES") == "write"


def name_of(address: str) -> str:
    """Returns the file name of a page: its template's, which is unique."""
    return page_of(address).template.removesuffix(".html")


@pytest.mark.parametrize("address", SAMPLES, ids=name_of)
def test_a_page_looks_as_stored(browser: Any, address: str, tmp_path: Path) -> None:
    for scheme, width in views():
        actual = drawn(browser, address, SAMPLES[address], scheme, width)
        stored = FOLDER / f"{name_of(address)}-{scheme}.png"
        if WRITES:
            stored.write_bytes(actual)
        kept = tmp_path / stored.name
        kept.write_bytes(actual)
        assert is_like(browser, actual, stored.read_bytes()), f"{kept} differs from {stored}"


def test_there_is_a_sample_of_every_page() -> None:
    assert {page_of(address).path for address in SAMPLES} == set(pages())


@pytest.mark.parametrize(
    "style",
    [
        ".card { display: none; }",
        "th, td { padding: 0 .75rem; }",
        ":root { --h4: #f00; --h5: #f00; }",
        ".columns-2 { display: block; }",
        "main { padding: 0; }",
    ],
)
def test_a_changed_style_is_noticed(browser: Any, style: str) -> None:
    changed = [
        address
        for address, data in SAMPLES.items()
        if name_of(address) in ("growth", "locks")
        and not is_like(
            browser,
            drawn(browser, address, data, "light", 1280, style),
            (FOLDER / f"{name_of(address)}-light.png").read_bytes(),
        )
    ]
    assert changed


def test_pictures_of_other_sizes_differ(browser: Any) -> None:
    pictures = [(FOLDER / f"locks-{scheme}.png").read_bytes() for scheme, _ in views()]
    assert difference(browser, *pictures) == 1
    assert difference(browser, pictures[0], pictures[0]) == 0
