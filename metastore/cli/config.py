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
from metastore.settings import SECTIONS, Settings, safe_url, settings_of
from metastore.settings.kinds import FLAG, NUMBER
from metastore.settings.sources import FILE, Sourced, read, variable


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
    """Returns a configuration file with each value and its source, without passwords.

    `changed`: only settings that are set. Raises ConfigurationError.
    """
    sourced = read(SECTIONS, options)
    settings = Settings.from_sources(sourced)
    parts = []
    for section in SECTIONS:
        shown = [each for each in settings_of(section) if not changed or each.name in sourced]
        lines = [_line(each, getattr(settings, each.name), sourced) for each in shown]
        if lines:
            parts.append("\n".join([f"[{section.table}]", *lines]))
    return "\n\n".join(parts)


def _line(setting: Field[Any], value: Any, sourced: Mapping[str, Sourced]) -> str:
    if value in (None, "") and setting.name not in sourced:
        return f"# {setting.name} is not set"
    default = "default" if value == setting.default else "derived"
    source = sourced[setting.name].source if setting.name in sourced else default
    return f"{setting.name} = {_toml(setting, value)}  # {source}"


def _toml(setting: Field[Any], value: Any) -> str:
    kind = setting.metadata["kind"]
    text = kind.show(value)
    return text if kind in (FLAG, NUMBER) else json.dumps(safe_url(text), ensure_ascii=False)


def warnings(options: Mapping[str, Any], sourced: Mapping[str, Sourced]) -> Iterator[str]:
    """Yields a warning if other users can read a configuration file that has a password."""
    file = options.get(FILE) or os.environ.get(variable(FILE))
    url = sourced.get("database_url")
    in_file = bool(file and url and url.source.endswith(str(file)))
    if in_file and url and safe_url(url.value) != url.value and Path(str(file)).stat().st_mode & stat.S_IROTH:
        yield f"every user can read {file}, which has the password of the database: run  chmod o-r {file}"
