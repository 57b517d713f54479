"""`metastore config`: checks the settings, and prints them with their sources."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

import click

from metastore.app.server import transport_options
from metastore.cli.printing import is_json, print_table
from metastore.settings import SECTIONS, Settings, safe_url, settings_of
from metastore.settings.kinds import FLAG, NUMBER
from metastore.settings.sources import FILE, Sourced, read, variable

_Row = tuple[str, str, str | None, str]


def check(options: Mapping[str, Any]) -> str:
    """Checks the settings as `metastore serve` does, without opening the database or the warehouse. Returns a
    confirmation.

    Prints a warning for each setting that is insecure. Raises ConfigurationError.
    """
    logging.basicConfig(format="metastore: warning: %(message)s")
    sourced = read(SECTIONS, options)
    for warning in warnings(options, sourced):
        click.echo(f"metastore: warning: {warning}", err=True)
    transport_options(Settings.from_sources(sourced))
    return f"Valid. Settings that are set: {len(sourced)}. The others have their defaults."


def show(options: Mapping[str, Any], *, changed: bool) -> str:
    """Returns a configuration file with each value and its source, without passwords; "" if the output is JSON.

    `changed`: only settings that are set. Raises ConfigurationError.
    """
    sourced = read(SECTIONS, options)
    settings = Settings.from_sources(sourced)
    parts = []
    for section in SECTIONS:
        shown = [each for each in settings_of(section) if not changed or each.name in sourced]
        rows = [_row(section.table, each, getattr(settings, each.name), sourced) for each in shown]
        if is_json():
            print_table("settings", ("section", "setting", "value", "source"), rows)
        elif rows:
            parts.append("\n".join([f"[{section.table}]", *map(_line, shown, rows)]))
    return "\n\n".join(parts)


def _row(section: str, setting: Field[Any], value: Any, sourced: Mapping[str, Sourced]) -> _Row:
    if value in (None, "") and setting.name not in sourced:
        return section, setting.name, None, "not set"
    default = "default" if value == setting.default else "derived"
    source = sourced[setting.name].source if setting.name in sourced else default
    return section, setting.name, safe_url(setting.metadata["kind"].show(value)), source


def _line(setting: Field[Any], row: _Row) -> str:
    _, name, value, source = row
    if value is None:
        return f"# {name} is {source}"
    toml = value if setting.metadata["kind"] in (FLAG, NUMBER) else json.dumps(value, ensure_ascii=False)
    return f"{name} = {toml}  # {source}"


def warnings(options: Mapping[str, Any], sourced: Mapping[str, Sourced]) -> Iterator[str]:
    """Yields a warning if other users can read a configuration file that has a password."""
    file = options.get(FILE) or os.environ.get(variable(FILE))
    url = sourced.get("database_url")
    in_file = bool(file and url and url.source.endswith(str(file)))
    if in_file and url and safe_url(url.value) != url.value and Path(str(file)).stat().st_mode & stat.S_IROTH:
        yield f"every user can read {file}, which has the password of the database: run  chmod o-r {file}"
