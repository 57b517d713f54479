"""The commands `metastore db`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metastore.cli.options import DATABASE, Group, formats, settings_options
from metastore.settings import Settings
from metastore.storage.export.tables import VERSIONS


@click.group(invoke_without_command=True, no_args_is_help=False)
@click.pass_context
def db(context: click.Context) -> None:
    """Manage the database and its schema."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@db.command()
@click.option(
    "--finish", is_flag=True, help="Finish an upgrade after the last server of the previous version has stopped."
)
@settings_options(*DATABASE)
def upgrade(finish: bool, **options: Any) -> None:
    """Create the schema, or upgrade it to this version.

    The command is safe to run at any time and several times. Servers of the previous version continue to work until
    --finish removes what only they need.
    """
    from metastore.cli import database

    click.echo((database.finish if finish else database.upgrade)(Settings.load(options)))


@db.command()
@settings_options(*DATABASE)
@formats()
def current(**options: Any) -> None:
    """Show the schema revision of the database.

    Shows the revision that this version needs, too.
    """
    from metastore.cli.database import show_current

    show_current(Settings.load(options))


@db.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--keep", type=click.IntRange(min=1), help="In a directory, delete all backups except the newest ones.")
@settings_options(*DATABASE)
def backup(file: Path, keep: int | None, **options: Any) -> None:
    """Write a consistent copy of the database to FILE, or to a new file if FILE is a directory.

    The copy has no delegation tokens and no keys.

    Servers can continue to run.
    """
    from metastore.cli.database import back_up

    click.echo(back_up(Settings.load(options), file, keep))


@db.command()
@click.argument("file", type=click.Path(path_type=Path))
@settings_options(*DATABASE)
def restore(file: Path, **options: Any) -> None:
    """Restore a backup from FILE into an empty database."""
    from metastore.cli.database import restore as run_restore

    click.echo(run_restore(Settings.load(options), file))


@db.command()
@click.option("--dry-run", is_flag=True, help="Show what would be done, but change nothing.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Reconcile even if the warehouse belongs to another catalog, which no longer exists, or the settings are not "
    "those of the servers.",
)
@settings_options(*DATABASE, "warehouse", "allowed_locations")
@formats()
def restored(dry_run: bool, take_over: bool, **options: Any) -> None:
    """Reconcile the files with a restored database.

    Run it after the database was restored to an older moment.

    Moves dropped files back that the catalog needs again, reports missing files, continues the notification log after
    a gap, and lets servers clean files again. The command is safe to run several times, and while servers run.
    """
    from metastore.cli.restored import reconcile

    click.echo(reconcile(Settings.load(options), dry_run=dry_run, take_over=take_over), err=True)


@db.command()
@settings_options(*DATABASE)
@formats()
def servers(**options: Any) -> None:
    """List the servers that use the database, with their versions."""
    from metastore.cli.database import show_servers

    show_servers(Settings.load(options))


@db.command()
@click.option(
    "--show", default=10, show_default=True, help="Maximum number of differences to show for each kind of row."
)
@settings_options(*DATABASE)
@formats()
def verify(show: int, **options: Any) -> int:
    """Check that every row matches its encoded object.

    Clients receive the encoded object; queries use the columns.

    Servers can continue to run. The exit status is 1 if rows do not match.
    """
    from metastore.cli.database import show_verified

    return show_verified(Settings.load(options), show)


@db.group(cls=Group)
def reader() -> None:
    """Manage roles that read the catalog by SQL.

    These are roles of PostgreSQL that read the views of the schema `hive`.
    """


@reader.command("add")
@click.argument("name")
@click.option(
    "--password-file",
    type=click.Path(path_type=Path),
    help="File with the password in its first line. Default: a new role gets a generated password.",
)
@settings_options(*DATABASE)
def add_reader(name: str, password_file: Path | None, **options: Any) -> None:
    """Create the role NAME and let it read the views.

    Prints the settings of tools.

    A reader sees the whole catalog, also with METASTORE_AUTHORIZATION=grants. A role that exists keeps its password:
    after a restore, repeat the command for each reader.
    """
    from metastore.cli.readers import add

    click.echo(add(Settings.load(options), name, password_file))


@reader.command("remove")
@click.argument("name")
@settings_options(*DATABASE)
def remove_reader(name: str, **options: Any) -> None:
    """Revoke the views from the reader NAME, and drop the role. Its open connections stay open, but can no longer read
    the views."""
    from metastore.cli.readers import remove

    click.echo(remove(Settings.load(options), name))


@reader.command("list")
@settings_options(*DATABASE)
@formats()
def list_readers(**options: Any) -> None:
    """List the readers of the database."""
    from metastore.cli.readers import show

    show(Settings.load(options))


@click.command()
@click.option(
    "--hive-sql", "file", required=True, metavar="FILE", type=click.Path(path_type=Path), help="New file to write."
)
@click.option(
    "--schema", type=click.Choice(VERSIONS), default="3.1", show_default=True, help="Version of Hive's schema."
)
@click.option(
    "--dialect",
    type=click.Choice(["postgresql", "mysql"]),
    default="postgresql",
    show_default=True,
    help="Database of Hive's metastore. mysql is also for MariaDB.",
)
@settings_options(*DATABASE)
def export(file: Path, schema: str, dialect: str, **options: Any) -> None:
    """Write the whole catalog for Hive's own metastore.

    The file contains rows to load into an empty database of Hive's metastore.

    The rows are a consistent snapshot. Servers can continue to run, but later changes are not part of the file.
    """
    from metastore.cli.export import export_hive_sql

    click.echo(export_hive_sql(Settings.load(options), file, schema, dialect))
