"""Commands for the administrator of a server: `metastore config`."""

from __future__ import annotations

from typing import Any

import click

from metastore.cli.options import Group, settings_options


@click.group(cls=Group)
def config() -> None:
    """Check and show the settings of a server."""


@config.command()
@settings_options()
def check(**options: Any) -> None:
    """Check the settings in the configuration file, the environment and the options. Needs no database.

    The exit status is 1 if a server would not start with them.
    """
    from metastore.cli.config import check as run_check

    click.echo(run_check(options))


@config.command()
@click.option("--changed", is_flag=True, help="Show only settings that are set.")
@settings_options()
def show(changed: bool, **options: Any) -> None:
    """Print each setting with its value and source, as a configuration file. Passwords are hidden."""
    from metastore.cli.config import show as show_settings

    click.echo(show_settings(options, changed=changed))
