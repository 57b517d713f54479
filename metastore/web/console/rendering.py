"""Jinja templates and their filters. Every value is escaped."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

TEMPLATES: Final = Path(__file__).parents[1] / "templates"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_AGES: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
NONE: Final = "–"


def render(template: str, data: Mapping[str, Any], view: Mapping[str, Any]) -> str:
    """Returns the HTML of a page. `data`: of the page; `view`: of every page."""
    return _environment().get_template(template).render({**data, "view": view})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bytes": size,
        "count": count,
        "age": age,
        "ago": ago,
        "moment": moment,
        "percent": percent,
        "milliseconds": milliseconds,
        "whole_dates": whole_dates,
    }
    environment.globals |= {"address": address, "table_address": table_address, "database_address": database_address}
    return environment


def size(number: float | None) -> str:
    """Returns a number of bytes in a binary unit: 1.5 MiB."""
    if number is None:
        return NONE
    value, unit = float(number), 0
    while abs(value) >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or abs(value) >= 100 else f"{value:.1f} {_UNITS[unit]}"


def count(number: float | None) -> str:
    """Returns a number with separators between thousands."""
    return NONE if number is None else f"{number:,.0f}"


def age(seconds: float | None) -> str:
    """Returns a duration in its largest unit: 3 d."""
    if seconds is None:
        return NONE
    for unit, length in _AGES:
        if abs(seconds) >= length:
            return f"{seconds / length:.0f} {unit}"
    return "0 s"


def ago(moment: float | None) -> str:
    """Returns the time since a moment, in seconds since 1970."""
    return NONE if not moment else f"{age(max(0.0, time.time() - moment))} ago"


def moment(seconds: float | None) -> str:
    """Returns a moment in UTC: 2026-01-31 12:00:00."""
    if not seconds:
        return NONE
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(seconds)  # a client may store any number


def whole_dates(text: str) -> Markup:
    """Returns an escaped text whose dates are not broken into two lines."""
    return Markup(_DATE.sub(r'<span class="nowrap">\g<0></span>', str(escape(text))))  # noqa: S704 - of digits


def percent(share: float | None) -> str:
    """Returns a share as a percentage."""
    return NONE if share is None else f"{share:.1%}"


def milliseconds(number: float | None) -> str:
    """Returns a duration in milliseconds: 1.2 ms."""
    if number is None:
        return NONE
    return f"{number:,.1f} ms" if number < 100 else f"{number:,.0f} ms"


def address(*parts: str, **query: object) -> str:
    """Returns the address of a page. Parts and parameters are encoded; parameters that are None or "" are left out."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def database_address(database: Mapping[str, Any], /, **query: object) -> str:
    """Returns the address of a database. `database`: anything with `catalog` and `database`."""
    return address("databases", database["catalog"], database["database"], **query)


def table_address(table: Mapping[str, Any], /, *page: str, **query: object) -> str:
    """Returns the address of a table's page. `table`: anything with `catalog`, `database` and `table`."""
    return address("tables", table["catalog"], table["database"], table["table"], *page, **query)
