"""Options and the group class that several commands share."""

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
    """Returns a decorator that adds an option for each setting in `names`, or for all settings.

    An absent option has the value None: `Settings.from_environment` then reads the environment variable.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed([field for field in fields(Settings) if not names or field.name in names]):
            default = "" if setting.default in (None, "", Path()) else f"; default: {setting.default}"
            text = f"{setting.metadata['help']}  [env var: {PREFIX}{setting.name.upper()}{default}]"
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
    help="Addresses of servers, separated by commas. The first one that answers is used.",
)


class Group(click.Group):
    """A group of commands. Without a command, it prints its help."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Parses the arguments. Called by click."""
        return super().parse_args(context, arguments or ["--help"])


class _Seconds(click.FloatRange):
    """A duration of at most a hundred years. Unlike a float, it cannot be infinite or NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid number of seconds", param, ctx)
        return seconds


SECONDS: Final = _Seconds(min=0, max=3_155_760_000)


def moment(option: str, text: str) -> datetime:
    """Parses a time in ISO 8601, which is in UTC unless it has an offset. `option` is named in errors.

    Raises InvalidInputError.
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        hint = "Write 2026-01-31, 2026-01-31T23:59:59 (UTC) or 2026-01-31T23:59:59+01:00."
        raise InvalidInputError(f"{option} {text!r} is not a valid time. {hint}") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
