"""The commands `metastore db …`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metastore.cli.options import settings_options
from metastore.settings import Settings


@click.group(invoke_without_command=True, no_args_is_help=False)
@click.pass_context
def db(context: click.Context) -> None:
    """The database: its schema, and whether it is sound."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@db.command()
@click.option("--finish", is_flag=True, help="afterwards, when no server of the version before runs any more")
@settings_options("database_url", "data_dir")
def upgrade(finish: bool, **options: Any) -> None:
    """Bring the database to the schema of this version. May be run at any time, by several at once.

    Servers of the version before go on meanwhile; --finish removes what only they need.
    """
    from metastore.cli import database

    click.echo((database.finish if finish else database.upgrade)(Settings.from_environment(options)))


@db.command()
@settings_options("database_url", "data_dir")
def current(**options: Any) -> None:
    """Show the schema revision of the database, and the one that this version needs."""
    from metastore.cli.database import current as show_current

    click.echo(show_current(Settings.from_environment(options)))


@db.command()
@click.argument("file", type=click.Path(path_type=Path))
@settings_options("database_url", "data_dir")
def backup(file: Path, **options: Any) -> None:
    """Copy the whole database into FILE, as it is at one moment. Servers may go on."""
    from metastore.cli.database import back_up

    click.echo(back_up(Settings.from_environment(options), file))


@db.command()
@click.argument("file", type=click.Path(path_type=Path))
@settings_options("database_url", "data_dir")
def restore(file: Path, **options: Any) -> None:
    """Fill an empty database with what `backup` has written to FILE."""
    from metastore.cli.database import restore as run_restore

    click.echo(run_restore(Settings.from_environment(options), file))


@db.command()
@settings_options("database_url", "data_dir")
def servers(**options: Any) -> None:
    """List the servers that run on the database, with their versions."""
    from metastore.cli.database import show_servers

    show_servers(Settings.from_environment(options))


@db.command()
@click.option("--show", default=10, show_default=True, help="differences that are named of each kind, at most")
@settings_options("database_url", "data_dir")
def verify(show: int, **options: Any) -> int:
    """Check that what clients read says what queries find, row by row; the status is 1 where it does not.

    Servers may be running. A table is shown: the kinds of rows, how many there are, how many are wrong.
    """
    from metastore.cli.database import show_verified

    return show_verified(Settings.from_environment(options), show)
