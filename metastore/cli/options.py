"""Options and the group class that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import Field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from metastore.cli.printing import json_document
from metastore.errors import InvalidInputError
from metastore.settings import PREFIX, SECTIONS, all_settings, settings_of
from metastore.settings.kinds import CENTURY, FLAG, shown_default
from metastore.settings.sources import FILE, option, variable
from metastore.settings.units import parse_duration

DATABASE: Final = (
    "database_url",
    "database_password_file",
    "database_password_command",
    "database_pooler",
    "database_direct_url",
    "data_dir",
)
"""The settings of commands that connect to the database."""

CONFIG_OPTION: Final = click.option(
    option(FILE),
    FILE,
    type=click.Path(path_type=Path),
    help=f"Configuration file, in TOML. Variables and options take precedence.  [env var: {variable(FILE)}]",
)


def settings_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that adds `--config`, and an option for each setting in `names`, or for all settings.

    The value of an option is its text, None if it is absent. `Settings.load` parses it, and reads the other sources.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed([each for each in all_settings() if not names or each.name in names]):
            command = _option(setting)(command)
        return CONFIG_OPTION(command)

    return decorate


def _option(setting: Field[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    kind = setting.metadata["kind"]
    default = shown_default(setting)
    text = f"{setting.metadata['help']}  [env var: {variable(setting.name)}{'; default: ' if default else ''}{default}]"
    flag: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if kind is FLAG else {}
    return click.option(option(setting.name), setting.name, metavar=kind.name.upper(), help=text, **flag)


def formats(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that adds `--format`, and prints the tables of a command as one JSON document.

    `names`: the keys of the document, one for each table; none for a command with one table, which is the document.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def formatted(*arguments: Any, form: str, **options: Any) -> Any:
            with json_document(names) if form == "json" else nullcontext():
                return command(*arguments, **options)

        help_text = "table on a terminal, tab-separated lines in a pipe; or one JSON document."
        choice = click.Choice(["table", "json"])
        return click.option("--format", "form", type=choice, default="table", show_default=True, help=help_text)(
            formatted
        )

    return decorate


class SectionedCommand(click.Command):
    """A command whose help lists the options of settings by section, the advanced ones last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options. Called by click."""
        records = {param.name: record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))}
        for section in SECTIONS:
            with formatter.section(section.title):
                formatter.write_dl([records.pop(setting.name) for setting in settings_of(section)])
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))


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


class _Duration(click.ParamType[float]):
    """A duration of at most a hundred years: a number of seconds, or `30s`, `5min`, `1d`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the seconds. Called by click."""
        try:
            seconds = parse_duration(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a valid time; write 30s, 5min or 1d", param, ctx)
        if seconds > CENTURY:
            self.fail(f"{value!r} is more than a hundred years", param, ctx)
        return seconds


DURATION: Final = _Duration()


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
