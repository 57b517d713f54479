"""Commands for the administrator of a server: `metastore config`, `doctor` and `health`."""

from __future__ import annotations

from typing import Any

import click

from metastore.cli.options import Group, formats, settings_options
from metastore.settings import Settings


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
@formats()
def show(changed: bool, **options: Any) -> None:
    """Print each setting with its value and source, as a configuration file. Passwords are hidden."""
    from metastore.cli.config import show as show_settings

    if text := show_settings(options, changed=changed):
        click.echo(text)


@click.command()
@settings_options()
@formats()
def doctor(**options: Any) -> int:
    """Check everything that a server needs.

    Checks settings, certificates, memory, warehouse, database and client programs.

    Prints one line for each finding, with its fix. The exit status is 1 if there is an error. The command changes
    nothing, and servers can run.
    """
    from metastore.cli.doctor import run_doctor

    return run_doctor(options)


@click.command()
@settings_options("host", "port", "listeners", "http_host", "http_port", "tls", "authentication")
def health(**options: Any) -> None:
    """Check whether the server with these settings can serve.

    Use it as the health check of a container.

    Asks the HTTP listener, or else the first Thrift listener, on this host. The exit status is 1 if the server cannot
    serve.
    """
    from metastore.cli.health import check as run_check

    click.echo(run_check(Settings.load(options)))
