"""Options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from metastore.errors import InvalidInputError
from metastore.settings import PREFIX, Settings

_TYPES: Final[dict[Callable[[str], Any], Any]] = {int: int, float: float, Path: click.Path(path_type=Path)}


def settings_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns an option for each field of Settings, or for those named. What is not given comes from the
    environment."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed([field for field in fields(Settings) if not names or field.name in names]):
            default = "" if setting.default in (None, "", Path()) else f"; {setting.default}"
            text = f"{setting.metadata['help']}  [{PREFIX}{setting.name.upper()}{default}]"
            kind = bool if setting.default is False else _TYPES.get(setting.metadata["parse"], str)
            flag: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if kind is bool else {}
            option = click.option("--" + setting.name.replace("_", "-"), setting.name, type=kind, help=text, **flag)
            command = option(command)
        return command

    return decorate


uri_option = click.option(
    "--uri",
    envvar=f"{PREFIX}URI",
    default="thrift://127.0.0.1:9083",
    show_default=True,
    show_envvar=True,
    help="a running metastore; several, with commas between, are tried in turn",
)


class _Seconds(click.FloatRange):
    """A time of at most a hundred years: neither endless nor no number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid number of seconds", param, ctx)
        return seconds


SECONDS: Final = _Seconds(min=0, max=3_155_760_000)


def moment(option: str, text: str) -> datetime:
    """Returns what an option says in ISO 8601; without an offset it is UTC. Raises InvalidInputError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        mend = "write 2026-01-31, or 2026-01-31T23:59:59, or with +01:00 behind it what is not UTC"
        raise InvalidInputError(f"{option} {text!r} is no time: {mend}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
