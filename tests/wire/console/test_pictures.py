"""Each page looks as its stored picture: light and wide, dark and narrow.

`METASTORE_TEST_PICTURES=write` stores the present pictures instead. Look at them before you commit them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.wire.console.conftest import Console
from tests.wire.console.drawing import FOLDER, WIDTHS, Studio, page_of, pages, samples
from tests.wire.console.test_activity_pages import make_tables

pytestmark = pytest.mark.slow
SAMPLES = samples()
WRITES = os.environ.get("METASTORE_TEST_PICTURES") == "write"


def name_of(address: str) -> str:
    """Returns the file name of a page."""
    return re.sub(r"[^a-z0-9]+", "-", address).strip("-") or "home"


@pytest.fixture(scope="module")
def studio(browser: Any) -> Studio:
    return Studio(browser)


@pytest.mark.parametrize("address", SAMPLES, ids=name_of)
def test_a_page_looks_as_stored(studio: Studio, address: str, tmp_path: Path) -> None:
    for scheme in WIDTHS:
        actual = studio.drawn(address, SAMPLES[address], scheme)
        stored = FOLDER / f"{name_of(address)}-{scheme}.png"
        if WRITES:
            stored.write_bytes(actual)
        kept = tmp_path / stored.name
        kept.write_bytes(actual)
        assert studio.are_alike(actual, stored.read_bytes()), f"{kept} differs from {stored}"


def test_there_is_a_sample_of_every_page() -> None:
    assert {page_of(address).path for address in SAMPLES} == set(pages())


@pytest.mark.parametrize(
    ("style", "is_like"),
    [
        ("body, code, pre { font-family: monospace; }", True),  # fonts of other machines
        ("body, code, pre { font-family: serif; }", True),
        (".card { display: none; }", False),
        ("th, td { padding: 0 .75rem; }", False),
        (":root { --h4: #f00; --h5: #f00; }", False),
        ("main { padding: 0; }", False),
    ],
)
def test_styles_are_compared_and_fonts_are_not(studio: Studio, style: str, is_like: bool) -> None:
    address = "/growth?by=bytes"
    stored = (FOLDER / f"{name_of(address)}-light.png").read_bytes()
    assert studio.are_alike(studio.drawn(address, SAMPLES[address], "light", style), stored) == is_like


def test_pictures_of_other_sizes_differ(studio: Studio) -> None:
    pictures = [(FOLDER / f"locks-{scheme}.png").read_bytes() for scheme in WIDTHS]
    assert studio.difference(*pictures) == 1
    assert studio.difference(pictures[0], pictures[0]) == 0


def test_samples_have_the_form_of_the_data(console: Console) -> None:
    with console.client() as client:
        database = make_tables(client)
    visitor = console.visitor()
    for address, sample in SAMPLES.items():
        real = re.sub(r"/hive/\w+", f"/hive/{database}", address)
        real = re.sub(rf"({database})/\w+", r"\1/base", real)
        path, _, query = real.partition("?")
        actual = visitor.json(f"{path}?{query}")
        assert same_form(actual, sample), (address, actual)


def same_form(one: Any, other: Any) -> bool:
    """Returns whether two values have the same keys, as far as lists have elements and dictionaries fixed keys."""
    if isinstance(one, dict) and isinstance(other, dict):
        shared = one.keys() & other.keys()
        is_free = all(isinstance(value, str | int) for value in [*one.values(), *other.values()]) or not shared
        return (is_free or one.keys() == other.keys()) and all(same_form(one[name], other[name]) for name in shared)
    if isinstance(one, list) and isinstance(other, list) and one and other:
        return same_form(one[0], other[0])
    return True


def test_other_forms_are_noticed() -> None:
    sample = SAMPLES["/locks"]
    assert not same_form({**sample, "locks": [{"id": 1, "new": None}]}, sample)
    assert not same_form({"locks": []}, sample)
