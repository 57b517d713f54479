"""The commands `metastore sinks`."""

from __future__ import annotations

from typing import Any

import click

from metastore.cli.options import DATABASE, formats, settings_options
from metastore.settings import Settings

_name = click.argument("name")
_number = click.option("--number", type=int, help="Only this dead letter. Default: all of the sink.")


@click.group(invoke_without_command=True, no_args_is_help=False)
@settings_options(*DATABASE, "sinks")
@formats()
@click.pass_context
def sinks(context: click.Context, /, **options: Any) -> None:
    """List the sinks of events, with their state and how far they are behind.

    METASTORE_SINKS names the sinks. The commands use the database, not a server.
    """
    if context.invoked_subcommand is None:
        from metastore.cli.sinks import show_sinks

        show_sinks(Settings.load(options))


@sinks.command("resume")
@_name
@settings_options(*DATABASE)
def resume_sink(name: str, **options: Any) -> None:
    """Enable the sink NAME, which has answered 410, or end its pause after a failure."""
    from metastore.cli.sinks import resume

    click.echo(resume(Settings.load(options), name))


@sinks.command("dead")
@click.argument("name", required=False)
@click.option("--most", default=100, show_default=True, help="Maximum number of dead letters to show.")
@settings_options(*DATABASE)
@formats()
def dead_letters(name: str | None, most: int, **options: Any) -> None:
    """List the messages that the sink NAME, or any sink, has not taken after all attempts."""
    from metastore.cli.sinks import show_letters

    show_letters(Settings.load(options), name, most)


@sinks.command("resend")
@_name
@_number
@settings_options(*DATABASE)
def resend_letters(name: str, number: int | None, **options: Any) -> None:
    """Send the dead letters of the sink NAME again. Those that it takes are deleted."""
    from metastore.cli.sinks import resend

    click.echo(resend(Settings.load(options), name, number))


@sinks.command("discard")
@_name
@_number
@settings_options(*DATABASE)
def discard_letters(name: str, number: int | None, **options: Any) -> None:
    """Delete the dead letters of the sink NAME."""
    from metastore.cli.sinks import discard

    click.echo(discard(Settings.load(options), name, number))


@sinks.command("forget")
@_name
@settings_options(*DATABASE)
def forget_sink(name: str, **options: Any) -> None:
    """Delete the position and the dead letters of the sink NAME, which is no longer in METASTORE_SINKS."""
    from metastore.cli.sinks import forget

    click.echo(forget(Settings.load(options), name))
